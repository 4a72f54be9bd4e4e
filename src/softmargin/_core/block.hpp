// Working sets of many variables. A block is the strongest violators and what is worth keeping of
// the last block; its problem is solved with second order steps on a kernel matrix that stays in
// the processor's cache; then the gradient is updated with the rows that changed, those missing in
// one batch. Rows that the block's solution does not need are never computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernel_matrix.hpp"
#include "pair_step.hpp"
#include "selection/second_order.hpp"

namespace softmargin {

// The kernel matrix of a block, as rows for rules and steps. A variable has its slot, and keeps it
// from one block to the next: only the rows and columns of newcomers change.
template <class Real>
struct BlockRows {
  std::size_t stride = 0;
  std::vector<Real> values;
  std::vector<double> diagonals;

  explicit BlockRows(Index slots) : stride(slots) {}

  Real* at(Index slot) { return &values[static_cast<std::size_t>(slot) * stride]; }
  const Real* row(Index slot, Index) const {
    return &values[static_cast<std::size_t>(slot) * stride];
  }
  const double* diagonal() const { return diagonals.data(); }

  void move(Index from, Index to, Index slots) {
    std::copy_n(at(from), slots, at(to));
    for (Index r = 0; r < slots; ++r) at(r)[to] = at(r)[from];
  }
};

struct BlockResult {
  std::int64_t iterations = 0;
  double gain = 0;
  bool moved = false;
  bool given_up = false;  // the solver was asked to stop; nothing has changed
};

template <class Real>
class Block {
 public:
  explicit Block(Index size) : size_(std::max<Index>(size, 2)), rows_(size_) {}

  Index size() const { return size_; }

  // Whether a block is the whole problem: then its kernel matrix is computed once and for all, and
  // the gradient is that of the block.
  bool covers(const Dual& dual) const { return size_ >= dual.size(); }

  // At most max_iterations pair steps on a new block.
  BlockResult step(Dual& dual, KernelMatrix<Real>& matrix, double violation, double tolerance,
                   std::int64_t max_iterations) {
    if (covers(dual)) return step_on_all(dual, matrix, tolerance, max_iterations);
    const std::vector<Index> positions = choose(dual, matrix.order());
    Dual inner = restrict(dual, positions);
    update_rows(matrix, positions);
    const std::int64_t enough = std::max<std::int64_t>(std::int64_t{100} * inner.active, 1000);
    const BlockResult result = solve(inner, std::max(0.1 * violation, 0.5 * tolerance),
                                     std::min(enough, max_iterations), matrix.interruption());
    if (matrix.interruption().stopped()) return {.given_up = true};
    write_back(dual, matrix, positions, inner);
    return result;
  }

 private:
  BlockResult step_on_all(Dual& dual, KernelMatrix<Real>& matrix, double tolerance,
                          std::int64_t max_iterations) {
    if (rows_.diagonals.empty()) {
      std::vector<Index> all(dual.size());
      std::iota(all.begin(), all.end(), Index(0));
      rows_.stride = all.size();
      rows_.values.resize(all.size() * all.size());
      matrix.block(all, all, rows_.values.data());
      matrix.rows_computed += dual.size();
      rows_.diagonals.assign(matrix.diagonal(), matrix.diagonal() + dual.size());
    }
    constexpr std::int64_t slice = 1 << 14;  // so that the caller is asked now and then
    BlockResult result =
        solve(dual, tolerance, std::min(slice, max_iterations), matrix.interruption());
    result.given_up = matrix.interruption().stopped() && !result.moved;
    return result;
  }

  // The positions of the variables of a new block, by slot.
  std::vector<Index> choose(const Dual& dual, const Order& order) {
    std::vector<Index> positions = worth_keeping(dual, order);
    std::vector<char> taken(dual.active, 0);
    Index room = size_;
    for (Index position : positions)
      if (position != nobody) taken[position] = 1, --room;
    fresh_.clear();
    Index slot = 0;
    for (Index newcomer : most_violating(dual, room, taken)) {
      while (slot < static_cast<Index>(positions.size()) && positions[slot] != nobody) ++slot;
      if (slot == static_cast<Index>(positions.size())) positions.push_back(nobody);
      positions[slot] = newcomer;
      fresh_.push_back(slot);
    }
    remember(positions, order);
    return positions;
  }

