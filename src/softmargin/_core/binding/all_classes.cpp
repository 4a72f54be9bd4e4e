// The binding of the kernel machines for all classes at once. No algorithms here.
#include "../all_classes/solver.hpp"
#include "kernel_machines.hpp"

namespace softmargin {
namespace {

using all_classes::AnySolver;
using all_classes::Problem;

all_classes::Rule rule_of(const std::string& name) {
  if (name == "most-violating-example") return all_classes::Rule::most_violating;
  if (name == "maximum-gain-example") return all_classes::Rule::maximum_gain;
  if (name == "block") return all_classes::Rule::block;
  throw std::invalid_argument("unknown rule " + name);
}

// `start` has the dual variables: a row per class.
Problem make_problem(const Column<std::int32_t>& labels, const Column<double>& upper,
                     const std::vector<Column<double>>& start) {
  const std::size_t size = labels.size(), classes = start.size();
  const auto fits = [&](const Column<double>& row) { return row.size() == size; };
  if (!fits(upper) || !std::all_of(start.begin(), start.end(), fits))
    throw std::invalid_argument("labels, upper and start do not fit together");
  Problem problem(static_cast<Index>(size), static_cast<Index>(classes));
  for (std::size_t c = 0; c < classes; ++c)
    std::copy_n(start[c].data(), size, problem.beta.row(static_cast<Index>(c)));
  for (std::size_t k = 0; k < size; ++k) {
    const std::int32_t label = labels.data()[k];
    if (label < 0 || label >= problem.classes)
      throw std::invalid_argument("a label is not the number of a class");
    problem.label[k] = label;
    problem.upper[k] = upper.data()[k];
    problem.beta.at(label, static_cast<Index>(k)) = 0;
  }
  return problem;
}

template <class Real>
std::unique_ptr<AnySolver> make_solver(RowSource<Real>& rows, Column<Index> ids,
                                       Column<std::int32_t> labels, Column<double> upper,
                                       std::vector<Column<double>> start,
                                       const std::string& machine, const std::string& rule,
                                       Index block_size, bool newton, double tolerance,
                                       bool shrinking, std::size_t cache_bytes, int threads,
                                       double gap_tolerance, double most_rounding) {
  if (ids.size() != labels.size())
    throw std::invalid_argument("ids and labels do not fit together");
  block_size = std::min(block_size, static_cast<Index>(labels.size()));
  // The cache gets what a block, the variables and the orders of examples leave of the budget, but
  // at least three quarters of it. (The scores are not counted.)
  const std::size_t in_solver =
      all_classes::WorkingSet<Real, linear::WestonWatkins>::bytes(block_size) +
      labels.size() * (start.size() + 40) * sizeof(double);
  KernelMatrix<Real> matrix(rows, to_vector(ids),
                            cache_bytes - std::min(in_solver, cache_bytes / 4), threads,
                            handle_signals);
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

// The row of a class, in the order of `ids`.
auto row_of(const AnySolver& solver, const all_classes::Table& table, Index c) {
  if (c < 0 || c >= solver.problem().classes) throw std::out_of_range("no such class");
  const std::vector<Index>& example_at = solver.order().example_at;
  std::vector<double> values(example_at.size());
  for (std::size_t k = 0; k < values.size(); ++k)
    values[example_at[k]] = table.at(c, static_cast<Index>(k));
  return to_numpy(std::move(values), {example_at.size()});
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
      .def(
          "scores",
          [](const AnySolver& solver, Index c) {
            return row_of(solver, solver.problem().scores, c);
          },
          "c"_a)
      .def(
          "variables",
          [](const AnySolver& solver, Index c) { return row_of(solver, solver.problem().beta, c); },
          "c"_a);
  bind_solver<float>(float32);
  bind_solver<double>(float64);
}

}  // namespace softmargin
