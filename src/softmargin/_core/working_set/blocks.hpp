// Working sets of many variables. A block holds the strongest violators and the most useful
// variables of the last block. Its problem is solved by second-order steps on a kernel matrix that
// stays in the processor's cache; then the gradient is updated with the rows of the variables that
// changed, and rows that are not cached are computed in one batch. Rows that the block's solution
// does not need are never computed in full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "../selection/most_violating_pair.hpp"
#include "active_newton.hpp"
#include "block_rows.hpp"
#include "small_problem.hpp"

namespace softmargin {

template <class Real>
class Blocks final : public WorkingSet<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  // Newton steps are on at most `most_free` variables; 0: none. Rows that were computed are kept if
  // they belong to free variables, which will need them again; or all of them.
  Blocks(Index size, bool shrink, Index most_free, bool keep_rows)
      : size_(std::max<Index>(size, 2)),
        keep_rows_(keep_rows),
        rows_(size_),
        problem_(most_free),
        newton_(most_free, 1) {
    if (shrink) shrinking_.emplace();
  }

  Selection select(const Dual& dual, Matrix&) override { return most_violating_pair(dual); }

  Step step(Dual& dual, Matrix& matrix, const Selection& selection, const Limits& limits) override {
    std::vector<Variable> free;
    if (const NewtonResult taken = newton_.step_if_due(dual, matrix, limits.tolerance, free);
        taken.moved())
      return {.iterations = 1, .gain = taken.gain, .moved = true};
    const std::vector<Index> positions = choose(dual, matrix.order());
    Dual inner = restrict(dual, positions);
    rows_.update(matrix, positions, dual.active);
    const std::int64_t enough = std::max<std::int64_t>(std::int64_t{100} * inner.active, 1000);
    const Limits inner_limits{std::max(0.1 * selection.stop, 0.5 * limits.tolerance),
                              std::min(enough, limits.iterations)};
    problem_.restart();
    const Step step = problem_.solve(inner, rows_.matrix(), inner_limits, matrix.interruption());
    if (matrix.interruption().stopped()) return {.given_up = true};
    const std::size_t changed = write_back(dual, matrix, positions, inner);
    newton_.worked(step.work + 2.0 * static_cast<double>(changed) * dual.active, step.gain);
    return step;
  }

  // Close to a solution it is mostly the free variables that change: a block of their number is
  // enough, and takes less time than a larger one.
  void update(Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
              const std::vector<double>& changes) override {
    constexpr Index least = 64;
    Index free = 0;
    for (Index k = 0; k < dual.size(); ++k) free += any_free(dual, k);
    size_ = std::min(std::max(free, least), rows_.most());
    rows_.clear();
    WorkingSet<Real>::update(dual, matrix, positions, changes);
  }

  Shrinking<Real>* shrinking() override { return shrinking_ ? &*shrinking_ : nullptr; }

  Index rows_in_use() const override { return size_ + 2; }

 private:
  // The positions of the variables of a new block, by slot.
  std::vector<Index> choose(const Dual& dual, const Order& order) {
    std::vector<Index> positions = worth_keeping(dual, order);
    std::vector<char> taken(dual.active, 0);
    Index room = size_;
    for (Index position : positions)
      if (position != nobody) taken[position] = 1, --room;
    rows_.enter(most_violating(dual, room, taken), positions, order);
    return positions;
  }

  // The variables of the last block that stay, by slot: free variables before others, newer ones
  // before older ones. A quarter of the slots, and at least four, become free, so that a violating
  // pair of each group fits in.
  std::vector<Index> worth_keeping(const Dual& dual, const Order& order) const {
    const std::vector<BlockMember>& members = rows_.members();
    const Index count = static_cast<Index>(members.size());
    std::vector<Index> positions(count, nobody), slots(count);
    std::vector<char> free(count, 0);
    for (Index slot = 0; slot < count; ++slot) {
      const Index position = order.position_of[members[slot].example];
      free[slot] = position < dual.active && any_free(dual, position);
    }
    std::iota(slots.begin(), slots.end(), Index(0));
    std::sort(slots.begin(), slots.end(), [&](Index a, Index b) {
      return free[a] != free[b] ? free[a] > free[b] : members[a].entered > members[b].entered;
    });
    Index room = count - std::max<Index>(size_ / 4, 4);
    for (Index slot : slots) {
      const Index position = order.position_of[members[slot].example];
      if (position < dual.active && room-- > 0) positions[slot] = position;
    }
    return positions;
  }

  static bool any_free(const Dual& dual, Index k) {
    return std::any_of(dual.parts.begin(), dual.parts.end(),
                       [k](const Part& part) { return part.is_free(k); });
  }

