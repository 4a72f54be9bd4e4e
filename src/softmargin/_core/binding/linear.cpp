// The binding of the linear machines and their sub-problems. No algorithms here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <limits>
#include <new>
#include <string>
#include <tuple>

#include "../linear/subproblem/subproblem_sorted.hpp"
#include "bindings.hpp"
#include "linear_solver.hpp"

namespace softmargin::linear {
namespace {

// The solution b of one sub-problem, and the number of passes over v (sorting counts as one).
std::tuple<nb::ndarray<nb::numpy, double>, int> solve_subproblem(Column<double> v, double C,
                                                                 const std::string& machine,
                                                                 const std::string& method,
                                                                 double start) {
  const auto size = static_cast<std::int64_t>(v.size());
  const bool simplex = machine == "crammer_singer";
  std::vector<double> b(v.size(), 0.0);
  int passes = method == "newton" ? 0 : 1;
  double g;
  if (method == "newton")
    g = simplex ? crammer_singer_newton(v.data(), size, C, start, passes)
                : weston_watkins_newton(v.data(), size, C, start, passes);
  else
    g = simplex ? crammer_singer_sorted(v.data(), size, C)
                : SortedSubproblem().threshold(v.data(), size, C);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::clamp(v.data()[i] - g, 0.0, C);
  return {to_numpy(std::move(b), {v.size()}), passes};
}

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
      [](Column<Value> data, Column<Offset> indices, Column<Offset> starts, std::int32_t features,
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
      .def(
          "__init__",
          [](Solver* self, const RowReader& rows, Column<std::int32_t> labels, Column<double> upper,
             std::int32_t classes, const std::string& machine, double tolerance, bool shrinking,
             bool extrapolation, std::uint64_t seed, std::optional<Column<double>> own_upper,
             std::optional<Column<double>> targets, double epsilon) {
            const Given given = Arguments{labels, upper, own_upper, targets}.checked(rows);
            with_machine(machine, epsilon, [&]<class Machine>(Machine made) {
              new (self) Solver(
                  rows, std::make_unique<linear::Solver<Real, Machine>>(
                            rows, given, classes, made, tolerance, shrinking, extrapolation, seed));
            });
          },
          "rows"_a, "labels"_a, "upper"_a, "classes"_a, "machine"_a, "tolerance"_a, "shrinking"_a,
          "extrapolation"_a, "seed"_a, "own_upper"_a = nb::none(), "targets"_a = nb::none(),
          "epsilon"_a = 0.0, nb::keep_alive<1, 2>())
      .def("run", &Solver::run, "max_passes"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Solver::finish, "max_seconds"_a = std::numeric_limits<double>::infinity(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("start_from", &Solver::start_from, "starts"_a, "classes"_a, "beta"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("take_weights", &Solver::take_weights)
      .def("dual_variables", &Solver::dual_variables);
}

}  // namespace
}  // namespace softmargin::linear

void softmargin::bind_linear(nb::module_ m) {
  using namespace linear;
  nb::class_<RowReader> reader(m, "Rows");
  bind_dense<float>(reader);
  bind_dense<double>(reader);
  bind_csr<float, std::int32_t>(reader);
  bind_csr<float, std::int64_t>(reader);
  bind_csr<double, std::int32_t>(reader);
  bind_csr<double, std::int64_t>(reader);

  nb::class_<DescentReport>(m, "DescentReport")
      .def_ro("optimal", &DescentReport::optimal)
      .def_ro("stuck", &DescentReport::stuck)
      .def_ro("primal", &DescentReport::primal)
      .def_ro("dual", &DescentReport::dual)
      .def_ro("gap", &DescentReport::gap)
      .def_prop_ro("relative_gap", &DescentReport::relative_gap)
      .def_ro("estimated_gap", &DescentReport::estimated_gap)
      .def_ro("violation", &DescentReport::violation)
      .def_ro("passes", &DescentReport::passes)
      .def_ro("visits", &DescentReport::visits)
      .def_ro("support_visits", &DescentReport::support_visits)
      .def_ro("checks", &DescentReport::checks)
      .def_ro("entries", &DescentReport::entries)
      .def_ro("active", &DescentReport::active)
      .def_ro("checked", &DescentReport::checked);

  bind_solver<float>(m, "SolverFloat32");
  bind_solver<double>(m, "SolverFloat64");
  m.def("solve_subproblem", &solve_subproblem, "v"_a, "C"_a, "machine"_a, "method"_a, "start"_a);
}
