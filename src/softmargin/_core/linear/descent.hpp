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

#include "rests.hpp"
#include "rows.hpp"
#include "shuffle.hpp"
#include "subproblem.hpp"
#include "weights.hpp"

namespace softmargin {

struct LinearStatus {
  bool optimal = false, stuck = false;
  double primal = 0, dual = 0, gap = 0, violation = 0;  // of the last complete check
  double estimated_gap = 0;                             // relative, as added up during the pass
  std::int64_t passes = 0, visits = 0, narrow_visits = 0, checks = 0, entries = 0;
  double relative_gap() const { return primal > 0 ? gap / primal : 0; }
};

// What the descent keeps about one example, together in memory because a visit needs all of it.
struct Example {
  double squared_norm = 0, upper = 0;  // |x|^2 and C_i
  double gap = 0;                      // its share of the duality gap, as of its last visit
  std::int32_t label = 0;
  Rest rest;
  ExampleBlock block;
};

template <class Real>
class Descent {
 public:
  // labels: -1 for a class that has no weights of its own (two classes, one-vs-rest).
  Descent(const RowReader& rows, const std::int32_t* labels, const double* upper,
          std::int32_t classes, std::unique_ptr<Subproblem> subproblem, double tolerance,
          bool shrinking, std::uint64_t seed)
      : rows_(rows),
        subproblem_(std::move(subproblem)),
        coupled_(subproblem_->coupled()),
        wants_all_(subproblem_->wants_all()),
        tolerance_(tolerance),
        shrinking_(shrinking),
        random_(seed),
        weights_(rows.features, classes),
        examples_(rows.count),
        score_(classes),
        found_(classes + 1),
        set_(classes) {
    for (std::int32_t i = 0; i < rows.count; ++i) {
      Example& x = examples_[i];
      x.label = labels[i];
      x.upper = upper[i];
      rows_.read(i, row_);
      for (std::size_t e = 0; e < row_.size; ++e) x.squared_norm += row_.value[e] * row_.value[e];
      if (!std::isfinite(x.squared_norm))
        throw std::invalid_argument(
            "X holds values so large that the squared norm of a row overflows; scale the data");
      if (x.upper <= 0) continue;
      if (x.squared_norm > 0)
        order_.push_back(i);
      else
        constant_ += x.upper * subproblem_->constant_loss(classes);
    }
    status_.dual = constant_;
    position_ = order_.size();
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

  // A complete check of where the descent stands now, if the last one is out of date.
  LinearStatus finish() {
    if (!checked_) {
      if (!checking_) begin_check();
      advance_check([] { return false; });
      conclude();
    }
    return status();
  }

  // Starts from these variables, block by block; W follows from them.
  void start_from(const std::int64_t* starts, const std::int32_t* cls, const double* beta) {
    double total = 0;
    for (const std::int32_t i : order_) {
      Example& x = examples_[i];
      set_.size = 0;
      change_.clear();
      x.block.clear();
      for (std::int64_t e = starts[i]; e < starts[i + 1]; ++e) {
        if (beta[e] <= 0) continue;
        set_.add(cls[e], 0, 0);
        change_.push_back(beta[e]);
        x.block.push_back({beta[e], cls[e]});
        total += beta[e];
      }
      if (x.block.empty()) continue;
      rows_.read(i, row_);
      move_weights(x.label);
    }
    status_.dual = constant_ + total - weights_.squared_norm() / 2;
    begin_check();
  }

  Weights<Real>& weights() { return weights_; }
  const std::vector<Example>& examples() const { return examples_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  LinearStatus status() {
    status_.entries = 0;
    for (const Example& x : examples_) status_.entries += static_cast<std::int64_t>(x.block.size());
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
      for (int n = 0; n < 32 && position_ < order_.size(); ++n) {
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
    bool changed = false, entered = false;
    if (!narrow || !x.block.empty()) {
      rows_.read(i, row_);
      const double offset = narrow ? gather_narrow(x) : gather(x);
      x.gap = gap(x);
      const std::size_t before = x.block.size();
      if (subproblem_->violation(set_, x.upper) > 0) {
        const double G = prepare(x, offset, narrow);
        subproblem_->solve(set_, x.squared_norm * x.upper, G);
        changed = take_step(x);
        for (std::size_t j = before; j < set_.size; ++j) entered |= set_.b[j] > 0;
      }
      if (changed) keep_block(x.block);
    } else {
      x.gap = 0;
    }
    // Single entries of W cost more than those of a contiguous row.
    const bool few = 16 * (x.block.size() + 1) < static_cast<std::size_t>(weights_.classes());
    if (shrinking_) x.rest.visited(changed, entered, few);
  }

  // Errors of the block's own entries, then of the classes with loss. Returns what was added to the
  // scores to make errors of them.
  double gather(const Example& x) {
    weights_.scores(row_, score_.data());
    const std::int32_t y = x.label;
    const double own = y >= 0 ? score_[y] : 0;
    const double offset = coupled_ ? 1 - own : 1;
    const Real nowhere = -std::numeric_limits<Real>::infinity();
    if (y >= 0) score_[y] = coupled_ ? nowhere : static_cast<Real>(-own);
    set_.size = 0;
    for (const Entry& entry : x.block) {
      set_.add(entry.cls, offset + score_[entry.cls], entry.beta);
      score_[entry.cls] = nowhere;
    }
    add_between(offset, wants_all_ ? -infinity : 0, infinity);
    return offset;
  }

  void add_between(double offset, double low, double high) {
    const std::size_t size =
        between(score_.data(), weights_.classes(), static_cast<Real>(low - offset),
                static_cast<Real>(high - offset), found_.data());
    for (std::size_t j = 0; j < size; ++j) set_.add(found_[j], offset + score_[found_[j]], 0);
  }

  double gather_narrow(const Example& x) {
    const ExampleBlock& block = x.block;
    const std::int32_t y = x.label;
    set_.size = 0;
    for (const Entry& entry : block) set_.add(entry.cls, 0, entry.beta);
    if (coupled_) set_.add(y, 0, 0);
    weights_.scores(row_, set_.cls.data(), set_.size, set_.error.data());
    set_.size = block.size();
    const double offset = coupled_ ? 1 - set_.error[block.size()] : 1;
    for (std::size_t j = 0; j < set_.size; ++j)
      set_.error[j] = offset + (set_.cls[j] == y ? -set_.error[j] : set_.error[j]);
    return offset;
  }

  // Fills in v; brings in the classes without loss that may yet end above zero. Returns G.
  double prepare(const Example& x, double offset, bool narrow) {
    const double q = x.squared_norm, U = q * x.upper;
    double G = 0;
    if (coupled_)
      for (std::size_t j = 0; j < set_.size; ++j) G += q * set_.beta[j];
    fill_v(q, G);
    if (!narrow && !wants_all_) {
      const double room = subproblem_->imbalance(set_, U, G);
      if (room < 0) add_between(offset, room, 0);
      if (room < 0) fill_v(q, G);
    }
    return G;
  }

  void fill_v(double q, double G) {
    for (std::size_t j = 0; j < set_.size; ++j) set_.v[j] = set_.error[j] + q * set_.beta[j] + G;
  }

  double gap(const Example& x) const {
    double used = 0;
    for (std::size_t j = 0; j < set_.size; ++j) used += set_.beta[j] * set_.error[j];
    return std::max(0.0, x.upper * subproblem_->loss(set_) - used);
  }

  // From the answer, in units of scores, to beta and W. Whether anything moved.
  bool take_step(const Example& x) {
    const double q = x.squared_norm, C = x.upper, U = q * C;
    double total = 0, squares = 0, gain = 0;
    bool changed = false;
    change_.resize(set_.size);
    for (std::size_t j = 0; j < set_.size; ++j) {
      const double moved = set_.b[j] >= U ? C : std::min(set_.b[j] / q, C);
      double change = moved - set_.beta[j];
      if (std::abs(change) <= 1e-14 * std::max(moved, set_.beta[j])) change = 0;
      set_.b[j] = set_.beta[j] + change;
      change_[j] = change;
      changed |= change != 0;
      total += change;
      squares += change * change;
      gain += change * set_.error[j];
    }
    if (!changed) return false;
    movement_ += q * squares;
    status_.dual += gain - q / 2 * (squares + (coupled_ ? total * total : 0));
    move_weights(x.label);
    return true;
  }

  // W += row * (change of each class; a class pushes down, the example's own goes up).
  void move_weights(std::int32_t y) {
    double total = 0;
    std::size_t used = 0;
    moved_.clear();
    for (std::size_t j = 0; j < set_.size; ++j) {
      if (change_[j] == 0) continue;
      total += change_[j];
      moved_.push_back(set_.cls[j]);
      change_[used++] = set_.cls[j] == y ? change_[j] : -change_[j];
    }
    change_.resize(used);
    if (coupled_) {
      moved_.push_back(y);
      change_.push_back(total);
    }
    weights_.add_columns(row_, moved_.data(), change_.data(), moved_.size());
  }

  void keep_block(ExampleBlock& block) {
    const auto size = static_cast<std::size_t>(
        std::count_if(&set_.b[0], &set_.b[set_.size], [](double b) { return b > 0; }));
    if (size > block.capacity() || (block.capacity() > 4 && 2 * size < block.capacity())) {
      ExampleBlock exact;  // no more room than twice what is needed
      exact.reserve(size);
      block.swap(exact);
    }
    block.clear();
    for (std::size_t j = 0; j < set_.size; ++j)
      if (set_.b[j] > 0) block.push_back({set_.b[j], set_.cls[j]});
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
      for (int n = 0; n < 32 && check_position_ < order_.size(); ++n) {
        const std::int32_t i = order_[check_position_++];
        Example& x = examples_[i];
        rows_.read(i, row_);
        gather(x);
        x.gap = gap(x);
        losses_ += x.upper * subproblem_->loss(set_);
        worst_ = std::max(worst_, subproblem_->violation(set_, x.upper));
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
    status_.primal = weights_.squared_norm() / 2 + losses_ + constant_;
    status_.dual = status_.primal - status_.gap;
    status_.violation = worst_;
    const double found = status_.relative_gap();
    status_.optimal = found <= tolerance_;
    if (status_.optimal) return;
    status_.stuck = status_.passes > 0 && shortcuts_ == 0 && exhausted();
    trigger_ = found > 0 ? std::clamp(0.9 * status_.estimated_gap / found, 0.1, 1.0) : 1.0;
    const double share = tolerance_ * status_.primal / static_cast<double>(order_.size());
    for (const std::int32_t i : order_)
      if (examples_[i].gap > share / 2) examples_[i].rest = {};
  }

  const RowReader& rows_;
  std::unique_ptr<Subproblem> subproblem_;
  const bool coupled_, wants_all_;
  double tolerance_, constant_ = 0;  // constant_: what rows of zeros add to both objectives
  bool shrinking_;
  Random random_;
  Weights<Real> weights_;
  std::vector<Example> examples_;
  std::vector<std::int32_t> order_;
  std::size_t position_ = 0, check_position_ = 0;
  std::int64_t shortcuts_ = 0;  // rests and narrow visits in this pass
  double movement_ = 0;         // of the variables in this pass
  bool checking_ = false, checked_ = false;
  double losses_ = 0, worst_ = 0, trigger_ = 1;
  double best_gap_ = infinity;
  std::int64_t best_pass_ = 0;
  LinearStatus status_;

  Row row_;  // scratch from here on
  std::vector<Real> score_;
  std::vector<std::int32_t> found_, moved_;
  std::vector<double> change_;
  Candidates set_;
};

}  // namespace softmargin
