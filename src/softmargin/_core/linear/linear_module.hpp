// The binding of the linear machines and their sub-problems. No algorithm here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <ctime>
#include <memory>
#include <string>
#include <tuple>

#include "../weston_watkins/comparison.hpp"
#include "machines.hpp"

namespace softmargin::linear {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T> own(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.begin(), owner);
}

// b of one sub-problem, and how many passes over v it took (sorting counts as one).
inline std::tuple<nb::ndarray<nb::numpy, double>, int> solve_subproblem(Array<double> v, double C,
                                                                        const std::string& machine,
                                                                        const std::string& method,
                                                                        double start) {
  const auto size = static_cast<std::int64_t>(v.size());
  const bool simplex = machine == "crammer_singer";
  std::vector<double> b(v.size(), 0.0);
  int passes = method == "newton" ? 0 : 1;
  if (method == "greedy") {
    GreedySubproblem().improve(v.data(), size, C, 1e-3, b.data());
  } else {
    double g;
    if (method == "newton")
      g = simplex ? crammer_singer_newton(v.data(), size, C, start, passes)
                  : newton_threshold(v.data(), size, C, start, passes);
    else
      g = simplex ? crammer_singer_sorted(v.data(), size, C)
                  : SortedSubproblem().threshold(v.data(), size, C);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::clamp(v.data()[i] - g, 0.0, C);
  }
  return {own(std::move(b), {v.size()}), passes};
}

