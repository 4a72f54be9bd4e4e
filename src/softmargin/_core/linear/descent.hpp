// Block coordinate descent on the dual of a linear multi-class machine, one example a block:
// Algorithm 1 of Wang and Scott, 2021, for the three machines of subproblem.hpp.
//
//   minimise 1/2 |W|^2 + sum_i C_i loss(W'x_i, y_i)
//
// Given: rows x_i, their classes, their C_i, and a sub-problem solver. A visit computes the scores
// of an example, solves for its whole block, and moves W. Kept: W and the non-zero dual variables.
//
// The duality gap is a sum over examples, C_i loss_i - sum_c beta_ic e_ic, whose terms are never
// negative; so it is added up on the way, each term as of the example's last visit, and a complete
// check of all examples and classes is made only when that sum says it is worth it.
// run() continues where it stopped; slices of any length give the same steps.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "block.hpp"
#include "rows.hpp"
#include "shuffle.hpp"
#include "step.hpp"

namespace softmargin::linear {

struct LinearStatus {
  bool optimal = false, stuck = false;
  double primal = 0, dual = 0, gap = 0, violation = 0;  // of the last complete check
  double estimated_gap = 0;                             // relative, as added up during the pass
  std::int64_t passes = 0, visits = 0, narrow_visits = 0, checks = 0, entries = 0;
  std::int64_t active = 0;  // examples that the next pass visits
  bool checked = false;     // whether the last complete check was of where the descent stands
  double relative_gap() const { return primal > 0 ? gap / primal : 0; }
};

template <class Real>
class Descent {
 public:
  // labels: -1 for a class that has no weights of its own (two classes, one-vs-rest).
  Descent(const RowReader& rows, const std::int32_t* labels, const double* upper,
          std::int32_t classes, std::unique_ptr<Subproblem> subproblem, double tolerance,
          bool shrinking, std::uint64_t seed)
      : rows_(rows),
        step_(rows, classes, std::move(subproblem)),
        tolerance_(tolerance),
        shrinking_(shrinking),
        random_(seed),
        examples_(rows.count) {
    Row row;
    double entries = 0;
    for (std::int32_t i = 0; i < rows.count; ++i) {
      Example& x = examples_[i];
      x.label = labels[i];
      x.upper = upper[i];
      rows_.read(i, row);
      for (std::size_t e = 0; e < row.size; ++e) x.squared_norm += row.value[e] * row.value[e];
      entries += static_cast<double>(row.size);
      if (!std::isfinite(x.squared_norm))
        throw std::invalid_argument(
            "X holds values so large that the squared norm of a row overflows; scale the data");
      if (x.upper <= 0) continue;
      if (x.squared_norm > 0)
        order_.push_back(i);
      else
        constant_ += x.upper * step_.subproblem().constant_loss(classes);
    }
    status_.dual = constant_;
    position_ = order_.size();
    const double visit = std::max(entries * classes / std::max(rows.count, 1), 1.0);
    visits_per_look_ = static_cast<int>(std::clamp(1e6 / visit, 1.0, 32.0));
  }

  LinearStatus run(std::int64_t max_passes, double max_seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    const auto out_of_time = [&] { return Clock::now() >= end; };
    for (std::int64_t last = status_.passes + max_passes; !status_.optimal && !status_.stuck;) {
      if (checking_) {
        if (advance_check(out_of_time)) conclude();
      } else {
        if (status_.passes >= last) break;
        if (position_ == order_.size()) begin_pass();
        if (advance_pass(out_of_time)) end_pass();
      }
      if (out_of_time()) break;
    }
    return status();
  }

