// The kernel matrix of one problem, as the solver sees it: rows by position, computed on request
// and cached. The solver never sees a kernel, an example or a label.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "interruption.hpp"
#include "parallel.hpp"
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

// target += sum_r scales[r] rows[r], four rows at a time, in the arithmetic of the target.
template <class Real, class Sum>
void add_scaled(const Real* const* rows, const Sum* scales, Index count, Index size, Sum* target) {
  Index r = 0;
  for (; r + 4 <= count; r += 4) {
    const Real *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
    const Sum sa = scales[r], sb = scales[r + 1], sc = scales[r + 2], sd = scales[r + 3];
    for (Index k = 0; k < size; ++k) target[k] += (sa * a[k] + sb * b[k]) + (sc * c[k] + sd * d[k]);
  }
  for (; r < count; ++r)
    for (Index k = 0; k < size; ++k) target[k] += scales[r] * rows[r][k];
}

template <class Real>
class KernelMatrix {
 public:
  KernelMatrix(RowSource<Real>& source, std::vector<Index> rows_of_source, std::size_t budget_bytes,
               int threads, std::function<void()> check_interruption)
      : source_(source),
        ids_(std::move(rows_of_source)),
        columns_(ids_),
        cache_(size(), budget_bytes),
        stored_(is_identity(ids_) ? source.stored() : nullptr),
        threads_(threads),
        workspaces_(threads),
        interruption_(std::make_unique<Interruption>(std::move(check_interruption))) {
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
  // All rows one after another, where the source has them in memory in the present order; else
  // null.
  const Real* stored() const { return stored_; }
  const Order& order() const { return *order_; }
  const double* diagonal() const { return diagonal_.data(); }
  void keep_last(std::size_t rows, std::size_t values = 1) { cache_.keep_last(rows, values); }
  void leave_headroom() { cache_.leave_headroom(); }
  void free_cache() { cache_.clear(); }

  // K(position, [0, length)).
  const Real* row(Index position, Index length) {
    if (stored_) return stored_row(position);
    Index filled;
    Real* values = cache_.reserve(order_->example_at[position], length, order_, filled);
    if (filled == length) {
      ++hits;
      return values;
    }
    ++rows_computed;
    source_.load(&columns_[position], 1);
    in_tiles(filled, length, 1, [&](Index start, Index count, int worker) {
      fill(&columns_[position], 1, start, count, values + start, 0, worker);
    });
    return values;
  }

  // The row if it is in the cache, else null. Does not count as a use of the row.
  const Real* held(Index position, Index length) {
    if (stored_) return stored_row(position);
    return cache_.peek(order_->example_at[position], length, order_);
  }

  // out[r * columns + c] = K(rows[r], columns[c]), by position. Does not use the cache.
  void submatrix(const std::vector<Index>& rows, const std::vector<Index>& columns, Real* out) {
    std::vector<Index> row_ids, column_ids;
    for (Index position : rows) row_ids.push_back(columns_[position]);
    for (Index position : columns) column_ids.push_back(columns_[position]);
    const Index width = static_cast<Index>(columns.size());
    source_.load(row_ids.data(), static_cast<Index>(rows.size()));
    const int threads = threads_for(static_cast<double>(rows.size()) * width);
    constexpr std::int64_t tile = 128;
    parallel_ranges(width, 64, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
      for (std::int64_t start = begin; start < end; start += tile) {
        interruption_->ask(worker);
        source_.fill(&column_ids[start], static_cast<Index>(std::min(tile, end - start)),
                     out + start, width, workspaces_[worker]);
      }
    });
    evaluations += static_cast<std::int64_t>(rows.size()) * width;
    for (std::size_t r = 0; r < rows.size(); ++r)
      check_finite(row_ids[r], column_ids.data(), width, out + r * width);
  }

