// The binding of the kernel machines, for kernel rows in float32 or float64. No algorithms here.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <numeric>
#include <tuple>

#include "../decision.hpp"
#include "../decomposition.hpp"
#include "../one_vs_one.hpp"
#include "../selection/maximum_gain.hpp"
#include "../small_problems.hpp"
#include "../working_set/blocks.hpp"
#include "../working_set/pairs.hpp"
#include "../working_set/whole_problem.hpp"
#include "arrays.hpp"

namespace softmargin {

inline KernelFunction kernel_function(const std::string& name) {
  if (name == "linear") return KernelFunction::linear;
  if (name == "poly") return KernelFunction::polynomial;
  if (name == "rbf") return KernelFunction::rbf;
  if (name == "sigmoid") return KernelFunction::sigmoid;
  throw std::invalid_argument("unknown kernel " + name);
}

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
                                                   Index most_free) {
  if (rule != "block")
    return std::make_unique<Pairs<Real>>(make_rule<KernelMatrix<Real>>(rule, gain_rows, eta),
                                         shrink, most_free);
  if (std::max<Index>(block_size, 2) >= size)
    return std::make_unique<WholeProblem<Real>>(size, most_free);
  return std::make_unique<Blocks<Real>>(block_size, shrink, most_free);
}

// Rows computed by a Python function: values(rows) returns full rows as a C-ordered float64 array.
template <class Real>
class FunctionRows final : public RowSource<Real> {
 public:
  FunctionRows(nb::callable values, std::vector<double> diagonal)
      : values_(std::move(values)), diagonal_(std::move(diagonal)) {}

  void load(const Index* rows, Index size) override {
    nb::gil_scoped_acquire gil;
    const auto answer = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig>>(
        values_(to_numpy(std::vector<Index>(rows, rows + size), {static_cast<std::size_t>(size)})));
    size_ = size;
    loaded_.assign(answer.data(), answer.data() + answer.size());
  }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>&) const override {
    for (Index r = 0; r < size_; ++r)
      for (Index c = 0; c < size; ++c)
        out[r * stride + c] = static_cast<Real>(loaded_[r * diagonal_.size() + columns[c]]);
  }

  double diagonal(Index row) const override { return diagonal_[row]; }

  double cost() const override { return 1; }

  double rounding(const Index*, const double* coefficients, Index size) const override {
    return rounding_of_given<Real>(*std::max_element(diagonal_.begin(), diagonal_.end()),
                                   coefficients, size);
  }

 private:
  nb::callable values_;
  std::vector<double> diagonal_, loaded_;
  Index size_ = 0;
};

using PartArrays = std::tuple<Column<double>, Column<double>, Column<double>, double>;

inline std::vector<double> some(const Column<double>& array, std::int64_t begin, std::int64_t end) {
  return {array.data() + begin, array.data() + end};
}

// The problem in the range [begin, end) of the arrays.
inline Dual make_dual(const Column<double>& p, const std::vector<PartArrays>& parts, bool separate,
                      std::int64_t begin, std::int64_t end) {
  Dual dual;
  dual.p = dual.gradient = some(p, begin, end);
  dual.separate = separate;
  dual.active = dual.size();
  for (const auto& [beta, lower, upper, offset] : parts) {
    Part part;
    part.beta = some(beta, begin, end);
    part.lower = some(lower, begin, end);
    part.upper = some(upper, begin, end);
    part.offset = offset;
    part.rise_gate.resize(part.beta.size());
    part.fall_gate.resize(part.beta.size());
    for (Index k = 0; k < dual.size(); ++k) part.set(k, part.beta[k]);
    dual.parts.push_back(std::move(part));
  }
  return dual;
}

// Lets Python handle Ctrl-C during a long call. Python handles signals in the main thread only; in
// other threads this does nothing.
inline void handle_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class Real>
class Solver {
 public:
  Solver(RowSource<Real>& rows, Column<Index> ids, Column<double> p,
         const std::vector<PartArrays>& parts, bool separate, const std::string& rule,
         const std::string& gain_rows, double eta, Index block_size, bool newton, double tolerance,
         bool shrinking, std::size_t cache_bytes, int threads, double gap_tolerance,
         double most_rounding)
      : decomposition_(
            make_dual(p, parts, separate, 0, static_cast<std::int64_t>(p.size())),
            KernelMatrix<Real>(rows, to_vector(ids), cache_bytes, threads, handle_signals),
            make_working_set<Real>(rule, gain_rows, eta, block_size, static_cast<Index>(p.size()),
                                   shrinking, newton ? NewtonSchedule::most_free(cache_bytes) : 0),
            tolerance, gap_tolerance, most_rounding) {}

  SolverState run(std::int64_t max_iterations, double max_seconds) {
    return decomposition_.run(max_iterations, max_seconds);
  }
  SolverState finish() { return decomposition_.finish(); }
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
    double gap_tolerance) {
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
  return std::make_unique<SmallProblems<Real>>(make, to_vector(starts), count, max_iterations);
}

