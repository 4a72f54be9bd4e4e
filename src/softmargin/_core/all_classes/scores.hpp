// Adds the rows of examples whose coefficients changed to the scores of others:
//
//   scores(t, c) += sum_r change(r, c) K(r, t)
//
// With many classes, a change usually involves few of them; then only those are updated.
#pragma once

#include <algorithm>
#include <vector>

#include "../simd.hpp"
#include "problem.hpp"

namespace softmargin::all_classes {

// The changes of the coefficients of some examples, by row.
class Changes {
 public:
  explicit Changes(Index stride) : stride_(stride) {}

  // Forgets all rows, but keeps their memory.
  void clear() {
    starts_.clear();
    classes_.clear();
    values_.clear();
  }

  // Begins the next row.
  void begin_row() { starts_.push_back(static_cast<Index>(classes_.size())); }
  void add(Index c, double change) {
    classes_.push_back(c);
    values_.push_back(change);
  }
  Index rows() const { return static_cast<Index>(starts_.size()); }

  // To be called after the last row and before add_rows().
  void finish() {
    starts_.push_back(static_cast<Index>(classes_.size()));
    const std::size_t rows = starts_.size() - 1;
    dense_ = classes_.size() * 3 >= rows * stride_;
    if (!dense_) return;
    whole_.assign(rows * stride_, 0.0);
    for (std::size_t r = 0; r < rows; ++r)
      for (Index e = starts_[r]; e < starts_[r + 1]; ++e)
        whole_[r * stride_ + classes_[e]] += values_[e];
  }

  // rows[r] has `size` kernel values of row which[r] of the changes; `scores` those of as many
  // examples.
  template <class Real>
  void add_rows(const Real* const* rows, const Index* which, Index count, Index size,
                double* scores) const {
    for (Index t = 0; t < size; t += tile)
      for (Index r = 0; r < count; r += tile)
        add_tile(rows + r, which + r, std::min(tile, count - r), t, std::min(tile, size - t),
                 scores);
  }

 private:
  static constexpr Index tile = 64;
  using Doubles = Vector<double, 32>;

  template <class Real>
  void add_tile(const Real* const* rows, const Index* which, Index count, Index first, Index size,
                double* scores) const {
    if (!dense_) {
      for (Index t = first; t < first + size; ++t) add_sparse(rows, which, count, t, scores);
      return;
    }
    for (Index c = 0; c < stride_; c += 16) {
      const Index vectors = std::min<Index>(16, stride_ - c) / 4;
      for (Index t = first; t < first + size; ++t) {
        double* to = scores + static_cast<std::size_t>(t) * stride_ + c;
        if (vectors == 4)
          add_dense<4>(rows, which, count, t, c, to);
        else if (vectors == 3)
          add_dense<3>(rows, which, count, t, c, to);
        else if (vectors == 2)
          add_dense<2>(rows, which, count, t, c, to);
        else
          add_dense<1>(rows, which, count, t, c, to);
      }
    }
  }

  template <int vectors, class Real>
  SOFTMARGIN_INLINE void add_dense(const Real* const* rows, const Index* which, Index count,
                                   Index t, Index c, double* to) const {
    Doubles sums[vectors];
    for (int v = 0; v < vectors; ++v) sums[v] = load<Doubles>(to + 4 * v);
    for (Index r = 0; r < count; ++r) {
      const double value = rows[r][t];
      const double* change = &whole_[static_cast<std::size_t>(which[r]) * stride_ + c];
      for (int v = 0; v < vectors; ++v) sums[v] += value * load<Doubles>(change + 4 * v);
    }
    for (int v = 0; v < vectors; ++v) store(to + 4 * v, sums[v]);
  }

  template <class Real>
  void add_sparse(const Real* const* rows, const Index* which, Index count, Index t,
                  double* scores) const {
    double* to = scores + static_cast<std::size_t>(t) * stride_;
    for (Index r = 0; r < count; ++r) {
      const double value = rows[r][t];
      for (Index e = starts_[which[r]]; e < starts_[which[r] + 1]; ++e)
        to[classes_[e]] += value * values_[e];
    }
  }

  const Index stride_;
  bool dense_ = false;
  std::vector<Index> starts_, classes_;
  std::vector<double> values_, whole_;
};

}  // namespace softmargin::all_classes