  // target[k] += sum_r coefficients[r] K(positions[r], k) for k in [begin, end), in batches. Rows
  // marked in `keep` go to the cache (then begin must be 0); other rows are not stored.
  void accumulate(const std::vector<Index>& positions, const std::vector<double>& coefficients,
                  Index begin, Index end, double* target, const std::vector<char>& keep = {}) {
    visit_rows(
        positions, begin, end, keep,
        [&](const Real* const* rows, const Index* which, Index count, Index start, Index size) {
          std::vector<double> scales(count);
          for (Index r = 0; r < count; ++r) scales[r] = coefficients[which[r]];
          add_scaled(rows, scales.data(), count, size, target + start);
        });
  }

  // Calls visit(rows, which, count, start, size) on tiles of [begin, end) that do not overlap, on
  // several threads: rows[r] points to K(positions[which[r]], [start, start + size)). A tile is
  // visited several times if there are many rows; each row is visited once on every column.
  template <class Visit>
  void visit_rows(const std::vector<Index>& positions, Index begin, Index end,
                  const std::vector<char>& keep, Visit visit) {
    std::vector<const Real*> held_rows;
    std::vector<Index> held, missing, examples;
    if (stored_) {
      for (Index position : positions) held_rows.push_back(stored_row(position));
      held.resize(positions.size());
      std::iota(held.begin(), held.end(), Index(0));
      return visit_held(held_rows, held, begin, end, visit);
    }
    for (Index position : positions) examples.push_back(order_->example_at[position]);
    cache_.bring_all_into(order_, examples, threads_to_add(positions.size(), end));
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const Index example = examples[r];
      const Real* row = cache_.peek(example, end, order_);
      if (row && !keep.empty()) {
        Index filled;
        row = cache_.reserve(example, end, order_, filled);
        ++hits;
      }
      if (row) held_rows.push_back(row);
      (row ? held : missing).push_back(static_cast<Index>(r));
    }
    visit_held(held_rows, held, begin, end, visit);
    for (std::size_t first = 0; first < missing.size(); first += batch_rows()) {
      const std::size_t last = std::min(first + batch_rows(), missing.size());
      visit_missing(positions, {missing.begin() + first, missing.begin() + last}, begin, end, keep,
                    visit);
    }
    rows_computed += static_cast<std::int64_t>(missing.size());
  }

  // The variable at old_position[k] moves to position k.
  void reorder(const std::vector<Index>& old_position) {
    stored_ = nullptr;
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

  // An estimate of the rounding error in sum_e beta[e] K(e, .), by example.
  double rounding(const std::vector<double>& beta) const {
    return source_.rounding(ids_.data(), beta.data(), size());
  }

  Interruption& interruption() { return *interruption_; }

  std::int64_t rows_computed = 0, evaluations = 0, hits = 0;

 private:
  // The rows of a batch. With more, columns are converted less often; with very many features, the
  // rows themselves would take much memory.
  std::size_t batch_rows() const { return source_.cost() <= 4096 ? 512 : 256; }

  static bool is_identity(const std::vector<Index>& ids) {
    for (std::size_t k = 0; k < ids.size(); ++k)
      if (ids[k] != static_cast<Index>(k)) return false;
    return true;
  }

  const Real* stored_row(Index position) const {
    return stored_ + static_cast<std::size_t>(position) * ids_.size();
  }

  // Uses several threads only if computing this many kernel values takes longer than starting the
  // threads.
  int threads_for(double values) const {
    return values * (source_.cost() + 8) > 4e6 ? threads_ : 1;
  }

  int threads_to_add(std::size_t rows, Index length) const {
    return static_cast<double>(rows) * length > 4e5 ? threads_ : 1;
  }

  // Calls body(start, count, worker) on tiles of [begin, end).
  template <class Body>
  void in_tiles(Index begin, Index end, Index rows, Body body) {
    const Index tile = rows == 1 ? 4096 : 128;
    parallel_ranges(end - begin, tile, threads_for((end - begin) * static_cast<double>(rows)),
                    [&](std::int64_t from, std::int64_t to, int worker) {
                      for (std::int64_t start = from; start < to; start += tile) {
                        interruption_->ask(worker);
                        body(begin + static_cast<Index>(start),
                             static_cast<Index>(std::min<std::int64_t>(tile, to - start)), worker);
                      }
                    });
    evaluations += static_cast<std::int64_t>(rows) * (end - begin);
  }

  void fill(const Index* rows, Index count, Index start, Index size, Real* out,
            std::ptrdiff_t stride, int worker) {
    source_.fill(&columns_[start], size, out, stride, workspaces_[worker]);
    for (Index r = 0; r < count; ++r)
      check_finite(rows[r], &columns_[start], size, out + r * stride);
  }

  template <class Visit>
  void visit_missing(const std::vector<Index>& positions, const std::vector<Index>& batch,
                     Index begin, Index end, const std::vector<char>& keep, Visit visit) {
    const Index count = static_cast<Index>(batch.size());
    std::vector<Index> rows;
    std::vector<Real*> kept(count, nullptr);
    std::size_t room = cache_.kept();  // more rows could evict one another before they are filled
    for (Index b = 0; b < count; ++b) {
      const Index position = positions[batch[b]];
      rows.push_back(columns_[position]);
      Index filled;
      if (keep.empty() || !keep[batch[b]] || room == 0) continue;
      try {
        kept[b] = cache_.reserve(order_->example_at[position], end, order_, filled);
        --room;
      } catch (const std::bad_alloc&) {
        room = 0;  // continue without keeping rows, which needs no more memory
      }
    }
    source_.load(rows.data(), count);
    std::vector<std::vector<Real>> tiles(threads_);
    in_tiles(begin, end, count, [&](Index start, Index size, int worker) {
      std::vector<Real>& values = tiles[worker];
      values.resize(static_cast<std::size_t>(count) * size);
      fill(rows.data(), count, start, size, values.data(), size, worker);
      std::vector<const Real*> tile_rows(count);
      for (Index b = 0; b < count; ++b) {
        tile_rows[b] = &values[static_cast<std::size_t>(b) * size];
        if (kept[b]) std::copy_n(tile_rows[b], size, kept[b] + start);
      }
      visit(tile_rows.data(), batch.data(), count, start, size);
    });
  }

  template <class Visit>
  void visit_held(const std::vector<const Real*>& rows, const std::vector<Index>& which,
                  Index begin, Index end, Visit visit) const {
    if (rows.empty()) return;
    parallel_ranges(end - begin, 1024, threads_to_add(rows.size(), end - begin),
                    [&](std::int64_t from, std::int64_t to, int worker) {
                      std::vector<const Real*> shifted(rows.size());
                      for (std::int64_t tile = from; tile < to; tile += 1024) {
                        interruption_->ask(worker);
                        const Index start = begin + static_cast<Index>(tile);
                        for (std::size_t r = 0; r < rows.size(); ++r) shifted[r] = rows[r] + start;
                        visit(shifted.data(), which.data(), static_cast<Index>(rows.size()), start,
                              static_cast<Index>(std::min<std::int64_t>(1024, to - tile)));
                      }
                    });
  }

  static void check_finite(Index row, const Index* columns, Index size, const Real* values) {
    Real poison[16] = {};  // stays 0 unless a value is infinite or NaN
    Index k = 0;
    for (; k + 16 <= size; k += 16)
      for (int l = 0; l < 16; ++l) poison[l] += values[k + l] * 0;
    for (; k < size; ++k) poison[0] += values[k] * 0;
    for (int l = 1; l < 16; ++l) poison[0] += poison[l];
    if (poison[0] == 0) return;
    for (k = 0; k < size; ++k)
      if (!std::isfinite(values[k])) throw KernelNotFinite(row, columns[k], values[k]);
  }

  RowSource<Real>& source_;
  const std::vector<Index> ids_;  // example of this problem -> row of the source
  std::vector<Index> columns_;    // position -> row of the source
  std::shared_ptr<const Order> order_;
  std::vector<double> diagonal_;  // by position
  RowCache<Real> cache_;
  const Real* stored_;
  const int threads_;
  std::vector<Workspace<Real>> workspaces_;
  std::unique_ptr<Interruption> interruption_;
};

}  // namespace softmargin