template <class Real, class Value>
auto column(const SmallProblems<Real>& problems, Value value) {
  std::vector<decltype(value(problems.results()[0]))> values;
  for (const auto& result : problems.results()) values.push_back(value(result));
  const std::size_t count = values.size();
  return to_numpy(std::move(values), {count});
}

// sums[k] = sum_r coefficients[r] K(vectors[r], points[k]), of rows of the source.
template <class Real>
auto sums_at(RowSource<Real>& rows, Column<Index> points, Column<Index> vectors,
             Column<double> coefficients, int threads) {
  if (vectors.size() != coefficients.size())
    throw std::invalid_argument("vectors and coefficients do not fit together");
  std::vector<Index> ids = to_vector(points), positions(vectors.size());
  ids.insert(ids.end(), vectors.data(), vectors.data() + vectors.size());
  std::iota(positions.begin(), positions.end(), static_cast<Index>(points.size()));
  const std::vector<double> scales = to_vector(coefficients);
  std::vector<double> sums(points.size(), 0.0);
  {
    nb::gil_scoped_release release;
    KernelMatrix<Real> matrix(rows, std::move(ids), 0, threads, handle_signals);
    matrix.accumulate(positions, scales, 0, static_cast<Index>(sums.size()), sums.data());
  }
  return to_numpy(std::move(sums), {points.size()});
}

template <class Value>
void check_rows_contiguous(const Input<Value, 2>& X) {
  if (X.shape(0) > 0 && X.shape(1) > 1 && X.stride(1) != 1)
    throw std::invalid_argument("the values of a row of X must be contiguous");
}

template <class Value>
auto means_of(Input<Value, 2> X) {
  check_rows_contiguous(X);
  return to_numpy(
      means(X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0)),
      {X.shape(1)});
}

template <class Value, class Real>
void bind_dense(nb::class_<Examples<Real>>& examples, nb::class_<RowSource<Real>>& rows) {
  // X has contiguous rows; centre is empty or has one value per feature. Differences need none.
  if constexpr (std::is_same_v<Real, double>)
    examples.def_static(
        "dense_differences",
        [](Input<Value, 2> X) -> Examples<double>* {
          check_rows_contiguous(X);
          return new DenseExamples<Value, double, Differences>(
              X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0),
              nullptr);
        },
        "X"_a.noconvert(), nb::keep_alive<0, 1>());
  examples.def_static(
      "dense",
      [](Input<Value, 2> X, Column<double> centre) -> Examples<Real>* {
        check_rows_contiguous(X);
        return new DenseExamples<Value, Real>(X.data(), static_cast<Index>(X.shape(0)),
                                              static_cast<Index>(X.shape(1)), X.stride(0),
                                              centre.size() ? centre.data() : nullptr);
      },
      "X"_a.noconvert(), "centre"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "precomputed",
      [](Input<Value, 2> matrix) -> RowSource<Real>* {
        return new PrecomputedRows<Value, Real>(matrix.data(), matrix.stride(0), matrix.stride(1));
      },
      "matrix"_a.noconvert(), nb::keep_alive<0, 1>());
}

