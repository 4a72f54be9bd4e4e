// The decomposition method (LIBSVM paper, Algorithm 3.1): select a working set, solve the problem
// on it, update the gradient, until no pair violates the optimality conditions by more than the
// tolerance.
//
// Given: a dual problem with a feasible start, its kernel matrix and a kind of working set.
// run() continues where it stopped; slices of any length give the same steps. Whatever quantity a
// working set's rule stops on, a problem counts as solved only when the violation on the full
// gradient is at most the tolerance and the relative duality gap is at most the gap tolerance; as
// long as the gap is larger, the tolerance on the violation is lowered.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "dual.hpp"
#include "feasible.hpp"
#include "gap.hpp"
#include "kernel_matrix.hpp"
#include "progress.hpp"
#include "selection/most_violating_pair.hpp"
#include "shrinking.hpp"
#include "working_set/working_set.hpp"

namespace softmargin {

enum class Outcome {
  running,      // the slice is over
  optimal,      // violation and gap on the full gradient are below their tolerances
  no_progress,  // rounding leaves no step that changes anything
  stuck,        // the rule cannot select a pair that moves, though others would
  unbounded,    // the objective has no minimum (no upper bound and no curvature)
  imprecise     // rounding of kernel values alone would exceed the limit given for it
};

// The state of a solver after a slice.
struct SolverState {
  Outcome outcome = Outcome::running;
  double violation = infinity, objective = 0;
  std::int64_t iterations = 0, kernel_rows = 0, kernel_evaluations = 0, cache_hits = 0;
  std::int64_t rule_stop = -1;  // iterations when the rule's own stopping quantity first fired
  double tolerance = 0;         // on the violation; lowered if the gap is too large
  std::int64_t to_rebuild = 0;  // kernel values that finish() will need
  Index active = 0;
};

template <class Real>
class Decomposition {
 public:
  using Matrix = KernelMatrix<Real>;

  // `gap_tolerance` limits the relative duality gap; if it is infinite, only the violation counts.
  // The solver ends as soon as it estimates that rounding of kernel values changes the gradient by
  // more than `most_rounding`.
  Decomposition(Dual dual, Matrix matrix, std::unique_ptr<WorkingSet<Real>> working_set,
                double tolerance, double gap_tolerance, double most_rounding = infinity)
      : dual_(std::move(dual)),
        matrix_(std::move(matrix)),
        working_set_(std::move(working_set)),
        shrinking_(working_set_->shrinking()),
        tolerance_(tolerance),
        gap_tolerance_(dual_.is_bounded() ? gap_tolerance : infinity),
        most_rounding_(most_rounding),
        period_(std::min<std::int64_t>(dual_.size(), 1000)),
        until_shrink_(period_),
        progress_(dual_.size(), dual_.is_bounded()) {
    matrix_.keep_last(working_set_->rows_in_use());
  }

  // Sets the gradient of the starting point, if the caller knows it.
  void start_from(std::vector<double> gradient) {
    dual_.gradient = std::move(gradient);
    gradient_known_ = true;
  }

  // Begins another problem on the same examples, after finish(). It differs from the first problem
  // only in the bounds and the sums of the variables, which `other` gives (by example). It starts
  // near the solution of the first problem, whose kernel rows are in the cache. It counts as solved
  // when its violation is at most `tolerance`, whatever its gap.
  void restart(const std::vector<Part>& other, double tolerance) {
    if (first_beta_.empty()) remember();
    move_within(other);
    update_gradient();
    state_ = {};
    state_.objective = dual_.objective();
    tolerance_ = tolerance;
    gap_tolerance_ = most_rounding_ = infinity;
    until_shrink_ = period_;
    progress_ = Progress(dual_.size(), dual_.is_bounded());
    near_optimum_ = all_to_the_end_ = false;
  }

  SolverState run(std::int64_t max_iterations, double max_seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    last_ = state_.iterations + max_iterations;
    if (!started_) start();
    while (state_.iterations < last_ && state_.outcome == Outcome::running) {
      iterate();
      if (Clock::now() >= end || matrix_.interruption().stopped()) break;
    }
    matrix_.leave_headroom();
    return state();
  }

  // Ends the current slice as soon as variables and gradient are consistent; any thread may call
  // it. Unlike the normal end of a slice, this can change the sequence of steps: a block that
  // is being solved may be abandoned.
  void stop() { matrix_.interruption().stop(); }

  // Makes all variables active again, so that gradient and violation are those of the whole
  // problem.
  SolverState finish() {
    if (!started_) start();
    if (shrinking_) shrinking_->unshrink(dual_, matrix_);
    state_.violation = std::max(most_violating(dual_).violation(), 0.0);
    state_.objective = dual_.objective();
    matrix_.leave_headroom();
    return state();
  }

