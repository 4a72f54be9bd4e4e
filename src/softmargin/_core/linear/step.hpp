// One visit: the scores of an example, the sub-problem of its block, the change of W. Lines 5 to 8
// of Algorithm 1 of Wang and Scott, 2021, on the classes that can matter.
//
// With G the sum of the block as it is (times |x|^2), the sum g of the new block is at least G if
// what the classes with loss and the block's own entries would make of it is; otherwise it is
// smaller than G by at most the difference, and classes that lack so much to have a loss come in as
// well.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "block.hpp"
#include "change.hpp"
#include "rows.hpp"
#include "subproblem.hpp"
#include "weights.hpp"

namespace softmargin::linear {

struct Step {
  bool changed = false, entered = false;  // anything at all; a class whose variable was zero
  double gain = 0, movement = 0;          // of the dual objective; |x|^2 times the squared change
};

template <class Real, class Machine>
class BlockStep {
 public:
  BlockStep(const RowReader& rows, std::int32_t classes)
      : rows_(rows),
        weights_(rows.features, classes),
        score_(classes + room),
        found_(classes + 1),
        set_(classes) {}

  // Looks at example i, row i of the data: all classes, or those of its block. The next three
  // answer for what was seen.
  void look(std::int32_t i, const Example& x, bool narrow) {
    rows_.read(i, row_);
    narrow_ = narrow;
    offset_ = narrow ? gather_narrow(x) : gather(x);
  }
  double loss() const { return Machine::loss(set_); }
  double violation(const Example& x) const { return Machine::violation(set_, x.upper); }
  double gap(const Example& x) const { return std::max(0.0, Machine::gap(set_, x.upper)); }

  // Solves for the block of the example last looked at, which has a gap. At most so many classes
  // come in, those with the largest errors.
  Step solve(Example& x, std::size_t most_entering) {
    const std::size_t before = x.block.size();
    all_seen_ = !narrow_ && set_.size - before <= most_entering;
    if (set_.size - before > most_entering) keep_largest(before, most_entering);
    const double G = prepare(x);
    machine_.solve(set_, x.squared_norm * x.upper, G);
    Step step = take_step(x);
    if (!step.changed) return step;
    for (std::size_t j = before; j < set_.size; ++j) step.entered |= set_.b[j] > 0;
    keep_block(x.block);
    return step;
  }

  // Adds the block of example i, which W does not know of yet.
  void add_block(std::int32_t i, const Example& x) {
    rows_.read(i, row_);
    change_.clear();
    for (const Entry& entry : x.block) change_.add(entry.cls, entry.beta);
    change_.template move<Machine>(weights_, row_, x.label);
  }

