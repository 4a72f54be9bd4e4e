// The binding of the kernel machines for all classes at once. No algorithms here.
#include "../all_classes/solver.hpp"
#include "kernel_machines.hpp"

namespace softmargin {
namespace {

using all_classes::AnySolver;
using all_classes::Problem;
using Matrix2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

all_classes::Rule rule_of(const std::string& name) {
  if (name == "most-violating-example") return all_classes::Rule::most_violating;
  if (name == "maximum-gain-example") return all_classes::Rule::maximum_gain;
  if (name == "block") return all_classes::Rule::block;
  throw std::invalid_argument("unknown rule " + name);
}

// `start` has the dual variables: a row per example, a column per class.
Problem make_problem(const Column<std::int32_t>& labels, const Column<double>& upper,
                     const Matrix2& start) {
  const std::size_t size = labels.size(), classes = start.shape(1);
  if (upper.size() != size || start.shape(0) != size)
    throw std::invalid_argument("labels, upper and start do not fit together");
  Problem problem(static_cast<Index>(size), static_cast<Index>(classes));
  for (std::size_t k = 0; k < size; ++k) {
    const std::int32_t label = labels.data()[k];
    if (label < 0 || label >= problem.classes)
      throw std::invalid_argument("a label is not the number of a class");
    problem.label[k] = label;
    problem.upper[k] = upper.data()[k];
    for (std::size_t c = 0; c < classes; ++c)
      problem.beta.at(static_cast<Index>(c), static_cast<Index>(k)) = start.data()[k * classes + c];
    problem.beta.at(label, static_cast<Index>(k)) = 0;
  }
  return problem;
}

template <class Real>
std::unique_ptr<AnySolver> make_solver(RowSource<Real>& rows, Column<Index> ids,
                                       Column<std::int32_t> labels, Column<double> upper,
                                       Matrix2 start, const std::string& machine,
                                       const std::string& rule, Index block_size, bool newton,
                                       double tolerance, bool shrinking, std::size_t cache_bytes,
                                       int threads, double gap_tolerance, double most_rounding) {
  if (ids.size() != labels.size())
    throw std::invalid_argument("ids and labels do not fit together");
  KernelMatrix<Real> matrix(rows, to_vector(ids), cache_bytes, threads, handle_signals);
  const all_classes::Settings settings{
      .rule = rule_of(rule),
      .block_size = block_size,
      .most_free = newton ? NewtonSchedule::most_free(cache_bytes) : 0,
      .tolerance = tolerance,
      .gap_tolerance = gap_tolerance,
      .most_rounding = most_rounding,
      .shrinking = shrinking,
      .threads = threads};
  Problem problem = make_problem(labels, upper, start);
  if (machine == "weston_watkins")
    return std::make_unique<all_classes::Solver<Real, linear::WestonWatkins>>(
        std::move(problem), std::move(matrix), settings);
  if (machine == "crammer_singer")
    return std::make_unique<all_classes::Solver<Real, linear::CrammerSinger>>(
        std::move(problem), std::move(matrix), settings);
  throw std::invalid_argument("unknown machine " + machine);
}

// A row per class, of one value per example in the order of `ids`.
template <class Value>
auto by_class(const AnySolver& solver, Value value) {
  const Problem& problem = solver.problem();
  const std::size_t size = problem.label.size(), classes = problem.classes;
  std::vector<double> values(size * classes);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t c = 0; c < classes; ++c)
      values[c * size + solver.order().example_at[k]] =
          value(problem, static_cast<Index>(k), static_cast<Index>(c));
  return to_numpy(std::move(values), {classes, size});
}

template <class Real>
void bind_solver(nb::module_ m) {
  m.def("all_classes_solver", &make_solver<Real>, "rows"_a, "ids"_a, "labels"_a, "upper"_a,
        "start"_a, "machine"_a, "rule"_a, "block_size"_a, "newton"_a, "tolerance"_a, "shrinking"_a,
        "cache_bytes"_a, "threads"_a, "gap_tolerance"_a = infinity, "most_rounding"_a = infinity,
        nb::keep_alive<0, 1>());
}

}  // namespace

void bind_all_classes(nb::module_ m, nb::module_ float32, nb::module_ float64) {
  nb::class_<AnySolver>(m, "AllClassesSolver")
      .def("run", &AnySolver::run, "max_iterations"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &AnySolver::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &AnySolver::stop)
      .def("scores",
           [](const AnySolver& solver) {
             return by_class(solver, [](const Problem& problem, Index k, Index c) {
               return problem.scores.at(c, k);
             });
           })
      .def("variables", [](const AnySolver& solver) {
        return by_class(
            solver, [](const Problem& problem, Index k, Index c) { return problem.beta.at(c, k); });
      });
  bind_solver<float>(float32);
  bind_solver<double>(float64);
}

}  // namespace softmargin