  // Which of the last block stay, all but a quarter, but so that there is room for a violating pair
  // of each group: free variables before others, newer before older.
  std::vector<Index> worth_keeping(const Dual& dual, const Order& order) const {
    const Index count = static_cast<Index>(members_.size());
    std::vector<Index> positions(count, nobody), slots(count);
    std::vector<char> free(count, 0);
    for (Index slot = 0; slot < count; ++slot) {
      const Index position = order.position_of[members_[slot].example];
      free[slot] = position < dual.active && any_free(dual, position);
    }
    std::iota(slots.begin(), slots.end(), Index(0));
    std::sort(slots.begin(), slots.end(), [&](Index a, Index b) {
      return free[a] != free[b] ? free[a] > free[b] : members_[a].entered > members_[b].entered;
    });
    Index room = count - std::max<Index>(size_ / 4, 4);
    for (Index slot : slots) {
      const Index position = order.position_of[members_[slot].example];
      if (position < dual.active && room-- > 0) positions[slot] = position;
    }
    return positions;
  }

  // Who is in which slot from now on. Where there are fewer violators than room the last slots
  // move up: no newcomer is among them, because newcomers take the first slots that are free.
  void remember(std::vector<Index>& positions, const Order& order) {
    members_.resize(positions.size());
    for (Index slot : fresh_) members_[slot] = {order.example_at[positions[slot]], ++entries_};
    for (Index slot = 0; slot < static_cast<Index>(positions.size()); ++slot) {
      while (!positions.empty() && positions.back() == nobody) positions.pop_back();
      if (slot >= static_cast<Index>(positions.size()) || positions[slot] != nobody) continue;
      const Index last = static_cast<Index>(positions.size()) - 1;
      rows_.move(last, slot, last + 1);
      members_[slot] = members_[last];
      positions[slot] = positions[last];
      positions.pop_back();
    }
    members_.resize(positions.size());
  }

  // The rows and columns of newcomers; those of the others are there.
  void update_rows(KernelMatrix<Real>& matrix, const std::vector<Index>& positions) {
    rows_.values.resize(rows_.stride * rows_.stride);
    rows_.diagonals.clear();
    for (Index position : positions) rows_.diagonals.push_back(matrix.diagonal()[position]);
    const std::size_t size = positions.size(), count = fresh_.size();
    if (count == 0) return;
    std::vector<Index> newcomers;
    for (Index slot : fresh_) newcomers.push_back(positions[slot]);
    spare_.resize(count * size);
    matrix.block(newcomers, positions, spare_.data());
    constexpr std::size_t tile = 16;  // a transpose, in pieces that stay in the cache
    for (std::size_t first = 0; first < size; first += tile)
      for (std::size_t f = 0; f < count; ++f)
        for (std::size_t r = first; r < std::min(first + tile, size); ++r)
          rows_.at(static_cast<Index>(r))[fresh_[f]] = spare_[f * size + r];
    for (std::size_t f = 0; f < count; ++f)
      std::copy_n(&spare_[f * size], size, rows_.at(fresh_[f]));
  }

  static bool any_free(const Dual& dual, Index k) {
    return std::any_of(dual.parts.begin(), dual.parts.end(),
                       [k](const Part& part) { return part.is_free(k); });
  }

  // Alternately the variable most worth raising and the one most worth lowering, of each group, the
  // more violating group first.
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

  // What could be raised and what could be lowered, of each group.
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

  BlockResult solve(Dual& inner, double tolerance, std::int64_t max_iterations,
                    Interruption& interruption) {
    BlockResult result;
    while (result.iterations < max_iterations) {
      if (result.iterations % 256 == 0) {
        interruption.ask(0);
        if (interruption.stopped()) break;
      }
      const Selection selection = second_order(inner, rows_);
      if (selection.stop <= tolerance) break;
      const StepTaken taken = pair_step(inner, rows_, selection.pair);
      if (!taken.moved()) break;
      result.moved = true;
      result.gain += taken.gain;
      ++result.iterations;
    }
    return result;
  }

  void write_back(Dual& dual, KernelMatrix<Real>& matrix, const std::vector<Index>& positions,
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
      changed.push_back(k), changes.push_back(change), keep.push_back(any_free(dual, k));
    }
    matrix.accumulate(changed, changes, 0, dual.active, dual.gradient.data(), keep);
  }

  static constexpr Index nobody = -1;

  struct Member {
    Index example;
    std::int64_t entered;  // the larger the newer
  };

  const Index size_;
  std::vector<Member> members_;  // by slot
  std::vector<Index> fresh_;     // slots of newcomers
  std::int64_t entries_ = 0;
  BlockRows<Real> rows_;
  std::vector<Real> spare_;  // rows of newcomers, before they are put in place
};

}  // namespace softmargin