// CPU seconds for the thresholds of all rows of v, without the cost of calls from Python.
inline double time_subproblem(nb::ndarray<const double, nb::ndim<2>, nb::c_contig> v, double C,
                              const std::string& method, Array<double> starts) {
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
      sum += newton_threshold(row, size, C, starts.data()[r], passes);
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

// Bytes per second at which an array is summed, again and again: the speed limit of reading W.
template <class Real>
double read_bandwidth(Array<Real> array, int repetitions) {
  double sum = 0;
  const auto begin = std::clock();
  for (int r = 0; r < repetitions; ++r) sum += sum_of(array.data(), array.size());
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double bytes = static_cast<double>(array.size()) * sizeof(Real) * repetitions;
  return sum == sum ? bytes / spent : -1;  // the sum must not be optimised away
}

template <class Value>
const Value* one_each(const RowReader& rows, const Array<Value>& values) {
  if (values.size() != static_cast<std::size_t>(rows.count))
    throw std::invalid_argument("labels and bounds do not fit the examples");
  return values.data();
}

template <class Real>
class LinearSolver {
 public:
  LinearSolver(const RowReader& rows, Array<std::int32_t> labels, Array<double> upper,
               std::int32_t classes, const std::string& machine, const std::string& method,
               double tolerance, bool shrinking, bool extrapolation, std::uint64_t seed)
      : count_(rows.count),
        features_(rows.features),
        descent_(make_descent<Real>(machine, method, rows, one_each(rows, labels),
                                    one_each(rows, upper), classes, tolerance, shrinking,
                                    extrapolation, seed)) {}

  LinearStatus run(std::int64_t passes, double seconds) { return descent_->run(passes, seconds); }
  LinearStatus finish(double seconds) { return descent_->finish(seconds); }

  void start_from(Array<std::int64_t> starts, Array<std::int32_t> cls, Array<double> beta) {
    if (starts.size() != static_cast<std::size_t>(count_) + 1 || cls.size() != beta.size() ||
        starts.data()[count_] != static_cast<std::int64_t>(beta.size()))
      throw std::invalid_argument("the dual variables do not fit the examples");
    descent_->start_from(starts.data(), cls.data(), beta.data());
  }

  // W, features x classes; the solver gives it up and is of no use afterwards.
  auto take_weights() {
    const auto classes = static_cast<std::size_t>(descent_->weights().classes());
    return own(std::move(descent_->weights().values()),
               {static_cast<std::size_t>(features_), classes});
  }

  auto dual_variables() const {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> cls;
    std::vector<double> beta;
    const std::size_t entries = count_entries(descent_->examples());
    starts.reserve(static_cast<std::size_t>(count_) + 1);
    cls.reserve(entries);
    beta.reserve(entries);
    for (const Example& example : descent_->examples()) {
      for (const Entry& entry : example.block) {
        cls.push_back(entry.cls);
        beta.push_back(entry.beta);
      }
      starts.push_back(static_cast<std::int64_t>(beta.size()));
    }
    const std::size_t size = beta.size(), rows = starts.size();
    return nb::make_tuple(own(std::move(starts), {rows}), own(std::move(cls), {size}),
                          own(std::move(beta), {size}));
  }

 private:
  std::int32_t count_, features_;
  std::unique_ptr<AnyDescent<Real>> descent_;
};

template <class Value>
void bind_dense(nb::class_<RowReader>& reader) {
  reader.def_static(
      "dense",
      [](nb::ndarray<const Value, nb::ndim<2>, nb::device::cpu> X, double constant) -> RowReader* {
        if (X.shape(1) > 1 && X.stride(1) != 1)
          throw std::invalid_argument("the rows of X must be contiguous");
        return new DenseRows<Value>(X.data(), static_cast<std::int32_t>(X.shape(0)),
                                    static_cast<std::int32_t>(X.shape(1)), X.stride(0), constant);
      },
      "X"_a.noconvert(), "constant"_a, nb::keep_alive<0, 1>());
}

template <class Value, class Offset>
void bind_csr(nb::class_<RowReader>& reader) {
  reader.def_static(
      "csr",
      [](Array<Value> data, Array<Offset> indices, Array<Offset> starts, std::int32_t features,
         double constant) -> RowReader* {
        return new CsrRows<Value, Offset>(data.data(), indices.data(), starts.data(),
                                          static_cast<std::int32_t>(starts.size() - 1), features,
                                          constant);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
      "constant"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
}

template <class Real>
void bind_solver(nb::module_ m, const char* name) {
  using Solver = LinearSolver<Real>;
  nb::class_<Solver>(m, name)
      .def(nb::init<const RowReader&, Array<std::int32_t>, Array<double>, std::int32_t,
                    const std::string&, const std::string&, double, bool, bool, std::uint64_t>(),
           "rows"_a, "labels"_a, "upper"_a, "classes"_a, "machine"_a, "method"_a, "tolerance"_a,
           "shrinking"_a, "extrapolation"_a, "seed"_a, nb::keep_alive<1, 2>())
      .def("run", &Solver::run, "max_passes"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Solver::finish, "max_seconds"_a = std::numeric_limits<double>::infinity(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("start_from", &Solver::start_from, "starts"_a, "classes"_a, "beta"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("take_weights", &Solver::take_weights)
      .def("dual_variables", &Solver::dual_variables);
}

inline void bind_linear(nb::module_ m) {
  nb::class_<RowReader> reader(m, "Rows");
  bind_dense<float>(reader);
  bind_dense<double>(reader);
  bind_csr<float, std::int32_t>(reader);
  bind_csr<float, std::int64_t>(reader);
  bind_csr<double, std::int32_t>(reader);
  bind_csr<double, std::int64_t>(reader);

  nb::class_<LinearStatus>(m, "Status")
      .def_ro("optimal", &LinearStatus::optimal)
      .def_ro("stuck", &LinearStatus::stuck)
      .def_ro("primal", &LinearStatus::primal)
      .def_ro("dual", &LinearStatus::dual)
      .def_ro("gap", &LinearStatus::gap)
      .def_prop_ro("relative_gap", &LinearStatus::relative_gap)
      .def_ro("estimated_gap", &LinearStatus::estimated_gap)
      .def_ro("violation", &LinearStatus::violation)
      .def_ro("passes", &LinearStatus::passes)
      .def_ro("visits", &LinearStatus::visits)
      .def_ro("narrow_visits", &LinearStatus::narrow_visits)
      .def_ro("checks", &LinearStatus::checks)
      .def_ro("entries", &LinearStatus::entries)
      .def_ro("active", &LinearStatus::active)
      .def_ro("checked", &LinearStatus::checked);

  bind_solver<float>(m, "SolverFloat32");
  bind_solver<double>(m, "SolverFloat64");
  m.def("solve_subproblem", &solve_subproblem, "v"_a, "C"_a, "machine"_a, "method"_a, "start"_a);
  m.def("compare_subproblems", &compare_subproblems, "cases"_a, "max_size"_a, "seed"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("read_bandwidth", &read_bandwidth<float>, "array"_a.noconvert(), "repetitions"_a);
  m.def("read_bandwidth", &read_bandwidth<double>, "array"_a.noconvert(), "repetitions"_a);
  m.def("time_subproblem", &time_subproblem, "v"_a, "C"_a, "method"_a, "starts"_a);
}

}  // namespace softmargin::linear
