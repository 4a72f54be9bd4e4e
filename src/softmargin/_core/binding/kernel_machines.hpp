// The binding of the kernel machines, for kernel rows in float32 or float64. No algorithms here.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "../decomposition.hpp"
#include "../one_vs_one.hpp"
#include "../selection/maximum_gain.hpp"
#include "../small_problems.hpp"
#include "../working_set/blocks.hpp"
#include "../working_set/pairs.hpp"
#include "../working_set/whole_problem.hpp"
#include "arrays.hpp"
#include "expansion.hpp"
#include "row_sources.hpp"

namespace softmargin {

template <class Rows>
std::unique_ptr<Rule<Rows>> make_rule(const std::string& name, const std::string& gain_rows,
                                      double eta) {
  if (name == "most-violating-pair") return std::make_unique<MostViolatingPair<Rows>>();
  if (name == "second-order") return std::make_unique<SecondOrder<Rows>>();
  const GainRows rows = gain_rows == "one"   ? GainRows::one
                        : gain_rows == "two" ? GainRows::two
                                             : GainRows::cached;
  if (name == "maximum-gain") return std::make_unique<MaximumGain<Rows>>(false, rows, eta);
  if (name == "hybrid-maximum-gain") return std::make_unique<MaximumGain<Rows>>(true, rows, eta);
  return nullptr;
}

template <class Real>
std::unique_ptr<WorkingSet<Real>> make_working_set(const std::string& rule,
                                                   const std::string& gain_rows, double eta,
                                                   Index block_size, Index size, bool shrink,
                                                   Index most_free, bool keep_rows = false) {
  if (rule != "block")
    return std::make_unique<Pairs<Real>>(make_rule<KernelMatrix<Real>>(rule, gain_rows, eta),
                                         shrink, most_free);
  if (std::max<Index>(block_size, 2) >= size)
    return std::make_unique<WholeProblem<Real>>(size, most_free);
  return std::make_unique<Blocks<Real>>(block_size, shrink, most_free, keep_rows);
}

using PartArrays = std::tuple<Column<double>, Column<double>, Column<double>, double>;

inline std::vector<double> some(const Column<double>& array, std::int64_t begin, std::int64_t end) {
  return {array.data() + begin, array.data() + end};
}

// The variables in the range [begin, end) of the arrays.
inline std::vector<Part> make_parts(const std::vector<PartArrays>& arrays, std::int64_t begin,
                                    std::int64_t end) {
  std::vector<Part> parts;
  for (const auto& [beta, lower, upper, offset] : arrays) {
    Part part;
    part.beta = some(beta, begin, end);
    part.lower = some(lower, begin, end);
    part.upper = some(upper, begin, end);
    part.offset = offset;
    part.rise_gate.resize(part.beta.size());
    part.fall_gate.resize(part.beta.size());
    for (std::int64_t k = 0; k < end - begin; ++k) part.set(static_cast<Index>(k), part.beta[k]);
    parts.push_back(std::move(part));
  }
  return parts;
}

// The problem in the range [begin, end) of the arrays.
inline Dual make_dual(const Column<double>& p, const std::vector<PartArrays>& parts, bool separate,
                      std::int64_t begin, std::int64_t end) {
  Dual dual;
  dual.p = dual.gradient = some(p, begin, end);
  dual.separate = separate;
  dual.active = dual.size();
  dual.parts = make_parts(parts, begin, end);
  return dual;
}

template <class Real>
class Solver {
 public:
  Solver(RowSource<Real>& rows, Column<Index> ids, Column<double> p,
         const std::vector<PartArrays>& parts, bool separate, const std::string& rule,
         const std::string& gain_rows, double eta, Index block_size, bool newton, double tolerance,
         bool shrinking, std::size_t cache_bytes, int threads, double gap_tolerance,
         double most_rounding, bool keep_rows)
      : decomposition_(
            make_dual(p, parts, separate, 0, static_cast<std::int64_t>(p.size())),
            KernelMatrix<Real>(rows, to_vector(ids), cache_bytes, threads, handle_signals),
            make_working_set<Real>(rule, gain_rows, eta, block_size, static_cast<Index>(p.size()),
                                   shrinking, newton ? NewtonSchedule::most_free(cache_bytes) : 0,
                                   keep_rows),
            tolerance, gap_tolerance, most_rounding) {}

  SolverState run(std::int64_t max_iterations, double max_seconds) {
    return decomposition_.run(max_iterations, max_seconds);
  }
  SolverState finish() { return decomposition_.finish(); }
  void restart(const std::vector<PartArrays>& parts, double tolerance) {
    const std::vector<Part> other = make_parts(parts, 0, decomposition_.dual().size());
    nb::gil_scoped_release release;
    decomposition_.restart(other, tolerance);
  }
  void stop() { decomposition_.stop(); }

  // One value per example, in the order of `ids`.
  auto gradient() const { return by_example(decomposition_.dual().gradient); }
  auto beta(int part) const { return by_example(decomposition_.dual().parts.at(part).beta); }