  SolverState state() {
    state_.active = dual_.active;
    state_.to_rebuild =
        dual_.active < dual_.size() ? shrinking_->values_to_rebuild(dual_, matrix_) : 0;
    state_.tolerance = tolerance_;
    state_.kernel_rows = matrix_.rows_computed;
    state_.kernel_evaluations = matrix_.evaluations;
    state_.cache_hits = matrix_.hits;
    return state_;
  }

  const Dual& dual() const { return dual_; }
  const Order& order() const { return matrix_.order(); }

 private:
  // Stores the solution of the first problem and its gradient.
  void remember() {
    const std::size_t size = dual_.p.size();
    first_gradient_.resize(size);
    first_beta_.assign(dual_.parts.size(), std::vector<double>(size));
    for (Index k = 0; k < dual_.size(); ++k) {
      const Index example = order().example_at[k];
      first_gradient_[example] = dual_.gradient[k];
      for (std::size_t s = 0; s < dual_.parts.size(); ++s)
        first_beta_[s][example] = dual_.parts[s].beta[k];
    }
  }

  // Clips the solution of the first problem to the bounds of `other`, and then gives it the sums of
  // `other`.
  void move_within(const std::vector<Part>& other) {
    std::vector<double> sums;
    for (std::size_t s = 0; s < dual_.parts.size(); ++s) {
      Part& part = dual_.parts[s];
      const Part& given = other[s];
      for (Index k = 0; k < dual_.size(); ++k) {
        const Index example = order().example_at[k];
        part.lower[k] = given.lower[example], part.upper[k] = given.upper[example];
        part.set(k, std::clamp(first_beta_[s][example], part.lower[k], part.upper[k]));
      }
      sums.push_back(std::accumulate(given.beta.begin(), given.beta.end(), 0.0));
    }
    give_sums(dual_, sums);
  }

  // Computes the gradient, from that of the first problem's solution and the variables that differ
  // from this solution.
  void update_gradient() {
    std::vector<Index> moved;
    std::vector<double> changes;
    for (Index k = 0; k < dual_.size(); ++k) {
      const Index example = order().example_at[k];
      double change = dual_.total_beta(k);
      for (const std::vector<double>& beta : first_beta_) change -= beta[example];
      if (change != 0) moved.push_back(k), changes.push_back(change);
      dual_.gradient[k] = first_gradient_[example];
    }
    working_set_->update(dual_, matrix_, moved, changes);
  }

  void start() {
    if (!gradient_known_)
      shrinking_ ? shrinking_->start(dual_, matrix_) : start_gradient(dual_, matrix_);
    double largest = 0;
    for (double g : dual_.gradient) largest = std::max(largest, std::abs(g));
    dual_.slack = std::min(1e-12 * largest, 0.1 * tolerance_);
    state_.objective = dual_.objective();
    if (largest_rounding() <= most_rounding_) most_rounding_ = infinity;
    started_ = true;
  }

  void iterate() {
    if (is_imprecise()) {
      state_.outcome = Outcome::imprecise;
      return;
    }
    if (shrinking_ && !all_to_the_end_ && until_shrink_ <= 0) {
      until_shrink_ = period_;
      shrinking_->shrink(dual_, matrix_);
    }
    Selection selection = working_set_->select(dual_, matrix_);
    if ((selection.stuck || selection.stop <= tolerance_) && !replace(selection)) return;
    state_.violation = selection.violation;
    if (shrink_again(selection)) return;
    const std::int64_t next = most_rounding_ < infinity ? std::min(last_, next_look_) : last_;
    const Limits limits{tolerance_, next - state_.iterations};
    count(working_set_->step(dual_, matrix_, selection, limits));
    if (progress_.has_stalled(state_.iterations, state_.violation, state_.objective)) no_progress();
  }

  // Estimates the rounding only a few times in a fit.
  bool is_imprecise() {
    if (most_rounding_ == infinity || state_.iterations < next_look_) return false;
    next_look_ *= 4;
    return present_rounding() > most_rounding_;
  }

  // An estimate of the error in the gradient from rounded kernel values, for these variables.
  template <class Beta>
  double rounding(Beta beta) const {
    std::vector<double> by_example(dual_.size());
    for (Index k = 0; k < dual_.size(); ++k) by_example[order().example_at[k]] = beta(k);
    return matrix_.rounding(by_example);
  }

  double present_rounding() const {
    return rounding([&](Index k) { return dual_.total_beta(k); });
  }

  // The same if all variables were at the bound that is farther from zero.
  double largest_rounding() const {
    return rounding([&](Index k) {
      double largest = 0;
      for (const Part& part : dual_.parts)
        largest = std::max({largest, -part.lower[k], part.upper[k]});
      return largest;
    });
  }

  // Once per problem, close to the optimum: makes all variables active again, and shrinks them
  // again by their current gradient.
  bool shrink_again(const Selection& selection) {
    if (!shrinking_ || near_optimum_ || selection.stop > 10 * tolerance_) return false;
    near_optimum_ = true;
    if (!shrinking_->again_near_optimum() || dual_.active == dual_.size()) return false;
    shrinking_->unshrink(dual_, matrix_);
    shrinking_->shrink(dual_, matrix_);
    return true;
  }

