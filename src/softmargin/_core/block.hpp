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

// The kernel matrix of a block, as rows for rules and steps.
template <class Real>
struct BlockRows {
  std::vector<Real> values;
  std::vector<double> diagonals;

  const Real* row(Index position, Index) const {
    return &values[static_cast<std::size_t>(position) * diagonals.size()];
  }
  const double* diagonal() const { return diagonals.data(); }
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
  explicit Block(Index size) : size_(std::max<Index>(size, 2)) {}

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

  std::vector<Index> choose(const Dual& dual, const Order& order) {
    kept_ = worth_keeping(dual, order);
    std::vector<Index> positions;
    for (Index l : kept_) positions.push_back(order.position_of[last_[l]]);
    std::vector<char> taken(dual.active, 0);
    for (Index position : positions) taken[position] = 1;
    add_violators(dual, size_ - static_cast<Index>(positions.size()), taken, positions);
    last_.clear();
    for (Index position : positions) last_.push_back(order.example_at[position]);
    return positions;
  }

  // Which of the last block stay, all but a quarter, but so that there is room for a violating pair
  // of each group: free variables before others, newer before older.
  std::vector<Index> worth_keeping(const Dual& dual, const Order& order) const {
    const Index count = static_cast<Index>(last_.size());
    Index room = count - std::max<Index>(size_ / 4, 4);
    std::vector<char> keep(count, 0);
    for (const bool want_free : {true, false})
      for (Index l = count - 1; l >= 0 && room > 0; --l) {
        const Index position = order.position_of[last_[l]];
        if (position < dual.active && any_free(dual, position) == want_free) keep[l] = 1, --room;
      }
    std::vector<Index> kept;
    for (Index l = 0; l < count; ++l)
      if (keep[l]) kept.push_back(l);
    return kept;
  }

  // The kernel matrix of the new block: between kept variables from the old one, the rest computed.
  void update_rows(KernelMatrix<Real>& matrix, const std::vector<Index>& positions) {
    const std::size_t size = positions.size(), kept = kept_.size(), fresh = size - kept;
    const std::size_t old_size = rows_.diagonals.size();
    std::vector<Real>& values = spare_;
    values.resize(size * size);
    for (std::size_t r = 0; r < kept; ++r)
      for (std::size_t c = 0; c < kept; ++c)
        values[r * size + c] = rows_.values[kept_[r] * old_size + kept_[c]];
    if (fresh > 0)
      matrix.block({positions.begin() + kept, positions.end()}, positions, &values[kept * size]);
    constexpr std::size_t tile = 16;  // a transpose, in pieces that stay in the cache
    for (std::size_t first = 0; first < kept; first += tile)
      for (std::size_t c = kept; c < size; ++c)
        for (std::size_t r = first; r < std::min(first + tile, kept); ++r)
          values[r * size + c] = values[c * size + r];
    std::swap(rows_.values, values);
    rows_.diagonals.clear();
    for (Index position : positions) rows_.diagonals.push_back(matrix.diagonal()[position]);
  }

  static bool any_free(const Dual& dual, Index k) {
    return std::any_of(dual.parts.begin(), dual.parts.end(),
                       [k](const Part& part) { return part.is_free(k); });
  }

  // Alternately the variable most worth raising and the one most worth lowering, of each group, the
  // more violating group first.
  void add_violators(const Dual& dual, Index wanted, std::vector<char>& taken,
                     std::vector<Index>& positions) const {
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

  const Index size_;
  std::vector<Index> last_;  // examples of the last block, oldest first
  std::vector<Index> kept_;  // which of them are in this block, at its beginning
  BlockRows<Real> rows_;
  std::vector<Real> spare_;  // memory of the kernel matrix before
};

}  // namespace softmargin
