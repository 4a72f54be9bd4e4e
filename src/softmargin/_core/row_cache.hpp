// A cache of rows of K within a byte budget; the least recently used row is evicted first. If
// memory runs out before the budget is used up, the budget shrinks to what is available.
//
// The values of a row are in the order that the variables had when it was computed. When shrinking
// reorders the variables, a row is reordered only at its next use: most rows of a large cache are
// never used again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "examples.hpp"
#include "memory_left.hpp"
#include "parallel.hpp"

namespace softmargin {

// A permutation of the examples of a problem and its inverse.
struct Order {
  std::vector<Index> example_at;
  std::vector<Index> position_of;
};

template <class Real>
class RowCache {
 public:
  RowCache(Index examples, std::size_t budget_bytes)
      : rows_(examples), budget_(budget_bytes / sizeof(Real)) {}

  // The row of `example` in `order`, with space for `length` values. The first `filled` values are
  // valid; the caller computes the rest. The last used rows (see keep_last) are not evicted.
  Real* reserve(Index example, Index length, const std::shared_ptr<const Order>& order,
                Index& filled) {
    Row& row = rows_[example];
    if (row.values) recency_.erase(row.use);
    bring_into(order, row);
    filled = std::min(row.length, length);
    try {
      if (row.capacity < length) grow(row, length);
    } catch (const std::bad_alloc&) {
      if (row.values) row.use = recency_.insert(recency_.end(), example);
      throw;
    }
    row.use = recency_.insert(recency_.end(), example);
    row.length = std::max(row.length, length);
    return row.values.get();
  }

  // The row if at least `length` values of it are cached, else null. Does not count as a use.
  const Real* peek(Index example, Index length, const std::shared_ptr<const Order>& order) {
    Row& row = rows_[example];
    if (row.length < length) return nullptr;
    bring_into(order, row);
    return row.length >= length ? row.values.get() : nullptr;
  }

  // Reorders many rows at once, on several threads, so that peek() and reserve() need not.
  void bring_all_into(const std::shared_ptr<const Order>& order, const std::vector<Index>& examples,
                      int threads) {
    std::vector<Row*> stale;
    std::vector<const Sources*> sources;
    for (Index example : examples) {
      Row& row = rows_[example];
      if (row.length == 0 || row.order == order) continue;
      stale.push_back(&row);
      sources.push_back(&sources_of(row.order, order));
      row.order = order;
    }
    parallel_ranges(static_cast<std::int64_t>(stale.size()), 16, threads,
                    [&](std::int64_t begin, std::int64_t end, int) {
                      std::vector<Real> scratch;
                      for (std::int64_t r = begin; r < end; ++r)
                        carry_over(*stale[r], *sources[r], scratch);
                    });
  }

  // Never evicts the last `rows` used rows, or as many of them as fit into the budget, but at least
  // 6 of them: those of the current pair and of the previous pair of each class. With a block, the
  // solver has about `values` kernel values for each two of these rows.
  void keep_last(std::size_t rows, std::size_t values) {
    const std::size_t fitting = budget_ / std::max<std::size_t>(rows_.size(), 1);
    keep_ = std::min(rows, std::max(fitting, least_rows));
    headroom_ = least_headroom() + values * keep_ * keep_ * sizeof(Real);
  }
  std::size_t kept() const { return keep_; }

  // Frees all rows.
  void clear() {
    for (Index example : recency_) rows_[example] = Row{};
    recency_.clear();
    used_ = 0;
  }

  // Shrinks the budget until enough memory is left for others: for the solver, the matrix of a
  // block; for its caller between two slices, some vectors with a value per example. False: even
  // without the rows that may be evicted, there is not enough.
  bool leave_headroom() {
    while (!is_memory_left(headroom_)) {
      const std::size_t before = used_;
      halve_budget(0);
      if (used_ == before) return false;
    }
    unchecked_ = 0;
    return true;
  }

 private:
  struct Row {
    std::unique_ptr<Real[]> values;
    Index length = 0, capacity = 0;
    std::shared_ptr<const Order> order;
    std::list<Index>::iterator use;
  };

  // Meanwhile the row itself must not be in `recency_`, so that it is not evicted.
  void grow(Row& row, Index capacity) {
    const std::size_t more = capacity - row.capacity;
    evict(more);
    unchecked_ += capacity * sizeof(Real);
    if (unchecked_ > headroom_ / 4 && !leave_headroom() && recency_.size() >= least_rows)
      throw std::bad_alloc();
    std::unique_ptr<Real[]> values = allocate(capacity, more);
    std::copy_n(row.values.get(), row.length, values.get());
    row.values = std::move(values);
    row.capacity = capacity;
    used_ += more;
  }

  std::unique_ptr<Real[]> allocate(Index capacity, std::size_t more) {
    for (;;) {
      try {
        return std::unique_ptr<Real[]>(new Real[capacity]);
      } catch (const std::bad_alloc&) {
        if (recency_.size() + 1 <= keep_) throw;
        halve_budget(more);
      }
    }
  }

  static constexpr std::size_t least_rows = 6;  // of the current and the previous pairs

  std::size_t least_headroom() const {
    return (std::size_t{2} << 20) + 64 * sizeof(double) * rows_.size();
  }

  // Called when memory has run out: frees half of the memory that the cache uses.
  void halve_budget(std::size_t more) {
    budget_ = std::min(budget_, used_) / 2;
    evict(more);
  }

  // Evicts rows until this many more values fit into the budget.
  void evict(std::size_t more) {
    while (used_ + more > budget_ && recency_.size() + 1 > keep_) {
      Row& oldest = rows_[recency_.front()];
      used_ -= oldest.capacity;
      oldest = Row{};
      recency_.pop_front();
    }
  }

  // For each position, the position of its value in a row of another order.
  using Sources = std::vector<Index>;

  const Sources& sources_of(const std::shared_ptr<const Order>& old_order,
                            const std::shared_ptr<const Order>& order) {
    if (sources_for_ != order) sources_.clear();
    sources_for_ = order;
    const auto [entry, is_new] = sources_.try_emplace(old_order);
    if (is_new)
      for (Index example : order->example_at)
        entry->second.push_back(old_order->position_of[example]);
    return entry->second;
  }

  void bring_into(const std::shared_ptr<const Order>& order, Row& row) {
    if (row.length > 0 && row.order != order)
      carry_over(row, sources_of(row.order, order), scratch_);
    row.order = order;
  }

  // Shrinking keeps the order of the variables that stay, so the values that a row has of them are
  // a prefix of the new row.
  static void carry_over(Row& row, const Sources& sources, std::vector<Real>& scratch) {
    scratch.resize(row.length);
    Index k = 0;
    for (; k < row.length && sources[k] < row.length; ++k) scratch[k] = row.values[sources[k]];
    std::copy_n(scratch.data(), k, row.values.get());
    row.length = k;
  }

  std::vector<Row> rows_;
  std::list<Index> recency_;
  std::map<std::shared_ptr<const Order>, Sources> sources_;  // by the old order of the rows
  std::shared_ptr<const Order> sources_for_;
  std::vector<Real> scratch_;
  std::size_t budget_, used_ = 0, keep_ = 4;  // values, values, rows
  std::size_t headroom_ = least_headroom();
  std::size_t unchecked_ = 0;  // bytes of new rows since memory was last seen to be left
};

}  // namespace softmargin
