// The submodule `testing`: functions that only tests and benchmarks call.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../linear/machine_variants.hpp"
#include "../parallel.hpp"
#include "bindings.hpp"
#include "kernel_machines.hpp"
#include "linear_solver.hpp"

namespace softmargin {
namespace {

// Turns products of rows and columns into kernel values, in place.
template <class Real>
void apply_kernel(nb::ndarray<Real, nb::ndim<2>, nb::c_contig> products,
                  nb::ndarray<const double, nb::ndim<1>, nb::c_contig> row_norms,
                  nb::ndarray<const Real, nb::ndim<1>, nb::c_contig> column_norms,
                  const std::string& function, double gamma, double coef0, int degree,
                  int threads) {
  if (products.shape(0) != row_norms.size() || products.shape(1) != column_norms.size())
    throw std::invalid_argument("products and norms do not fit together");
  const Kernel kernel{kernel_function(function), gamma, coef0, degree};
  const std::size_t columns = products.shape(1);
  nb::gil_scoped_release release;
  parallel_ranges(static_cast<std::int64_t>(products.shape(0)), 1, threads,
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t r = begin; r < end; ++r)
                      kernel.apply(products.data() + r * columns, static_cast<Index>(columns),
                                   row_norms.data()[r], column_norms.data());
                  });
}

}  // namespace

namespace linear {
namespace {

// The solver of a Weston-Watkins machine with another sub-problem solver.
template <class Real>
LinearSolver<Real>* solver_by(const std::string& method, const RowReader& rows,
                              Column<std::int32_t> labels, Column<double> upper,
                              std::int32_t classes, double tolerance, bool shrinking,
                              bool extrapolation, std::uint64_t seed) {
  const Given given = Arguments{labels, upper, {}, {}}.checked(rows);
  const auto make = [&]<class Machine>(Machine machine) {
    return new LinearSolver<Real>(
        rows, std::make_unique<Solver<Real, Machine>>(rows, given, classes, machine, tolerance,
                                                      shrinking, extrapolation, seed));
  };
  if (method == "sorted") return make(WestonWatkinsSorted());
  if (method == "greedy") return make(WestonWatkinsGreedy());
  throw std::invalid_argument("unknown method " + method);
}

// CPU seconds that a method takes to solve the sub-problems of all rows of v, in a single call.
double time_subproblem(nb::ndarray<const double, nb::ndim<2>, nb::c_contig> v, double C,
                       const std::string& method, Column<double> starts) {
  const auto size = static_cast<std::int64_t>(v.shape(1));
  SortedSubproblem sorted;
  GreedySubproblem greedy;
  std::vector<double> b(v.shape(1));
  double sum = 0;
  int passes = 0;
  const auto begin = std::clock();
  for (std::size_t r = 0; r < v.shape(0); ++r) {
    const double* row = v.data() + r * v.shape(1);
    if (method == "newton") {
      sum += weston_watkins_newton(row, size, C, starts.data()[r], passes);
    } else if (method == "sorted") {
      sum += sorted.threshold(row, size, C);
    } else {
      std::fill(b.begin(), b.end(), 0.0);
      greedy.improve(row, size, C, 1e-3, b.data());
      sum += b[0];
    }
  }
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return sum == sum ? spent : -1;  // the sum must not be optimised away
}

// Fills v and returns C, between 2^-20 and 2^20. The entries are spread around a centre between
// -2 C and 4 C; a third of them lie on a coarse grid, so that ties and entries at 0, C and 2 C are
// common.
double random_subproblem(std::vector<double>& v, std::size_t max_size, Random& random) {
  const auto uniform = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  const double C = std::exp2(40 * uniform() - 20);
  const double spread = 6 * std::exp2(-8 * uniform());  // from far apart to close together
  const double centre = -2 + 6 * uniform();
  v.resize(1 + random.below(static_cast<std::uint32_t>(max_size)));
  for (double& value : v) {
    value = centre + spread * (uniform() - 0.5);
    if (random.below(3) == 0) value = std::round(2 * value) / 2;
    value *= C;
  }
  return C;
}

// Solves random sub-problems by Newton's method and by sorting. Returns the largest difference
// between the solutions b, relative to the largest entry of v, and the most passes of Newton.
std::pair<double, int> compare_subproblems(std::int64_t cases, std::size_t max_size,
                                           std::uint64_t seed) {
  Random random(seed);
  SortedSubproblem sorted;
  std::vector<double> v;
  double worst = 0;
  int most = 0;
  for (std::int64_t n = 0; n < cases; ++n) {
    const double C = random_subproblem(v, max_size, random);
    const auto size = static_cast<std::int64_t>(v.size());
    const double start = C * static_cast<double>(random.below(8));
    int passes = 0;
    const double by_newton = weston_watkins_newton(v.data(), size, C, start, passes);
    const double by_sorting = sorted.threshold(v.data(), size, C);
    const double v_max = largest(v.data(), size);
    most = std::max(most, passes);
    for (const double value : v) {
      const double difference =
          std::abs(std::clamp(value - by_newton, 0.0, C) - std::clamp(value - by_sorting, 0.0, C));
      if (difference > 0) worst = std::max(worst, difference / v_max);
    }
  }
  return {worst, most};
}

template <class Real>
SOFTMARGIN_INLINE Real sum_in_lanes(const Real* values, std::size_t size) {
  constexpr std::size_t width = 128 / sizeof(Real);
  Real sums[width] = {};
  for (std::size_t i = 0; i + width <= size; i += width)
    for (std::size_t l = 0; l < width; ++l) sums[l] += values[i + l];
  Real total = 0;
  for (const Real sum : sums) total += sum;
  return total;
}

// Bytes per second when an array is summed repeatedly: the limit on the speed of reading W.
template <class Real>
double read_bandwidth(Column<Real> array, int repetitions) {
  double sum = 0;
  const auto begin = std::clock();
  for (int r = 0; r < repetitions; ++r) sum += sum_in_lanes(array.data(), array.size());
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double bytes = static_cast<double>(array.size()) * sizeof(Real) * repetitions;
  return sum == sum ? bytes / spent : -1;  // the sum must not be optimised away
}

template <class Real>
void bind_linear_testing(nb::module_ m, const char* name) {
  m.def(name, &solver_by<Real>, "method"_a, "rows"_a, "labels"_a, "upper"_a, "classes"_a,
        "tolerance"_a, "shrinking"_a, "extrapolation"_a, "seed"_a, nb::keep_alive<0, 2>());
  m.def("read_bandwidth", &read_bandwidth<Real>, "array"_a.noconvert(), "repetitions"_a);
}

}  // namespace
}  // namespace linear
}  // namespace softmargin

void softmargin::bind_testing(nb::module_ m) {
  m.def("apply_kernel", &apply_kernel<float>, "products"_a.noconvert(), "row_norms"_a,
        "column_norms"_a.noconvert(), "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "threads"_a);
  m.def("apply_kernel", &apply_kernel<double>, "products"_a.noconvert(), "row_norms"_a,
        "column_norms"_a.noconvert(), "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "threads"_a);
  linear::bind_linear_testing<float>(m, "linear_solver_float32");
  linear::bind_linear_testing<double>(m, "linear_solver_float64");
  m.def("compare_subproblems", &linear::compare_subproblems, "cases"_a, "max_size"_a, "seed"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("time_subproblem", &linear::time_subproblem, "v"_a, "C"_a, "method"_a, "starts"_a);
}
