// Rows of K within a byte budget; the least recently used goes first.
//
// Rows are kept in the order of the variables at the time they were computed. When shrinking
// reorders the variables, a row is carried over at its next use, not before: most rows of a large
// cache are never asked for again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "examples.hpp"
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

  // The row of `example` in `order`, with room for `length` values of which the first `filled` are
  // valid; the caller fills in the rest. The rows used just before it are not evicted.
  Real* reserve(Index example, Index length, const std::shared_ptr<const Order>& order,
                Index& filled) {
    Row& row = rows_[example];
    if (row.values) recency_.erase(row.use);
    row.use = recency_.insert(recency_.end(), example);
    bring_into(order, row);
    filled = std::min(row.length, length);
    if (row.capacity < length) grow(row, length);
    row.length = std::max(row.length, length);
    return row.values.get();
  }

  // The row as it stands if `length` values of it are at hand, else null. Does not count as a use.
  const Real* peek(Index example, Index length, const std::shared_ptr<const Order>& order) {
    Row& row = rows_[example];
    if (row.length < length) return nullptr;
    bring_into(order, row);
    return row.length >= length ? row.values.get() : nullptr;
  }

  // Carries many rows over at once, on several threads: peek() and reserve() then find them done.
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

  // Rows used last that are never evicted: as many as are worked on at a time.
  void keep_last(std::size_t rows) { keep_ = rows; }

 private:
  struct Row {
    std::unique_ptr<Real[]> values;
    Index length = 0, capacity = 0;
    std::shared_ptr<const Order> order;
    std::list<Index>::iterator use;
  };

  void grow(Row& row, Index capacity) {
    used_ += capacity - row.capacity;
    evict();
    std::unique_ptr<Real[]> values(new Real[capacity]);
    std::copy_n(row.values.get(), row.length, values.get());
    row.values = std::move(values);
    row.capacity = capacity;
  }

  void evict() {
    while (used_ > budget_ && recency_.size() > keep_) {
      Row& oldest = rows_[recency_.front()];
      used_ -= oldest.capacity;
      oldest = Row{};
      recency_.pop_front();
    }
  }

  // Position -> where its value is in rows of another order.
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

  // Shrinking keeps the order among the variables that stay, so what a row has of them is a prefix.
  static void carry_over(Row& row, const Sources& sources, std::vector<Real>& scratch) {
    scratch.resize(row.length);
    Index k = 0;
    for (; k < row.length && sources[k] < row.length; ++k) scratch[k] = row.values[sources[k]];
    std::copy_n(scratch.data(), k, row.values.get());
    row.length = k;
  }

  std::vector<Row> rows_;
  std::list<Index> recency_;
  std::map<std::shared_ptr<const Order>, Sources> sources_;  // of all orders that rows are in
  std::shared_ptr<const Order> sources_for_;
  std::vector<Real> scratch_;
  std::size_t budget_, used_ = 0, keep_ = 4;
};

}  // namespace softmargin