  // A complete check of where the descent stands now, if the last one is out of date. Continues
  // where it stopped; the status tells whether it is complete.
  LinearStatus finish(double max_seconds) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto out_of_time = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count() >= max_seconds;
    };
    if (!checked_) {
      if (!checking_) begin_check();
      if (advance_check(out_of_time)) conclude();
    }
    return status();
  }

  // Starts from these variables, block by block; W follows from them.
  void start_from(const std::int64_t* starts, const std::int32_t* cls, const double* beta) {
    double total = 0;
    for (const std::int32_t i : order_) {
      Example& x = examples_[i];
      x.block.clear();
      for (std::int64_t e = starts[i]; e < starts[i + 1]; ++e) {
        if (beta[e] <= 0) continue;
        x.block.push_back({beta[e], cls[e]});
        total += beta[e];
      }
      if (!x.block.empty()) step_.add_block(i, x);
    }
    status_.dual = constant_ + total - weights().squared_norm() / 2;
    begin_check();
  }

  Weights<Real>& weights() { return step_.weights(); }
  const std::vector<Example>& examples() const { return examples_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  LinearStatus status() {
    status_.entries = status_.active = 0;
    for (const Example& x : examples_) status_.entries += static_cast<std::int64_t>(x.block.size());
    for (const std::int32_t i : order_) status_.active += !examples_[i].rest.will_rest();
    status_.checked = checked_;
    return status_;
  }

  // --- a pass -------------------------------------------------------------------------------

  void begin_pass() {
    shuffle(order_, random_);
    position_ = 0;
    shortcuts_ = 0;
    movement_ = 0;
    checked_ = false;
  }

  template <class OutOfTime>
  bool advance_pass(OutOfTime out_of_time) {
    while (position_ < order_.size()) {
      for (int n = 0; n < visits_per_look_ && position_ < order_.size(); ++n) {
        expect(position_);
        visit(order_[position_++]);
      }
      if (position_ < order_.size() && out_of_time()) return false;
    }
    return true;
  }

  // The order is random, so the memory of the next visits is asked for ahead of time.
  void expect(std::size_t position) const {
    if (position + 8 < order_.size()) prefetch(&examples_[order_[position + 8]]);
    if (position + 3 >= order_.size()) return;
    const std::int32_t i = order_[position + 3];
    if (examples_[i].rest.will_rest()) return;
    prefetch(examples_[i].block.data());
    rows_.expect(i);
  }

  void end_pass() {
    ++status_.passes;
    double gap = 0;
    for (const std::int32_t i : order_) gap += examples_[i].gap;
    status_.estimated_gap = gap > 0 ? gap / (status_.dual + gap) : 0;
    negligible_ = 0.2 * gap / static_cast<double>(order_.size());
    if (std::is_same_v<Real, float> && !improving()) {
      status_.stuck = true;
      return;
    }
    if (status_.estimated_gap <= tolerance_ * trigger_ || (exhausted() && shortcuts_ == 0))
      begin_check();
    else if (exhausted())
      for (const std::int32_t i : order_) examples_[i].rest = {};
  }

  // Weights in float32 cannot follow small steps: the gap then stays where it is.
  bool improving() {
    constexpr std::int64_t patience = 30;  // passes
    if (status_.estimated_gap < 0.999 * best_gap_) {
      best_gap_ = status_.estimated_gap;
      best_pass_ = status_.passes;
    }
    return status_.passes <= best_pass_ + patience;
  }

  // Whether rounding is all that is left: changes of 1e-15 of the variables' size, whose squares
  // are summed up here.
  bool exhausted() const { return movement_ <= 1e-30 * std::abs(status_.dual); }

  // Early on, W moves fast and nothing is settled for long.
  int longest_rest() const {
    constexpr std::int64_t share = 6;  // of the passes so far
    return static_cast<int>(std::clamp<std::int64_t>(status_.passes / share, 1, Rest::longest));
  }

  void visit(std::int32_t i) {
    Example& x = examples_[i];
    if (x.rest.resting()) {
      ++shortcuts_;
      return;
    }
    const bool narrow = x.rest.narrow();
    ++status_.visits;
    status_.narrow_visits += narrow;
    shortcuts_ += narrow;
    Step step;
    x.gap = 0;
    if (!narrow || !x.block.empty()) {
      step_.look(i, x, narrow);
      x.gap = step_.gap(x);
      step = step_.solve(x);
    }
    status_.dual += step.gain;
    movement_ += step.movement;
    // Single entries of W cost more than those of a contiguous row.
    const bool few = 16 * (x.block.size() + 1) < static_cast<std::size_t>(weights().classes());
    if (shrinking_)
      x.rest.visited(step.changed && x.gap > negligible_, step.entered, few, longest_rest());
  }

  // --- the complete check -------------------------------------------------------------------

  void begin_check() {
    checking_ = true;
    check_position_ = 0;
    losses_ = worst_ = 0;
  }

  template <class OutOfTime>
  bool advance_check(OutOfTime out_of_time) {
    while (check_position_ < order_.size()) {
      for (int n = 0; n < visits_per_look_ && check_position_ < order_.size(); ++n) {
        const std::int32_t i = order_[check_position_++];
        Example& x = examples_[i];
        step_.look(i, x, false);
        x.gap = step_.gap(x);
        losses_ += x.upper * step_.loss();
        worst_ = std::max(worst_, step_.violation(x));
      }
      if (check_position_ < order_.size() && out_of_time()) return false;
    }
    return true;
  }

  void conclude() {
    checking_ = false;
    checked_ = true;
    ++status_.checks;
    status_.gap = 0;
    for (const std::int32_t i : order_) status_.gap += examples_[i].gap;
    status_.primal = weights().squared_norm() / 2 + losses_ + constant_;
    status_.dual = status_.primal - status_.gap;
    status_.violation = worst_;
    const double found = status_.relative_gap();
    status_.optimal = found <= tolerance_;
    if (status_.optimal) return;
    status_.stuck = status_.passes > 0 && shortcuts_ == 0 && exhausted();
    if (status_.passes > 0)  // else this was the check of a start, and there is no estimate yet
      trigger_ = found > 0 ? std::clamp(0.9 * status_.estimated_gap / found, 0.1, 1.0) : 1.0;
    const double share = tolerance_ * status_.primal / static_cast<double>(order_.size());
    for (const std::int32_t i : order_)
      if (examples_[i].gap > share / 2) examples_[i].rest = {};
  }

  const RowReader& rows_;
  BlockStep<Real> step_;
  double tolerance_, constant_ = 0;  // constant_: what rows of zeros add to both objectives
  bool shrinking_;
  int visits_per_look_;  // at the clock
  Random random_;
  std::vector<Example> examples_;
  std::vector<std::int32_t> order_;
  std::size_t position_ = 0, check_position_ = 0;
  std::int64_t shortcuts_ = 0;  // rests and narrow visits in this pass
  double movement_ = 0;         // of the variables in this pass
  double negligible_ = 0;       // gap of an example, beside what the last pass found on average
  bool checking_ = false, checked_ = false;
  double losses_ = 0, worst_ = 0, trigger_ = 1;
  double best_gap_ = infinity;
  std::int64_t best_pass_ = 0;
  LinearStatus status_;
};

}  // namespace softmargin::linear
