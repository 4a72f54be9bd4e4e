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
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "any_descent.hpp"
#include "block.hpp"
#include "extrapolation.hpp"
#include "rows.hpp"
#include "shuffle.hpp"
#include "step.hpp"
#include "turns.hpp"

namespace softmargin::linear {

template <class Real, class Machine>
class Descent final : public AnyDescent<Real> {
 public:
  // labels: -1 for a class that has no weights of its own (one-vs-rest).
  Descent(const RowReader& rows, const std::int32_t* labels, const double* upper,
          std::int32_t classes, double tolerance, bool shrinking, bool extrapolation,
          std::uint64_t seed)
      : rows_(rows),
        step_(rows, classes),
        classes_(classes),
        tolerance_(tolerance),
        shrinking_(shrinking),
        random_(seed),
        examples_(rows.count) {
    if (extrapolation) extrapolation_.emplace(rows, classes);
    Row row;
    double entries = 0;
    for (std::int32_t i = 0; i < rows.count; ++i) {
      Example& x = examples_[i];
      x.label = labels[i];
      if (x.label < (Machine::coupled ? 0 : -1) || x.label >= classes)
        throw std::invalid_argument("a label is not the number of a class");
      x.upper = upper[i];
      if (x.upper <= 0) continue;  // as if it were not there
      rows_.read(i, row);
      for (std::size_t e = 0; e < row.size; ++e) x.squared_norm += row.value[e] * row.value[e];
      entries += static_cast<double>(row.size);
      if (!std::isfinite(x.squared_norm))
        throw std::invalid_argument(
            "X or intercept_scaling is so large that a row's squared norm overflows; scale the "
            "data");
      if (x.squared_norm > 0)
        order_.push_back(i);
      else
        constant_ += x.upper * Machine::constant_loss(classes);
    }
    status_.dual = constant_;
    for (const std::int32_t i : order_) turns_.add(i);
    const double visit = std::max(entries * classes / std::max(rows.count, 1), 1.0);
    visits_per_look_ = static_cast<int>(std::clamp(1e6 / visit, 1.0, 32.0));
  }

  LinearStatus run(std::int64_t max_passes, double max_seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    const auto out_of_time = [&] { return Clock::now() >= end; };
    for (std::int64_t last = status_.passes + max_passes; !status_.optimal && !status_.stuck;) {
      if (checking_) {
        if (advance_check(out_of_time)) conclude();
      } else {
        if (status_.passes >= last) break;
        if (!turns_.passing() && !begin_pass(out_of_time)) break;
        if (advance_pass(out_of_time)) end_pass();
      }
      if (out_of_time()) break;
    }
    return status();
  }

