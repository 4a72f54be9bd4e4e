// The decomposition method (LIBSVM paper, Algorithm 3.1): select a pair, step on it, update the
// gradient, until no pair violates the optimality conditions by more than the tolerance.
//
// Given: a dual problem with a feasible start, its kernel matrix, a selection rule.
// run() continues where it stopped; slices of any length give the same steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "dual.hpp"
#include "kernel_matrix.hpp"
#include "pair_step.hpp"
#include "selection/most_violating_pair.hpp"
#include "shrinking.hpp"

namespace softmargin {

enum class Outcome {
  running,      // the slice is over
  optimal,      // the violation on the full gradient is below the tolerance
  no_progress,  // rounding leaves no step that changes anything
  unbounded     // the objective has no minimum (no upper bound and no curvature)
};

struct Status {
  Outcome outcome = Outcome::running;
  double violation = infinity, objective = 0;
  std::int64_t iterations = 0, kernel_rows = 0, kernel_evaluations = 0, cache_hits = 0;
  Index active = 0;
};

template <class Real>
class Decomposition {
 public:
  Decomposition(Dual dual, KernelMatrix<Real> matrix, std::unique_ptr<Rule<Real>> rule,
                double tolerance, bool shrink)
      : dual_(std::move(dual)),
        matrix_(std::move(matrix)),
        rule_(std::move(rule)),
        tolerance_(tolerance),
        period_(std::min<std::int64_t>(dual_.size(), 1000)),
        until_shrink_(period_),
        bounded_(dual_.is_bounded()) {
    if (shrink) shrinking_ = std::make_unique<Shrinking<Real>>(dual_);
  }

  Status run(std::int64_t max_iterations, double max_seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    if (!started_) start();
    for (; max_iterations > 0 && status_.outcome == Outcome::running; --max_iterations) {
      iterate();
      if (Clock::now() >= end) break;
    }
    return status();
  }

  // Takes all variables back, so that gradient and violation are those of the whole problem.
  Status finish() {
    if (!started_) start();
    if (shrinking_) shrinking_->unshrink(dual_, matrix_);
    status_.violation = std::max(most_violating_pair(dual_).violation, 0.0);
    status_.objective = dual_.objective();
    return status();
  }

  Status status() {
    status_.active = dual_.active;
    status_.kernel_rows = matrix_.rows_computed;
    status_.kernel_evaluations = matrix_.evaluations;
    status_.cache_hits = matrix_.hits;
    return status_;
  }

  const Dual& dual() const { return dual_; }
  const Order& order() const { return matrix_.order(); }

 private:
  void start() {
    std::vector<Index> positions;
    std::vector<double> coefficients;
    for (Index k = 0; k < dual_.size(); ++k)
      if (const double beta = dual_.total_beta(k); beta != 0)
        positions.push_back(k), coefficients.push_back(beta);
    matrix_.accumulate(positions, coefficients, 0, dual_.size(), dual_.gradient.data());
    if (shrinking_) shrinking_->start(dual_, matrix_);
    status_.objective = dual_.objective();
    started_ = true;
  }

  void iterate() {
    if (shrinking_ && --until_shrink_ <= 0) {
      until_shrink_ = period_;
      shrinking_->shrink(dual_, matrix_);
    }
    Pair pair = rule_->select(dual_, matrix_);
    if (pair.violation <= tolerance_ && dual_.active < dual_.size()) {
      shrinking_->unshrink(dual_, matrix_);
      until_shrink_ = 1;
      pair = rule_->select(dual_, matrix_);
    }
    status_.violation = pair.violation;
    if (pair.violation <= tolerance_) {
      status_.outcome = Outcome::optimal;
      return;
    }
    if (shrinking_ && !near_optimum_ && pair.violation <= 10 * tolerance_) {
      near_optimum_ = true;
      if (dual_.active < dual_.size()) {
        shrinking_->unshrink(dual_, matrix_);
        shrinking_->shrink(dual_, matrix_);
        return;
      }
    }
    step(pair);
  }

  void step(const Pair& pair) {
    const Index i = pair.up.position, j = pair.down.position;
    const Real* up_row = matrix_.row(i, dual_.active);
    const Real* down_row = matrix_.row(j, dual_.active);
    const double* diagonal = matrix_.diagonal();
    const double curvature = diagonal[i] + diagonal[j] - 2 * static_cast<double>(up_row[j]);
    const double up_share = dual_.parts[pair.up.part].bounded(i);
    const double down_share = dual_.parts[pair.down.part].bounded(j);

    const StepTaken taken = take_step(dual_, pair, curvature);
    if (taken.up_change == 0 && taken.down_change == 0) {
      stuck();
      return;
    }
    if (!(taken.gain < infinity)) {
      status_.outcome = Outcome::unbounded;
      return;
    }
    double* gradient = dual_.gradient.data();
    const double a = taken.up_change, b = taken.down_change;
    for (Index k = 0; k < dual_.active; ++k) gradient[k] += a * up_row[k] + b * down_row[k];
    if (shrinking_) {
      shrinking_->update(dual_, matrix_, pair.up, dual_.parts[pair.up.part].bounded(i) - up_share);
      shrinking_->update(dual_, matrix_, pair.down,
                         dual_.parts[pair.down.part].bounded(j) - down_share);
    }
    status_.objective -= taken.gain;
    ++status_.iterations;
    watch_progress(pair.violation);
  }

  // Rounding leaves the active variables where they are. If some were shrunk, the rest of the work
  // is done with all of them.
  void stuck() {
    if (dual_.active == dual_.size()) {
      status_.outcome = Outcome::no_progress;
      return;
    }
    shrinking_->unshrink(dual_, matrix_);
    until_shrink_ = std::numeric_limits<std::int64_t>::max();
    last_progress_ = status_.iterations;
  }

  // The last resort against endless rounding: a long window in which neither the smallest violation
  // nor the objective moved. Where variables have no bound the objective may fall for ever, so only
  // the violation counts.
  void watch_progress(double violation) {
    const bool lower = status_.objective < best_objective_ - 1e-9 * std::abs(best_objective_);
    if (violation < 0.99 * best_violation_ || (lower && bounded_)) {
      best_violation_ = std::min(best_violation_, violation);
      best_objective_ = status_.objective;
      last_progress_ = status_.iterations;
    } else if (status_.iterations - last_progress_ >
               std::max<std::int64_t>(1'000'000, std::int64_t{1000} * dual_.size())) {
      stuck();
    }
  }

  Dual dual_;
  KernelMatrix<Real> matrix_;
  std::unique_ptr<Rule<Real>> rule_;
  std::unique_ptr<Shrinking<Real>> shrinking_;
  const double tolerance_;
  const std::int64_t period_;
  std::int64_t until_shrink_, last_progress_ = 0;
  double best_violation_ = infinity, best_objective_ = infinity;
  const bool bounded_;
  bool started_ = false, near_optimum_ = false;
  Status status_;
};

}  // namespace softmargin