  Weights<Real>& weights() { return weights_; }
  const Weights<Real>& weights() const { return weights_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Errors of the block's own entries, then of the classes with loss. Returns what was added to the
  // scores to make errors of them.
  double gather(const Example& x) {
    weights_.scores(row_, score_.data());
    const std::int32_t y = x.label;
    const double own = y >= 0 ? score_[y] : 0;
    const double offset = Machine::coupled ? 1 - own : 1;
    const Real nowhere = -std::numeric_limits<Real>::infinity();
    if (y >= 0) score_[y] = Machine::coupled ? nowhere : static_cast<Real>(-own);
    set_.size = 0;
    for (const Entry& entry : x.block) {
      set_.add(entry.cls, offset + score_[entry.cls], entry.beta);
      score_[entry.cls] = nowhere;
    }
    add_between(offset, Machine::wants_all ? -infinity : 0, infinity);
    return offset;
  }

  void add_between(double offset, double low, double high) {
    const std::size_t size =
        between(score_.data(), weights_.classes(), static_cast<Real>(low - offset),
                static_cast<Real>(high - offset), found_.data());
    for (std::size_t j = 0; j < size; ++j) set_.add(found_[j], offset + score_[found_[j]], 0);
  }

  double gather_narrow(const Example& x) {
    const Block& block = x.block;
    const std::int32_t y = x.label;
    set_.size = 0;
    for (const Entry& entry : block) set_.add(entry.cls, 0, entry.beta);
    if (Machine::coupled) set_.add(y, 0, 0);
    weights_.scores(row_, set_.cls.data(), set_.size, set_.error.data());
    set_.size = block.size();
    const double offset = Machine::coupled ? 1 - set_.error[block.size()] : 1;
    for (std::size_t j = 0; j < set_.size; ++j)
      set_.error[j] = offset + (set_.cls[j] == y ? -set_.error[j] : set_.error[j]);
    return offset;
  }

  // Of the candidates from `start` on, those `count` with the largest errors.
  void keep_largest(std::size_t start, std::size_t count) {
    std::vector<std::pair<double, std::int32_t>> largest;
    for (std::size_t j = start; j < set_.size; ++j)
      largest.emplace_back(-set_.error[j], set_.cls[j]);
    const auto end = largest.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(largest.begin(), end, largest.end());
    set_.size = start;
    std::for_each(largest.begin(), end, [&](const auto& l) { set_.add(l.second, -l.first, 0); });
  }

  // Fills in v; brings in the classes without loss that may yet end above zero. Returns G.
  double prepare(const Example& x) {
    const double q = x.squared_norm, U = q * x.upper;
    double G = 0;
    if (Machine::coupled)
      for (std::size_t j = 0; j < set_.size; ++j) G += q * set_.beta[j];
    fill_v(q, G);
    if (all_seen_ && !Machine::wants_all) {
      const double room = machine_.imbalance(set_, U, G);
      if (room < 0) add_between(offset_, room, 0);
      if (room < 0) fill_v(q, G);
    }
    return G;
  }

  void fill_v(double q, double G) {
    for (std::size_t j = 0; j < set_.size; ++j) set_.v[j] = set_.error[j] + q * set_.beta[j] + G;
  }

  // From the answer, in units of scores, to beta and W.
  Step take_step(const Example& x) {
    constexpr double rounding = 1e-14;
    const double q = x.squared_norm, C = x.upper, U = q * C;
    double squares = 0, gain = 0;
    Step step;
    change_.clear();
    for (std::size_t j = 0; j < set_.size; ++j) {
      // A variable beside its bound goes there however near it is: whatever is below has room left.
      const double moved = set_.b[j] >= (1 - rounding) * U ? C : std::min(set_.b[j] / q, C);
      const double change = moved - set_.beta[j];
      const double least = moved < C ? rounding * std::max(moved, set_.beta[j]) : 0;
      set_.b[j] = set_.beta[j];
      if (std::abs(change) <= least) continue;
      set_.b[j] = moved;
      change_.add(set_.cls[j], change);
      step.changed = true;
      squares += q * change * change;
      gain += change * set_.error[j];
    }
    if (!step.changed) return step;
    const double total = Machine::coupled ? change_.total() : 0;
    step.movement = squares;
    step.gain = gain - (squares + q * total * total) / 2;
    change_.template move<Machine>(weights_, row_, x.label);
    return step;
  }

  // The block's own entries stand first among the candidates, in their order.
  void keep_block(Block& block) {
    const std::size_t before = block.size();
    std::size_t kept = 0;
    for (std::size_t j = 0; j < before; ++j)
      if (set_.b[j] > 0) block[kept++] = {set_.b[j], set_.cls[j]};
    block.resize(kept);
    for (std::size_t j = before; j < set_.size; ++j)
      if (set_.b[j] > 0) block.push_back({set_.b[j], set_.cls[j]});
    if (block.capacity() > 4 && 2 * block.size() < block.capacity()) block.shrink_to_fit();
  }

  const RowReader& rows_;
  Machine machine_;
  Weights<Real> weights_;
  double offset_ = 0;  // what made errors of the scores last looked at
  bool narrow_ = false, all_seen_ = true;

  Row row_;  // scratch from here on
  std::vector<Real> score_;
  std::vector<std::int32_t> found_;
  Change change_;
  Candidates set_;
};

}  // namespace softmargin::linear