  // Called when the rule has nothing left to do. If the most violating pair still violates the
  // optimality conditions by more than the tolerance, it replaces the selection; else returns
  // false, and no step is taken in this round.
  bool replace(Selection& selection) {
    if (state_.rule_stop < 0) state_.rule_stop = state_.iterations;
    if (selection.stuck && dual_.active < dual_.size()) {
      shrinking_->unshrink(dual_, matrix_);  // a variable that comes back may be a partner
      until_shrink_ = period_;
      return false;
    }
    const Selection worst = check_all();
    state_.violation = worst.violation;
    if (worst.stop <= tolerance_ && gap_is_small(worst.stop)) {
      state_.outcome = Outcome::optimal;
    } else if (worst.stop <= tolerance_ && !lower_tolerance(worst.stop)) {
      state_.outcome = Outcome::no_progress;
    } else if (selection.stuck) {
      state_.outcome = Outcome::stuck;
    }
    selection = worst;
    return state_.outcome == Outcome::running;
  }

  // The most violating pair, of all variables if the active ones are optimal among themselves.
  Selection check_all() {
    Selection worst = most_violating_pair(dual_);
    if (worst.stop > tolerance_ || dual_.active == dual_.size()) return worst;
    shrinking_->unshrink(dual_, matrix_);
    until_shrink_ = 0;
    return most_violating_pair(dual_);
  }

  // Called when the violation is at most the tolerance. The gap is compared with the dual
  // objective, which is close to the primal one when the gap is small.
  bool gap_is_small(double violation) {
    if (gap_tolerance_ == infinity || violation <= 0) return true;
    const double objective = std::max(std::abs(dual_.objective()), least_objective());
    const double gap = duality_gap(dual_), allowed = gap_tolerance_ * objective;
    gap_share_ = gap / allowed;
    return gap <= allowed;
  }

  // Lowers the tolerance below the violation because the gap is too large: the two fall about in
  // proportion. False if kernel values are too inexact for that, or if it was lowered too often.
  bool lower_tolerance(double violation) {
    const double next = violation * std::clamp(0.5 / gap_share_, 0.01, 0.5);
    if (next < 0.1 * present_rounding() || lowered_ == most_lowered) return false;
    ++lowered_;
    tolerance_ = next;
    dual_.slack = std::min(dual_.slack, 0.1 * tolerance_);
    near_optimum_ = false;
    progress_.begin_at(state_.iterations);
    return true;
  }

  // Where p is zero (nu-SVC, one-class), the optimum may be zero, and then no gap is small relative
  // to it. The sum of |beta| is fixed there, and the objective is at most 1e7 times the value
  // returned.
  double least_objective() const {
    double sum = 0, diagonal = 0;
    for (Index k = 0; k < dual_.size(); ++k) {
      if (dual_.p[k] != 0) return 0;
      diagonal += matrix_.diagonal()[k];
      for (const Part& part : dual_.parts) sum += std::abs(part.beta[k]);
    }
    return 1e-7 * 0.5 * sum * sum * diagonal / dual_.size();
  }

  void count(const Step& step) {
    if (step.given_up) return;
    state_.objective -= step.gain;
    state_.iterations += step.iterations;
    until_shrink_ -= step.iterations;
    if (!step.moved) {
      no_progress();
    } else if (!(step.gain < infinity)) {
      state_.outcome = Outcome::unbounded;
    }
  }

  // Rounding keeps the active variables from moving. Shrunk variables may still violate the
  // optimality conditions by any amount; if there are any, the solver continues with all variables.
  void no_progress() {
    if (dual_.active == dual_.size()) {
      state_.outcome = Outcome::no_progress;
      return;
    }
    shrinking_->unshrink(dual_, matrix_);
    all_to_the_end_ = true;
    progress_.begin_at(state_.iterations);
  }

  Dual dual_;
  Matrix matrix_;
  std::unique_ptr<WorkingSet<Real>> working_set_;
  Shrinking<Real>* const shrinking_;  // the working set's; null: all variables stay
  double tolerance_;                  // on the violation
  double gap_tolerance_;
  double most_rounding_;  // infinity: no limit to check
  double gap_share_ = 0;  // the gap, relative to the largest allowed
  static constexpr int most_lowered = 10;
  int lowered_ = 0;  // how often the tolerance was lowered
  const std::int64_t period_;
  std::int64_t until_shrink_, last_ = 0;  // last_: the slice ends after this iteration
  std::int64_t next_look_ = 128;          // the iteration of the next estimate of rounding
  Progress progress_;
  bool gradient_known_ = false, started_ = false, near_optimum_ = false, all_to_the_end_ = false;
  SolverState state_;
  std::vector<double> first_gradient_;           // at the solution of the first problem, by example
  std::vector<std::vector<double>> first_beta_;  // the same for beta, for each part
};

}  // namespace softmargin