template <class Value, class Offset, class Real>
void bind_csr(nb::class_<Examples<Real>>& examples) {
  if constexpr (std::is_same_v<Real, double>)
    examples.def_static(
        "csr_differences",
        [](Column<Value> data, Column<Offset> indices, Column<Offset> starts,
           Index features) -> Examples<double>* {
          return new SparseDifferences<Value, Offset>(data.data(), indices.data(), starts.data(),
                                                      static_cast<Index>(starts.size() - 1),
                                                      features);
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
  examples.def_static(
      "csr",
      [](Column<Value> data, Column<Offset> indices, Column<Offset> starts,
         Index features) -> Examples<Real>* {
        return new SparseExamples<Value, Offset, Real>(data.data(), indices.data(), starts.data(),
                                                       static_cast<Index>(starts.size() - 1),
                                                       features);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
      nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
}

// Support vectors, kernel and coefficients, to be evaluated at points.
template <class Real>
class BoundExpansion {
 public:
  using Coefficients = nb::ndarray<const double, nb::ndim<2>, nb::c_contig>;

  BoundExpansion(const Examples<Real>& vectors, const std::string& function, double gamma,
                 double coef0, int degree, Coefficients coefficients,
                 const std::vector<Index>& group_starts)
      : features_(vectors.features),
        groups_(group_starts.size() - 1),
        coefficients_(coefficients),
        expansion_(vectors, {kernel_function(function), gamma, coef0, degree}, group_starts,
                   coefficients_.data(), static_cast<Index>(coefficients.shape(0))) {
    if (coefficients.shape(1) != static_cast<std::size_t>(vectors.count) ||
        group_starts.front() != 0 || group_starts.back() != vectors.count ||
        !std::is_sorted(group_starts.begin(), group_starts.end()))
      throw std::invalid_argument("vectors, coefficients and groups do not fit together");
  }

  auto at(const Examples<Real>& points, int threads) const {
    check(points);
    const std::size_t count = points.count, outputs = coefficients_.shape(0);
    std::vector<double> sums(count * groups_ * outputs, 0.0);
    {
      nb::gil_scoped_release release;
      expansion_.evaluate(points, threads, sums.data());
    }
    return to_numpy(std::move(sums), {count, groups_, outputs});
  }

  auto rounding(const Examples<Real>& points) const {
    check(points);
    return to_numpy(expansion_.rounding(points), {static_cast<std::size_t>(points.count)});
  }

  // The largest Euclidean norm of the coefficients of a decision value.
  double length() const { return expansion_.longest(); }

 private:
  void check(const Examples<Real>& points) const {
    if (points.features != features_)
      throw std::invalid_argument("points and vectors do not fit together");
  }

  const Index features_;
  const std::size_t groups_;
  const Coefficients coefficients_;
  const Expansion<Real> expansion_;
};

template <class Real>
void bind_kernel_machines(nb::module_ m) {
  nb::class_<Examples<Real>> examples(m, "Examples");
  nb::class_<RowSource<Real>> rows(m, "Rows");
  rows.def(
      "rounding",
      [](const RowSource<Real>& source, Column<Index> ids, Column<double> coefficients) {
        if (ids.size() != coefficients.size())
          throw std::invalid_argument("ids and coefficients do not fit together");
        return source.rounding(ids.data(), coefficients.data(), static_cast<Index>(ids.size()));
      },
      "ids"_a, "coefficients"_a);
  rows.def("sums", &sums_at<Real>, "points"_a, "vectors"_a, "coefficients"_a, "threads"_a);
  bind_dense<float, Real>(examples, rows);
  bind_dense<double, Real>(examples, rows);
  bind_csr<float, std::int32_t, Real>(examples);
  bind_csr<float, std::int64_t, Real>(examples);
  bind_csr<double, std::int32_t, Real>(examples);
  bind_csr<double, std::int64_t, Real>(examples);
  rows.def_static(
      "examples",
      [](const Examples<Real>& examples, const std::string& function, double gamma, double coef0,
         int degree) -> RowSource<Real>* {
        return new ExampleRows<Real>(examples, {kernel_function(function), gamma, coef0, degree});
      },
      "examples"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "function",
      [](nb::callable values, Column<double> diagonal) -> RowSource<Real>* {
        return new FunctionRows<Real>(std::move(values), to_vector(diagonal));
      },
      "values"_a, "diagonal"_a);

  nb::class_<Solver<Real>>(m, "Solver")
      .def(nb::init<RowSource<Real>&, Column<Index>, Column<double>, const std::vector<PartArrays>&,
                    bool, const std::string&, const std::string&, double, Index, bool, double, bool,
                    std::size_t, int, double, double>(),
           "rows"_a, "ids"_a, "p"_a, "parts"_a, "separate"_a, "rule"_a, "gain_rows"_a, "eta"_a,
           "block_size"_a, "newton"_a, "tolerance"_a, "shrinking"_a, "cache_bytes"_a, "threads"_a,
           "gap_tolerance"_a = infinity, "most_rounding"_a = infinity, nb::keep_alive<1, 2>())
      .def("run", &Solver<Real>::run, "max_iterations"_a, "max_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Solver<Real>::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Solver<Real>::stop)
      .def("gradient", &Solver<Real>::gradient)
      .def("beta", &Solver<Real>::beta, "part"_a);

  using Small = SmallProblems<Real>;
  using Result = typename Small::Result;
  nb::class_<Small>(m, "SmallProblems")
      .def("run", &Small::run, "max_seconds"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &Small::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("status", [](const Small& s, std::int64_t k) { return s.results().at(k).status; })
      .def("beta",
           [](const Small& s, int part) {
             return to_numpy(std::vector<double>(s.beta(part)), {s.beta(part).size()});
           })
      .def("gradient",
           [](const Small& s) {
             return to_numpy(std::vector<double>(s.gradient()), {s.gradient().size()});
           })
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
        "gap_tolerance"_a = infinity, nb::keep_alive<0, 1>());

  nb::class_<BoundExpansion<Real>>(m, "Expansion")
      .def(nb::init<const Examples<Real>&, const std::string&, double, double, int,
                    typename BoundExpansion<Real>::Coefficients, const std::vector<Index>&>(),
           "vectors"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "coefficients"_a,
           "group_starts"_a, nb::keep_alive<1, 2>())
      .def("at", &BoundExpansion<Real>::at, "points"_a, "threads"_a)
      .def("rounding", &BoundExpansion<Real>::rounding, "points"_a)
      .def("length", &BoundExpansion<Real>::length);
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

// The part of the binding that does not depend on the precision.
inline void bind_status(nb::module_ m) {
  nb::enum_<Outcome>(m, "Outcome")
      .value("running", Outcome::running)
      .value("optimal", Outcome::optimal)
      .value("no_progress", Outcome::no_progress)
      .value("stuck", Outcome::stuck)
      .value("unbounded", Outcome::unbounded)
      .value("imprecise", Outcome::imprecise);
  nb::exception<KernelNotFinite>(m, "KernelNotFinite", PyExc_ValueError);
  m.def("means", &means_of<float>, "X"_a.noconvert());
  m.def("means", &means_of<double>, "X"_a.noconvert());
  m.def("prepare_thread", &prepare_for_exceptions);
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
