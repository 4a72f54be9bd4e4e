// The decomposition method (LIBSVM paper, Algorithm 3.1): select a working set, solve the problem
// on it, update the gradient, until no pair violates the optimality conditions by more than the
// tolerance. Working sets are pairs chosen by a rule, or blocks.
//
// Given: a dual problem with a feasible start and its kernel matrix.
// run() continues where it stopped; slices of any length give the same steps. Whatever a rule
// stops on, a problem counts as solved only when the violation on the full gradient says so.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "block.hpp"
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
  stuck,        // the rule cannot select a pair that moves, though others would
  unbounded     // the objective has no minimum (no upper bound and no curvature)
};

struct Status {
  Outcome outcome = Outcome::running;
  double violation = infinity, objective = 0;
  std::int64_t iterations = 0, kernel_rows = 0, kernel_evaluations = 0, cache_hits = 0;
  std::int64_t rule_stop = -1;  // iterations when the rule's own stopping quantity first fired
  Index active = 0;
};

template <class Real>
class Decomposition {
 public:
  using Matrix = KernelMatrix<Real>;

  // Exactly one of rule and block is given.
  Decomposition(Dual dual, Matrix matrix, std::unique_ptr<Rule<Matrix>> rule,
                std::unique_ptr<Block<Real>> block, double tolerance, bool shrink)
      : dual_(std::move(dual)),
        matrix_(std::move(matrix)),
        rule_(std::move(rule)),
        block_(std::move(block)),
        tolerance_(tolerance),
        period_(std::min<std::int64_t>(dual_.size(), 1000)),
        until_shrink_(period_),
        bounded_(dual_.is_bounded()) {
    // A block works on all rows of its size at a time: reordering them pays only for much less
    // work.
    if (shrink && !(block_ && block_->covers(dual_)))
      shrinking_ = std::make_unique<Shrinking<Real>>(!block_, block_ ? 0.5 : 0.0);
    // A pair, and of each class the previous one, or all of the block.
    matrix_.keep_last(block_ ? block_->size() + 2 : 6);
  }

  Status run(std::int64_t max_iterations, double max_seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    last_ = status_.iterations + max_iterations;
    if (!started_) start();
    while (status_.iterations < last_ && status_.outcome == Outcome::running) {
      iterate();
      if (Clock::now() >= end || matrix_.interruption().stopped()) break;
    }
    return status();
  }

  // Ends the current slice as soon as the variables and their gradient agree; any thread may call
  // it. Unlike a slice's end by time, this can change the steps: a block may be given up.
  void stop() { matrix_.interruption().stop(); }

  // Takes all variables back, so that gradient and violation are those of the whole problem.
  Status finish() {
    if (!started_) start();
    if (shrinking_) shrinking_->unshrink(dual_, matrix_);
    status_.violation = std::max(most_violating(dual_).violation(), 0.0);
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
    shrinking_ ? shrinking_->start(dual_, matrix_) : start_gradient(dual_, matrix_);
    double largest = 0;
    for (double g : dual_.gradient) largest = std::max(largest, std::abs(g));
    dual_.slack = std::min(1e-12 * largest, 0.1 * tolerance_);
    status_.objective = dual_.objective();
    started_ = true;
  }

  void iterate() {
    if (shrinking_ && !all_to_the_end_ && until_shrink_ <= 0) {
      until_shrink_ = period_;
      shrinking_->shrink(dual_, matrix_);
    }
    Selection selection = select();
    if ((selection.stuck || selection.stop <= tolerance_) && !replace(selection)) return;
    status_.violation = selection.violation;
    if (shrinking_ && !block_ && !near_optimum_ && selection.stop <= 10 * tolerance_) {
      near_optimum_ = true;
      if (dual_.active < dual_.size()) {
        shrinking_->unshrink(dual_, matrix_);
        shrinking_->shrink(dual_, matrix_);
        return;
      }
    }
    block_ ? step_block(selection.stop) : step_pair(selection.pair);
    watch_progress();
  }

