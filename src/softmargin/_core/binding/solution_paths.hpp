// The binding of whole kernel matrices and of paths of solutions on them. No algorithms here.
#pragma once

#include "../solution_paths.hpp"
#include "../whole_matrix.hpp"
#include "kernel_machines.hpp"

namespace softmargin {

template <class Real>
using Square = nb::ndarray<Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// One step of the paths: p and the parts of all problems.
using PathStep = std::tuple<Column<double>, std::vector<PartArrays>>;

// The matrix of these rows and columns.
template <class Value, class Real>
void copy_submatrix(const Square<const Value>& matrix, const Index* ids, std::int64_t size,
                    Real* out) {
  const std::size_t count = matrix.shape(0);
  std::vector<std::int64_t> ends;  // of runs of consecutive columns, which are copied as a whole
  for (std::int64_t c = 0; c < size; ++c)
    if (c + 1 == size || ids[c + 1] != ids[c] + 1) ends.push_back(c + 1);
  for (std::int64_t r = 0; r < size; ++r) {
    const Value* row = matrix.data() + static_cast<std::size_t>(ids[r]) * count;
    Real* values = out + static_cast<std::size_t>(r) * size;
    std::int64_t begin = 0;
    for (std::int64_t end : ends) {
      std::copy_n(row + ids[begin], end - begin, values + begin);
      begin = end;
    }
  }
}

template <class Value>
bool is_whole(const Square<const Value>& matrix, const Index* ids, std::int64_t size) {
  for (std::int64_t k = 0; k < size; ++k)
    if (ids[k] != k) return false;
  return static_cast<std::size_t>(size) == matrix.shape(0);
}

template <class Value, class Real>
std::unique_ptr<SolutionPaths<Real>> solution_paths(
    Square<const Value> matrix, Column<Index> ids, Column<std::int64_t> starts,
    std::vector<PathStep> steps, std::vector<double> scales, bool separate, bool newton,
    double tolerance, double gap_tolerance, std::int64_t max_iterations, std::size_t newton_bytes) {
  const std::size_t parts = std::get<1>(steps.at(0)).size();
  for (std::size_t k = 0; k < ids.size(); ++k)
    if (ids.data()[k] < 0 || static_cast<std::size_t>(ids.data()[k]) >= matrix.shape(0))
      throw std::invalid_argument("ids must be rows of the matrix");
  const auto next = std::make_shared<std::chrono::steady_clock::time_point>();
  const auto check = [next] {
    const auto now = std::chrono::steady_clock::now();
    if (now < *next) return;
    *next = now + std::chrono::milliseconds(50);
    handle_signals();
  };
  const auto load = [=](std::int64_t begin, std::int64_t end, Real* space) -> const Real* {
    if constexpr (std::is_same_v<Value, Real>)
      if (is_whole(matrix, ids.data() + begin, end - begin)) return matrix.data();
    copy_submatrix(matrix, ids.data() + begin, end - begin, space);
    return space;
  };
  const auto state = [=, steps = std::move(steps)](std::size_t step, std::int64_t begin,
                                                   std::int64_t end) {
    const auto& [p, parts] = steps.at(step);
    return make_dual(p, parts, separate, begin, end);
  };
  const Index most_free = newton ? NewtonSchedule::most_free(newton_bytes) : 0;
  return std::make_unique<SolutionPaths<Real>>(load, state, most_free, to_vector(starts),
                                               std::move(scales), parts, tolerance, gap_tolerance,
                                               max_iterations, check);
}

template <class Real>
void bind_solution_paths(nb::module_ m) {
  using Paths = SolutionPaths<Real>;
  using Result = typename Paths::Result;
  const auto by_step = [](const Paths& paths, std::vector<double> values) {
    const std::size_t steps = paths.steps();
    return to_numpy(std::move(values), {steps, static_cast<std::size_t>(paths.variables())});
  };
  const auto column = [](const Paths& paths, auto value) {
    std::vector<decltype(value(paths.results()[0]))> values;
    for (const Result& result : paths.results()) values.push_back(value(result));
    return to_numpy(std::move(values), {paths.steps(), static_cast<std::size_t>(paths.count())});
  };
  nb::class_<Paths>(m, "SolutionPaths")
      .def("run", &Paths::run, "max_seconds"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("total", &Paths::total)
      .def("beta", [by_step](const Paths& p, int part) { return by_step(p, p.beta(part)); })
      .def("gradient", [by_step](const Paths& p) { return by_step(p, p.gradient()); })
      .def("outcomes",
           [column](const Paths& p) {
             return column(p, [](const Result& r) { return static_cast<int>(r.status.outcome); });
           })
      .def("violations",
           [column](const Paths& p) {
             return column(p, [](const Result& r) { return r.status.violation; });
           })
      .def("iterations",
           [column](const Paths& p) {
             return column(p, [](const Result& r) { return r.status.iterations; });
           })
      .def("seconds", [column](const Paths& p) {
        return column(p, [](const Result& r) { return r.seconds; });
      });
  const auto bind = [&m](auto function) {
    m.def("solution_paths", function, "matrix"_a.noconvert(), "ids"_a, "starts"_a, "steps"_a,
          "scales"_a, "separate"_a, "newton"_a, "tolerance"_a, "gap_tolerance"_a,
          "max_iterations"_a, "newton_bytes"_a);
  };
  bind(&solution_paths<float, Real>);
  bind(&solution_paths<double, Real>);
}

inline void bind_whole_matrices(nb::module_ m) {
  m.def(
      "products",
      [](const Examples<double>& examples, Square<double> out, int threads) {
        const std::size_t count = examples.count;
        if (out.shape(0) != count || out.shape(1) != count)
          throw std::invalid_argument("out must have a row and a column for each example");
        nb::gil_scoped_release release;
        Interruption interruption(handle_signals);
        all_products(examples, threads, out.data(), interruption);
      },
      "examples"_a, "out"_a.noconvert(), "threads"_a);
  m.def(
      "squared_norms",
      [](const Examples<double>& examples) {
        return to_numpy(std::vector<double>(examples.squared_norms),
                        {examples.squared_norms.size()});
      },
      "examples"_a);
  const auto bind = [&m]<class Real>(Square<Real>) {
    m.def(
        "kernel_values",
        [](Square<const double> products, Column<double> norms, const std::string& function,
           double gamma, double coef0, int degree, Square<Real> out, int threads) {
          const std::size_t count = norms.size();
          for (std::size_t axis = 0; axis < 2; ++axis)
            if (products.shape(axis) != count || out.shape(axis) != count)
              throw std::invalid_argument("products, norms and out do not fit together");
          const Kernel kernel{kernel_function(function), gamma, coef0, degree};
          nb::gil_scoped_release release;
          Interruption interruption(handle_signals);
          return all_values(products.data(), norms.data(), static_cast<Index>(count), kernel,
                            threads, out.data(), interruption);
        },
        "products"_a.noconvert(), "norms"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a,
        "out"_a.noconvert(), "threads"_a);
  };
  bind(Square<double>());
  bind(Square<float>());
}

}  // namespace softmargin