  // The strongest violators that are not taken yet: in turn the best variable to raise and the best
  // to lower of each group, beginning with the group that violates more.
  std::vector<Index> most_violating(const Dual& dual, Index wanted,
                                    std::vector<char>& taken) const {
    std::vector<Index> positions;
    std::vector<std::vector<Candidate>> queues = violators(dual, taken);
    for (std::vector<Candidate>& queue : queues) {
      // A variable may be in two queues: twice as many as wanted are enough.
      const auto end = queue.begin() + std::min<std::size_t>(queue.size(), 2 * wanted);
      std::nth_element(queue.begin(), end, queue.end());
      std::sort(queue.begin(), end);
      queue.erase(end, queue.end());
    }
    std::vector<std::size_t> next(queues.size(), 0);
    for (bool any = true; wanted > 0 && any;) {
      any = false;
      for (std::size_t q = 0; q < queues.size() && wanted > 0; ++q) {
        while (next[q] < queues[q].size() && taken[queues[q][next[q]].position]) ++next[q];
        if (next[q] == queues[q].size()) continue;
        any = true;
        const Index position = queues[q][next[q]].position;
        taken[position] = 1;
        positions.push_back(position);
        --wanted;
      }
    }
    return positions;
  }

  struct Candidate {
    double rank;  // smaller is more violating
    Index position;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank < other.rank : position > other.position;
    }
  };

  // For each group the variables that could be raised, then those that could be lowered.
  static std::vector<std::vector<Candidate>> violators(const Dual& dual,
                                                       const std::vector<char>& taken) {
    const std::vector<Extremes> groups = extremes_by_group(dual);
    std::vector<std::vector<Candidate>> queues(2 * groups.size());
    for (std::size_t s = 0; s < dual.parts.size(); ++s) {
      const std::size_t g = dual.separate ? s : 0;
      const Part& part = dual.parts[s];
      for (Index k = 0; k < dual.active; ++k) {
        if (taken[k]) continue;
        const double value = dual.value({static_cast<int>(s), k});
        if (value > groups[g].lowest && part.can_rise(k)) queues[2 * g].push_back({-value, k});
        if (value < groups[g].highest && part.can_fall(k)) queues[2 * g + 1].push_back({value, k});
      }
    }
    if (dual.separate && groups[1].violation() > groups[0].violation())
      std::rotate(queues.begin(), queues.begin() + 2, queues.end());
    return queues;
  }

  static Dual restrict(const Dual& dual, const std::vector<Index>& positions) {
    Dual inner;
    inner.separate = dual.separate;
    inner.slack = dual.slack;
    inner.active = static_cast<Index>(positions.size());
    inner.parts.resize(dual.parts.size());
    for (std::size_t s = 0; s < dual.parts.size(); ++s)
      inner.parts[s].offset = dual.parts[s].offset;
    for (Index k : positions) {
      inner.p.push_back(dual.p[k]);
      inner.gradient.push_back(dual.gradient[k]);
      for (std::size_t s = 0; s < dual.parts.size(); ++s) {
        inner.parts[s].beta.push_back(dual.parts[s].beta[k]);
        inner.parts[s].lower.push_back(dual.parts[s].lower[k]);
        inner.parts[s].upper.push_back(dual.parts[s].upper[k]);
        inner.parts[s].rise_gate.push_back(dual.parts[s].rise_gate[k]);
        inner.parts[s].fall_gate.push_back(dual.parts[s].fall_gate[k]);
      }
    }
    return inner;
  }

  // Returns how many rows the gradient was updated with.
  std::size_t write_back(Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
                         const Dual& inner) {
    std::vector<Index> changed;
    std::vector<double> changes;
    std::vector<char> keep;
    for (Index r = 0; r < inner.active; ++r) {
      const Index k = positions[r];
      const double change = inner.total_beta(r) - dual.total_beta(k);
      for (std::size_t s = 0; s < dual.parts.size(); ++s)
        dual.parts[s].set(k, inner.parts[s].beta[r]);
      if (change == 0) continue;
      changed.push_back(k), changes.push_back(change);
      keep.push_back(keep_rows_ || any_free(dual, k));
    }
    matrix.accumulate(changed, changes, 0, dual.active, dual.gradient.data(), keep);
    return changed.size();
  }

  Index size_;
  const bool keep_rows_;
  BlockRows<Real> rows_;
  SmallProblem<Real> problem_;
  ActiveNewton<Real> newton_;
  std::optional<ShrinkingByChanges<Real>> shrinking_;
};

}  // namespace softmargin