  // The rule sees nothing left to do. Where the optimality conditions see a step, that of the most
  // violating pair, it takes the place of the selection; else false: no step is taken in this
  // round.
  bool replace(Selection& selection) {
    if (status_.rule_stop < 0) status_.rule_stop = status_.iterations;
    if (selection.stuck && dual_.active < dual_.size()) {
      shrinking_->unshrink(dual_, matrix_);  // a variable that comes back may be a partner
      until_shrink_ = period_;
      return false;
    }
    const Selection worst = check_all();
    status_.violation = worst.violation;
    if (worst.stop <= tolerance_) {
      status_.outcome = Outcome::optimal;
    } else if (selection.stuck) {
      status_.outcome = Outcome::stuck;
    }
    selection = worst;
    return status_.outcome == Outcome::running;
  }

  // The most violating pair, of all variables if the active ones are optimal among themselves.
  Selection check_all() {
    Selection worst = most_violating_pair(dual_);
    if (worst.stop > tolerance_ || dual_.active == dual_.size()) return worst;
    shrinking_->unshrink(dual_, matrix_);
    until_shrink_ = 0;
    return most_violating_pair(dual_);
  }

  Selection select() { return block_ ? most_violating_pair(dual_) : rule_->select(dual_, matrix_); }

  void step_pair(const Pair& pair) {
    const Part &up = dual_.parts[pair.up.part], &down = dual_.parts[pair.down.part];
    const double up_share = up.bounded(pair.up.position);
    const double down_share = down.bounded(pair.down.position);
    const StepTaken taken = pair_step(dual_, matrix_, pair);
    rule_->stepped(pair, dual_, matrix_);
    if (shrinking_) {
      shrinking_->update(dual_, matrix_, pair.up, up.bounded(pair.up.position) - up_share);
      shrinking_->update(dual_, matrix_, pair.down, down.bounded(pair.down.position) - down_share);
    }
    count(1, taken.gain, taken.moved());
  }

  void step_block(double violation) {
    const BlockResult result =
        block_->step(dual_, matrix_, violation, tolerance_, last_ - status_.iterations);
    if (result.given_up) return;
    count(result.iterations, result.gain, result.moved);
  }

  void count(std::int64_t iterations, double gain, bool moved) {
    status_.objective -= gain;
    status_.iterations += iterations;
    until_shrink_ -= iterations;
    if (!moved) {
      no_progress();
    } else if (!(gain < infinity)) {
      status_.outcome = Outcome::unbounded;
    }
  }

  // Rounding leaves the active variables where they are. If some were shrunk, which may violate the
  // optimality conditions by any amount, the rest of the work is done with all of them.
  void no_progress() {
    if (dual_.active == dual_.size()) {
      status_.outcome = Outcome::no_progress;
      return;
    }
    shrinking_->unshrink(dual_, matrix_);
    all_to_the_end_ = true;
    closer_ = lower_ = status_.iterations;
  }

  // The last resort against endless rounding: a long window in which neither the smallest violation
  // nor the objective moved, or a very long one in which the objective did but not the violation.
  // Variables without a bound can lower the objective for ever, so then the violation alone counts.
  void watch_progress() {
    const std::int64_t now = status_.iterations;
    const std::int64_t window =
        std::max<std::int64_t>(1'000'000, std::int64_t{1000} * dual_.size());
    if (status_.violation < 0.99 * best_violation_) {
      best_violation_ = status_.violation;
      closer_ = lower_ = now;
    }
    if (!(status_.objective >= best_objective_ - 1e-9 * std::abs(best_objective_))) {
      best_objective_ = status_.objective;
      lower_ = now;
    }
    if (now - lower_ > window || now - closer_ > (bounded_ ? 50 : 1) * window) no_progress();
  }

  Dual dual_;
  Matrix matrix_;
  std::unique_ptr<Rule<Matrix>> rule_;
  std::unique_ptr<Block<Real>> block_;
  std::unique_ptr<Shrinking<Real>> shrinking_;
  const double tolerance_;
  const std::int64_t period_;
  std::int64_t until_shrink_, last_ = 0;  // last_: the slice ends at so many iterations
  std::int64_t closer_ = 0, lower_ = 0;   // when the violation and the objective last improved
  double best_violation_ = infinity, best_objective_ = infinity;
  const bool bounded_;
  bool started_ = false, near_optimum_ = false, all_to_the_end_ = false;
  Status status_;
};

}  // namespace softmargin