 private:
  nb::ndarray<nb::numpy, double> by_example(const std::vector<double>& by_position) const {
    std::vector<double> values(by_position.size());
    const Order& order = decomposition_.order();
    for (std::size_t k = 0; k < values.size(); ++k) values[order.example_at[k]] = by_position[k];
    return to_numpy(std::move(values), {by_position.size()});
  }

  Decomposition<Real> decomposition_;
};

// Solves many small problems, each as Solver would, with the same rule for all.
template <class Real>
std::unique_ptr<SmallProblems<Real>> small_problems(
    RowSource<Real>& rows, Column<Index> ids, Column<std::int64_t> starts, Column<double> p,
    std::vector<PartArrays> parts, bool separate, const std::string& rule,
    const std::string& gain_rows, double eta, Index block_size, bool newton, double tolerance,
    bool shrinking, std::size_t cache_bytes, std::int64_t max_iterations, int threads,
    double gap_tolerance, std::vector<std::vector<PartArrays>> folds, double fold_tolerance,
    std::int64_t max_fold_iterations) {
  const std::size_t count = parts.size();
  const auto next = std::make_shared<std::chrono::steady_clock::time_point>();
  const auto check = [next] {  // called at least once per problem, so most calls do nothing
    const auto now = std::chrono::steady_clock::now();
    if (now < *next) return;
    *next = now + std::chrono::milliseconds(50);
    handle_signals();
  };
  const auto make = [=, &rows, parts = std::move(parts)](std::int64_t begin, std::int64_t end) {
    return std::make_unique<Decomposition<Real>>(
        make_dual(p, parts, separate, begin, end),
        KernelMatrix<Real>(rows, {ids.data() + begin, ids.data() + end}, cache_bytes, threads,
                           check),
        make_working_set<Real>(rule, gain_rows, eta, block_size, static_cast<Index>(end - begin),
                               shrinking, newton ? NewtonSchedule::most_free(cache_bytes) : 0),
        tolerance, gap_tolerance);
  };
  const std::size_t fold_count = folds.size();
  const auto fold = [=, folds = std::move(folds)](std::size_t f, std::int64_t begin,
                                                  std::int64_t end) {
    return make_parts(folds.at(f), begin, end);
  };
  return std::make_unique<SmallProblems<Real>>(make, fold, fold_count, to_vector(starts), count,
                                               max_iterations, max_fold_iterations, fold_tolerance);
}

template <class Real, class Value>
auto column(const SmallProblems<Real>& problems, Value value) {
  std::vector<decltype(value(problems.results()[0]))> values;
  for (const auto& result : problems.results()) values.push_back(value(result));
  const std::size_t count = values.size();
  return to_numpy(std::move(values), {count});
}

template <class Real>
void bind_kernel_machines(nb::module_ m) {
  bind_row_sources<Real>(m);

  nb::class_<Solver<Real>>(m, "Solver")
      .def(nb::init<RowSource<Real>&, Column<Index>, Column<double>, const std::vector<PartArrays>&,
                    bool, const std::string&, const std::string&, double, Index, bool, double, bool,
                    std::size_t, int, double, double, bool>(),
           "rows"_a, "ids"_a, "p"_a, "parts"_a, "separate"_a, "rule"_a, "gain_rows"_a, "eta"_a,
           "block_size"_a, "newton"_a, "tolerance"_a, "shrinking"_a, "cache_bytes"_a, "threads"_a,
           "gap_tolerance"_a = infinity, "most_rounding"_a = infinity, "keep_rows"_a = false,
           nb::keep_alive<1, 2>())
      .def("run", &Solver<Real>::run, "max_iterations"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Solver<Real>::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("restart", &Solver<Real>::restart, "parts"_a, "tolerance"_a)
      .def("stop", &Solver<Real>::stop)
      .def("gradient", &Solver<Real>::gradient)
      .def("beta", &Solver<Real>::beta, "part"_a);

  using Small = SmallProblems<Real>;
  using Result = typename Small::Result;
  const auto copy = [](std::vector<double> values) {
    const std::size_t size = values.size();
    return to_numpy(std::move(values), {size});
  };
  nb::class_<Small>(m, "SmallProblems")
      .def("run", &Small::run, "max_seconds"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Small::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("status", [](const Small& s, std::int64_t k) { return s.results().at(k).status; })
      .def(
          "beta",
          [copy](const Small& s, int part, int point) {
            return copy(s.points(point).beta.at(part));
          },
          "part"_a, "point"_a = 0)
      .def(
          "gradient", [copy](const Small& s, int point) { return copy(s.points(point).gradient); },
          "point"_a = 0)
      .def("outcomes",
           [](const Small& s) {
             return column(s, [](const Result& r) { return static_cast<int>(r.status.outcome); });
           })
      .def("violations",
           [](const Small& s) {
             return column(s, [](const Result& r) { return r.status.violation; });
           })
      .def("roundings",
           [](const Small& s, const RowSource<Real>& rows, Column<Index> ids) {
             return to_numpy(s.roundings(rows, ids.data()), {s.results().size()});
           })
      .def("seconds",
           [](const Small& s) { return column(s, [](const Result& r) { return r.seconds; }); })
      .def("counts", [](const Small& s) {
        std::vector<std::int64_t> counts;
        for (const Result& r : s.results())
          counts.insert(counts.end(), {r.status.iterations, r.status.kernel_rows,
                                       r.status.kernel_evaluations, r.status.cache_hits});
        return to_numpy(std::move(counts), {s.results().size(), 4});
      });
  m.def("small_problems", &small_problems<Real>, "rows"_a, "ids"_a, "starts"_a, "p"_a, "parts"_a,
        "separate"_a, "rule"_a, "gain_rows"_a, "eta"_a, "block_size"_a, "newton"_a, "tolerance"_a,
        "shrinking"_a, "cache_bytes"_a, "max_iterations"_a, "threads"_a,
        "gap_tolerance"_a = infinity, "folds"_a = std::vector<std::vector<PartArrays>>(),
        "fold_tolerance"_a = infinity, "max_fold_iterations"_a = 0, nb::keep_alive<0, 1>());

  bind_expansion<Real>(m);
}

// The winning class of each point, for sums of shape points x classes x (classes - 1).
inline auto votes(nb::ndarray<const double, nb::ndim<3>, nb::c_contig> sums,
                  Column<double> intercept, int threads) {
  const std::size_t points = sums.shape(0), classes = sums.shape(1);
  if (classes < 2 || sums.shape(2) != classes - 1 ||
      intercept.size() != classes * (classes - 1) / 2)
    throw std::invalid_argument("sums and intercept do not fit together");
  std::vector<std::int64_t> winner(points);
  {
    nb::gil_scoped_release release;
    vote(sums.data(), intercept.data(), static_cast<std::int64_t>(points),
         static_cast<int>(classes), threads, winner.data());
  }
  return to_numpy(std::move(winner), {points});
}

// The best threshold of each problem; `starts` has where they begin, and the end of the last.
inline auto best_thresholds_of(Column<double> values, Column<double> beta, Column<double> lower,
                               Column<double> upper, Column<std::int64_t> starts) {
  const std::size_t size = values.size(), ends = starts.size();
  if (beta.size() != size || lower.size() != size || upper.size() != size || ends < 1 ||
      starts(0) != 0 || starts(ends - 1) != static_cast<std::int64_t>(size))
    throw std::invalid_argument("arrays of a threshold do not fit together");
  std::vector<double> found;
  std::vector<GapTerm> terms;
  for (std::size_t k = 0; k + 1 < ends; ++k) {
    const std::int64_t at = starts(k);
    if (starts(k + 1) < at) throw std::invalid_argument("the starts of problems must rise");
    found.push_back(best_threshold({values.data() + at, beta.data() + at, lower.data() + at,
                                    upper.data() + at, static_cast<Index>(starts(k + 1) - at)},
                                   terms));
  }
  return to_numpy(std::move(found), {ends - 1});
}

// See feasible.hpp.
inline auto repaired(Column<double> beta, Column<double> lower, Column<double> upper, double sum) {
  const std::int64_t size = static_cast<std::int64_t>(beta.size());
  std::vector<Part> parts = make_parts({{beta, lower, upper, 0.0}}, 0, size);
  give_sum({&parts[0]}, sum);
  return to_numpy(std::move(parts[0].beta), {beta.size()});
}

// The part of the binding that does not depend on the precision.
inline void bind_status(nb::module_ m) {
  nb::enum_<Outcome>(m, "Outcome")
      .value("running", Outcome::running)
      .value("optimal", Outcome::optimal)
      .value("no_progress", Outcome::no_progress)
      .value("stuck", Outcome::stuck)
      .value("unbounded", Outcome::unbounded)
      .value("imprecise", Outcome::imprecise);
  m.attr("MOST_FREE") = NewtonSchedule::most_variables;
  nb::exception<KernelNotFinite>(m, "KernelNotFinite", PyExc_ValueError);
  m.def("means", &means_of<float>, "X"_a.noconvert());
  m.def("means", &means_of<double>, "X"_a.noconvert());
  m.def("repaired", &repaired, "beta"_a, "lower"_a, "upper"_a, "sum"_a);
  m.def("prepare_thread", &prepare_for_exceptions);
  m.def("best_thresholds", &best_thresholds_of, "values"_a, "beta"_a, "lower"_a, "upper"_a,
        "starts"_a);
  m.def("vote", &votes, "sums"_a, "intercept"_a, "threads"_a);
  nb::class_<SolverState>(m, "SolverState")
      .def_ro("outcome", &SolverState::outcome)
      .def_ro("violation", &SolverState::violation)
      .def_ro("objective", &SolverState::objective)
      .def_ro("iterations", &SolverState::iterations)
      .def_ro("kernel_rows", &SolverState::kernel_rows)
      .def_ro("kernel_evaluations", &SolverState::kernel_evaluations)
      .def_ro("cache_hits", &SolverState::cache_hits)
      .def_ro("rule_stop", &SolverState::rule_stop)
      .def_ro("tolerance", &SolverState::tolerance)
      .def_ro("to_rebuild", &SolverState::to_rebuild)
      .def_ro("active", &SolverState::active);
}

}  // namespace softmargin
