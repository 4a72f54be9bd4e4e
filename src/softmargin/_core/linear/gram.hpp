// X' diag(h) X, with the examples as rows of X, whatever their form, for Newton's method.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../simd.hpp"
#include "rows.hpp"

namespace softmargin::linear {

// sum_i h_i x_i x_i' and, if given, the sum so far; the lower half. Examples with h_i = 0 are not
// read.
class Gram {
 public:
  Gram(const RowReader& rows, const double* h, std::vector<double> sum = {})
      : width_(rows.features), sum_(std::move(sum)), tile_(batch * width_) {
    sum_.resize(width_ * width_);
    Row row;
    for (std::int32_t i = 0; i < rows.count; ++i) {
      if (h[i] == 0) continue;
      rows.read(i, row);
      if (3 * row.size < width_)
        add_sparse(row, h[i]);
      else
        add_dense(row, h[i]);
    }
    add_tile();
  }

  std::vector<double> take() { return std::move(sum_); }

 private:
  static constexpr std::size_t batch = 8;  // dense rows added together: fewer loads of the sum

  void add_sparse(const Row& row, double h) {
    for (std::size_t a = 0; a < row.size; ++a) {
      double* to = sum_.data() + row.feature[a] * width_;
      const double scaled = h * row.value[a];
      // Features rise within a row, so this is the lower half.
      for (std::size_t b = 0; b <= a; ++b) to[row.feature[b]] += scaled * row.value[b];
    }
  }

  void add_dense(const Row& row, double h) {
    double* x = tile_.data() + filled_ * width_;
    std::fill(x, x + width_, 0.0);
    for (std::size_t e = 0; e < row.size; ++e) x[row.feature[e]] = row.value[e];
    weight_[filled_] = h;
    if (++filled_ == batch) add_tile();
  }

  void add_tile() {
    for (std::size_t k = filled_; k < batch; ++k) {
      weight_[k] = 0;
      std::fill_n(tile_.data() + k * width_, width_, 0.0);
    }
    if (filled_ == 0) return;
    filled_ = 0;
    const double* x = tile_.data();
    for (std::size_t f = 0; f < width_; ++f) {
      double by[batch];
      for (std::size_t k = 0; k < batch; ++k) by[k] = weight_[k] * x[k * width_ + f];
      add_rows(sum_.data() + f * width_, x, by, f + 1);
    }
  }

  SOFTMARGIN_INLINE void add_rows(double* SOFTMARGIN_RESTRICT to,
                                  const double* SOFTMARGIN_RESTRICT x, const double* by,
                                  std::size_t size) const {
    const double *a = x, *b = a + width_, *c = b + width_, *d = c + width_;
    const double *p = d + width_, *q = p + width_, *r = q + width_, *s = r + width_;
    for (std::size_t g = 0; g < size; ++g)
      to[g] += ((by[0] * a[g] + by[1] * b[g]) + (by[2] * c[g] + by[3] * d[g])) +
               ((by[4] * p[g] + by[5] * q[g]) + (by[6] * r[g] + by[7] * s[g]));
  }

  std::size_t width_;
  std::vector<double> sum_, tile_;
  double weight_[batch] = {};
  std::size_t filled_ = 0;
};

// X'HX for changing H. Where H differs from an earlier one in few examples, only these are read;
// the first H of all is kept, because every column of W begins with the same.
class Curvature {
 public:
  explicit Curvature(const RowReader& rows) : rows(rows) {}

  // The lower half, with h as the diagonal of H.
  const std::vector<double>& at(const double* h) {
    std::vector<double> change(h, h + rows.count), product;
    std::size_t fewest = nonzero(change);
    Known* nearest = nullptr;
    for (Known* known : {&first_, &last_}) {
      if (known->h.empty()) continue;
      std::vector<double> difference(h, h + rows.count);
      for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= known->h[i];
      const std::size_t found = nonzero(difference);
      if (found >= fewest) continue;
      fewest = found;
      nearest = known;
      change = std::move(difference);
    }
    if (nearest) product = nearest == &last_ ? std::move(last_.product) : first_.product;
    Known& known = first_.h.empty() ? first_ : last_;
    known.h.assign(h, h + rows.count);
    known.product = Gram(rows, change.data(), std::move(product)).take();
    return known.product;
  }

  void forget() { first_ = last_ = {}; }

  const RowReader& rows;

 private:
  struct Known {
    std::vector<double> h, product;
  };

  static std::size_t nonzero(const std::vector<double>& values) {
    return values.size() - std::count(values.begin(), values.end(), 0.0);
  }

  Known first_, last_;
};

// The diagonal of that matrix.
inline std::vector<double> gram_diagonal(const RowReader& rows, const double* h) {
  std::vector<double> sum(rows.features);
  Row row;
  for (std::int32_t i = 0; i < rows.count; ++i) {
    if (h[i] == 0) continue;
    rows.read(i, row);
    for (std::size_t e = 0; e < row.size; ++e)
      sum[row.feature[e]] += h[i] * row.value[e] * row.value[e];
  }
  return sum;
}

}  // namespace softmargin::linear
