// Rows of K within a byte budget; the least recently used goes first.
//
// Rows are kept in the order of the variables at the time they were computed. When shrinking
// reorders the variables, a row is carried over at its next use, not before: most rows of a large
// cache are never asked for again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "examples.hpp"

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

  void bring_into(const std::shared_ptr<const Order>& order, Row& row) {
    if (row.length > 0 && row.order != order) carry_over(row, *order);
    row.order = order;
  }

  // Shrinking keeps the order among the variables that stay, so what a row has of them is a prefix.
  void carry_over(Row& row, const Order& order) {
    scratch_.resize(row.length);
    const Index* old_position = row.order->position_of.data();
    Index k = 0;
    for (; k < row.length; ++k) {
      const Index from = old_position[order.example_at[k]];
      if (from >= row.length) break;
      scratch_[k] = row.values[from];
    }
    std::copy_n(scratch_.data(), k, row.values.get());
    row.length = k;
  }

  std::vector<Row> rows_;
  std::list<Index> recency_;
  std::vector<Real> scratch_;
  std::size_t budget_, used_ = 0, keep_ = 4;
};

}  // namespace softmargin
