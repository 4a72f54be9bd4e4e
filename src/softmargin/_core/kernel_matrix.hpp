// The kernel matrix of one problem, as the solver sees it: rows by position, computed when asked for
// and cached. The solver never sees a kernel, an example or a label.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "row_cache.hpp"
#include "row_source.hpp"

namespace softmargin {

struct KernelNotFinite : std::domain_error {
  KernelNotFinite(Index row, Index column, double value)
      : std::domain_error("The kernel value of rows " + std::to_string(row) + " and " +
                          std::to_string(column) + " is " +
                          (std::isnan(value) ? "nan" : std::to_string(value)) +
                          "; every kernel value must be finite. Scale the data (StandardScaler),"
                          " or lower gamma, coef0 or degree.") {}
};

template <class Real>
class KernelMatrix {
 public:
  KernelMatrix(RowSource<Real>& source, std::vector<Index> rows_of_source,
               std::size_t budget_bytes)
      : source_(source),
        ids_(std::move(rows_of_source)),
        columns_(ids_),
        cache_(size(), budget_bytes) {
    std::vector<Index> identity(ids_.size());
    std::iota(identity.begin(), identity.end(), Index(0));
    order_ = std::make_shared<Order>(Order{identity, identity});
    diagonal_.reserve(ids_.size());
    for (Index id : ids_) {
      diagonal_.push_back(source_.diagonal(id));
      if (!std::isfinite(diagonal_.back())) throw KernelNotFinite(id, id, diagonal_.back());
    }
  }

  Index size() const { return static_cast<Index>(ids_.size()); }
  const Order& order() const { return *order_; }
  const double* diagonal() const { return diagonal_.data(); }

  // K(position, [0, length)).
  const Real* row(Index position, Index length) {
    Index filled;
    Real* values = cache_.reserve(order_->example_at[position], length, order_, filled);
    if (filled == length) {
      ++hits;
      return values;
    }
    compute(&columns_[position], 1, filled, length, values + filled, 0);
    ++rows_computed;
    return values;
  }

  bool holds(Index position, Index length) {
    return cache_.peek(order_->example_at[position], length, order_) != nullptr;
  }

  // target[k] += sum_r coefficients[r] K(positions[r], k) for k in [begin, end), in batches and
  // past the cache.
  void accumulate(const std::vector<Index>& positions, const std::vector<double>& coefficients,
                  Index begin, Index end, double* target) {
    constexpr Index batch = 64;
    const Index tile = std::min(source_.tile(), end - begin);
    std::vector<Real> values(static_cast<std::size_t>(batch) * tile);
    std::vector<Index> rows;
    const Index total = static_cast<Index>(positions.size());
    for (Index first = 0; first < total; first += batch) {
      const Index count = std::min(batch, total - first);
      rows.clear();
      for (Index r = 0; r < count; ++r) rows.push_back(columns_[positions[first + r]]);
      for (Index start = begin; start < end; start += tile) {
        const Index stop = std::min(end, start + tile);
        compute(rows.data(), count, start, stop, values.data(), tile);
        for (Index r = 0; r < count; ++r) {
          const double scale = coefficients[first + r];
          const Real* row = &values[static_cast<std::size_t>(r) * tile];
          for (Index k = start; k < stop; ++k) target[k] += scale * row[k - start];
        }
      }
    }
    rows_computed += total;
  }

  // The variable at old_position[k] moves to position k.
  void reorder(const std::vector<Index>& old_position) {
    auto order = std::make_shared<Order>();
    order->example_at.resize(size());
    order->position_of.resize(size());
    std::vector<double> diagonal(size());
    for (Index k = 0; k < size(); ++k) {
      const Index example = order_->example_at[old_position[k]];
      order->example_at[k] = example;
      order->position_of[example] = k;
      columns_[k] = ids_[example];
      diagonal[k] = diagonal_[old_position[k]];
    }
    diagonal_ = std::move(diagonal);
    order_ = std::move(order);
  }

  std::int64_t rows_computed = 0, evaluations = 0, hits = 0;

 private:
  void compute(const Index* rows, Index count, Index begin, Index end, Real* out,
               std::ptrdiff_t stride) {
    source_.compute(rows, count, &columns_[begin], end - begin, out, stride);
    evaluations += static_cast<std::int64_t>(count) * (end - begin);
    for (Index r = 0; r < count; ++r) check_finite(rows[r], begin, end, out + r * stride);
  }

  void check_finite(Index row, Index begin, Index end, const Real* values) const {
    Real poison = 0;  // stays 0 unless a value is infinite or not a number
    for (Index k = 0; k < end - begin; ++k) poison += values[k] * 0;
    if (poison == 0) return;
    for (Index k = 0; k < end - begin; ++k)
      if (!std::isfinite(values[k])) throw KernelNotFinite(row, columns_[begin + k], values[k]);
  }

  RowSource<Real>& source_;
  const std::vector<Index> ids_;     // example of this problem -> row of the source
  std::vector<Index> columns_;       // position -> row of the source
  std::shared_ptr<const Order> order_;
  std::vector<double> diagonal_;     // by position
  RowCache<Real> cache_;
};

}  // namespace softmargin