  // A complete check of where the descent stands now, if the last one is out of date. Continues
  // where it stopped; the status tells whether it is complete.
  LinearStatus finish(double max_seconds) override {
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
  void start_from(const std::int64_t* starts, const std::int32_t* cls,
                  const double* beta) override {
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

  Weights<Real>& weights() override { return step_.weights(); }
  const std::vector<Example>& examples() const override { return examples_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  LinearStatus status() {
    status_.entries = static_cast<std::int64_t>(count_entries(examples_));
    status_.active = static_cast<std::int64_t>(order_.size() - turns_.resting());
    status_.checked = checked_;
    return status_;
  }

  // --- a pass -------------------------------------------------------------------------------

  // False if it ran out of time, to be called again.
  template <class OutOfTime>
  bool begin_pass(OutOfTime out_of_time) {
    if (extrapolation_ && extrapolation_->due(status_.passes)) {
      const auto gain = extrapolation_->advance(status_.passes, status_.dual, gap_, examples_,
                                                weights(), out_of_time);
      if (!gain) return false;
      status_.dual += *gain;
    }
    turns_.begin_pass(random_);
    shortcuts_ = static_cast<std::int64_t>(turns_.resting());
    movement_ = 0;
    checked_ = false;
    return true;
  }

  template <class OutOfTime>
  bool advance_pass(OutOfTime out_of_time) {
    while (turns_.more()) {
      for (int n = 0; n < visits_per_look_ && turns_.more(); ++n) {
        expect();
        const std::int32_t i = turns_.next();
        turns_.again(i, visit(i));
      }
      if (turns_.more() && out_of_time()) return false;
    }
    return true;
  }

  // The order is random, so the memory of the next visits is asked for ahead of time.
  void expect() const {
    if (const std::int32_t i = turns_.ahead(8); i >= 0) prefetch(&examples_[i]);
    if (const std::int32_t i = turns_.ahead(3); i >= 0) {
      prefetch(examples_[i].block.data());
      rows_.expect(i);
    }
  }

  void end_pass() {
    ++status_.passes;
    turns_.end_pass();
    if (status_.passes % 64 == 0) add_up_gap();  // against rounding
    const double gap = gap_;
    status_.estimated_gap = gap > 0 ? gap / (status_.dual + gap) : 0;
    negligible_ = 0.2 * gap / static_cast<double>(order_.size());
    if (std::is_same_v<Real, float> && !improving()) {
      status_.stuck = true;
      return;
    }
    if (status_.estimated_gap <= tolerance_ * trigger_ || (exhausted() && shortcuts_ == 0))
      begin_check();
    else if (exhausted())
      turns_.wake([&](std::int32_t i) { return wake(i); });
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

  // Classes that may come into a block in one visit. At first nearly all have a loss, and blocks
  // would take as much room as all scores of all examples; most would be empty again a pass later.
  std::size_t most_entering() const {
    constexpr int first = 64, longest_growth = 25;  // to 2^31
    if (Machine::wants_all || !Machine::coupled) return static_cast<std::size_t>(classes_);
    return static_cast<std::size_t>(first)
           << std::min<std::int64_t>(status_.passes, longest_growth);
  }

  // Returns how many passes the example rests.
  int visit(std::int32_t i) {
    Example& x = examples_[i];
    const bool narrow = x.rest.narrow();
    ++status_.visits;
    status_.narrow_visits += narrow;
    shortcuts_ += narrow;
    gap_ -= x.gap;
    x.gap = 0;
    Step step;
    if (!narrow || !x.block.empty()) {
      step_.look(i, x, narrow);
      x.gap = step_.gap(x);
      if (x.gap > 0) step = step_.solve(x, most_entering());
    }
    gap_ += x.gap;
    status_.dual += step.gain;
    movement_ += step.movement;
    if (!shrinking_) return 0;
    // Single entries of W cost more than those of a contiguous row.
    const bool few = 16 * (x.block.size() + 1) < static_cast<std::size_t>(classes_);
    return x.rest.visited(step.changed && x.gap > negligible_, step.entered, few, longest_rest());
  }

  void add_up_gap() {
    gap_ = 0;
    for (const std::int32_t i : order_) gap_ += examples_[i].gap;
  }

  bool wake(std::int32_t i) {
    examples_[i].rest = {};
    return true;
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
    add_up_gap();
    status_.gap = gap_;
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
    turns_.wake([&](std::int32_t i) { return examples_[i].gap > share / 2 && wake(i); });
  }

  const RowReader& rows_;
  BlockStep<Real, Machine> step_;
  std::optional<Extrapolation<Real, Machine>> extrapolation_;
  const std::int32_t classes_;
  double tolerance_, constant_ = 0;  // constant_: what rows of zeros add to both objectives
  bool shrinking_;
  int visits_per_look_;  // at the clock
  Random random_;
  std::vector<Example> examples_;
  std::vector<std::int32_t> order_;  // the examples that count
  Turns turns_;
  std::size_t check_position_ = 0;
  std::int64_t shortcuts_ = 0;  // rests and narrow visits in this pass
  double movement_ = 0;         // of the variables in this pass
  double gap_ = 0;              // each example's as of its last visit
  double negligible_ = 0;       // gap of an example, beside what the last pass found on average
  bool checking_ = false, checked_ = false;
  double losses_ = 0, worst_ = 0, trigger_ = 1;
  double best_gap_ = infinity;
  std::int64_t best_pass_ = 0;
  LinearStatus status_;
};

}  // namespace softmargin::linear
