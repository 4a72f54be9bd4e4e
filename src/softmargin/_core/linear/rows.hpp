// Rows of dense and CSR examples behind one interface, which returns the non-zero entries of a row
// (and perhaps a few zeros among them).
//
// The data are not copied; one row at a time is converted to float64. A constant feature for the
// intercept is added here, so that no other code needs to know about intercepts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../simd.hpp"

namespace softmargin::linear {

struct Row {
  std::vector<std::int32_t> feature;  // space for every feature; the first `size` are in use
  std::vector<double> value;
  std::size_t size = 0;

  void add(std::int32_t f, double v) {
    feature[size] = f;
    value[size] = v;
    size += v != 0;
  }
};

class RowReader {
 public:
  // `constant` is the value of an additional last feature in every row; 0 for no such feature.
  RowReader(std::int32_t count, std::int32_t features, double constant)
      : count(count), features(features + (constant != 0)), constant_(constant) {}
  virtual ~RowReader() = default;

  void read(std::int32_t row, Row& out) const {
    if (out.value.empty()) {
      out.feature.resize(features + 1);  // one more, because `add` also writes zeros
      out.value.resize(features + 1);
    }
    out.size = 0;
    entries(row, out);
    out.add(features - 1, constant_);
  }

  virtual void prefetch_row(std::int32_t row) const = 0;

  // Products with all rows at once: X w, and sum_i r_i x_i (where rows with r_i = 0 are not read).
  std::vector<double> scores(const double* w) const {
    std::vector<double> out(count);
    compute_scores(w, out.data());
    return out;
  }
  std::vector<double> combination(const double* r) const {
    std::vector<double> out(features + 1);
    add_rows(r, out.data());
    if (constant_ != 0)
      for (std::int32_t i = 0; i < count; ++i) out[features - 1] += r[i] * constant_;
    out.resize(features);
    return out;
  }

  const std::int32_t count, features;

 protected:
  static void prefetch_range(const void* start, std::ptrdiff_t bytes) {
    constexpr std::ptrdiff_t line = 64, most = 8 * line;  // the hardware prefetches the rest
    for (std::ptrdiff_t b = 0; b < bytes && b < most; b += line)
      prefetch(static_cast<const char*>(start) + b);
  }

 private:
  virtual void entries(std::int32_t row, Row& out) const = 0;
  virtual void compute_scores(const double* w, double* out) const = 0;
  virtual void add_rows(const double* r, double* out) const = 0;  // without the constant feature

 protected:
  // The product of a row's entries x(e), e < size, and of the constant feature, with their weights
  // w(e). Four sums, because each addition waits for the last one.
  template <class Entry, class Weight>
  double product(std::ptrdiff_t size, Entry x, Weight w, double last_weight) const {
    constexpr std::ptrdiff_t many = 4;
    double sum[many] = {};
    std::ptrdiff_t e = 0;
    for (; e + many <= size; e += many)
      for (std::ptrdiff_t l = 0; l < many; ++l) sum[l] += x(e + l) * w(e + l);
    for (; e < size; ++e) sum[e % many] += x(e) * w(e);
    sum[size % many] += constant_ * last_weight;  // as an entry after the others
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

 private:
  const double constant_;
};

template <class Value>
class DenseRows final : public RowReader {
 public:
  DenseRows(const Value* data, std::int32_t count, std::int32_t features, std::ptrdiff_t row_stride,
            double constant)
      : RowReader(count, features, constant),
        data_(data),
        row_stride_(row_stride),
        width_(features) {}

  void prefetch_row(std::int32_t row) const override {
    prefetch_range(data_ + row * row_stride_, width_ * sizeof(Value));
  }

 private:
  void entries(std::int32_t row, Row& out) const override {
    constexpr std::int32_t chunk = 8;  // values tested together, because zeros come in runs
    constexpr int most_zeros = 2;      // so few zeros are cheaper to keep than to remove
    const Value* x = data_ + row * row_stride_;
    std::int32_t f = 0;
    for (; f + chunk <= width_; f += chunk) {
      unsigned present = 0;
      for (int l = 0; l < chunk; l += lanes<Value, 32>) present |= bits_not_zero(x + f + l) << l;
      if (present == 0) continue;
      std::int32_t* feature = out.feature.data() + out.size;
      double* value = out.value.data() + out.size;
      if (std::popcount(present) >= chunk - most_zeros) {
        for (int l = 0; l < chunk; ++l) feature[l] = f + l;
        for (int l = 0; l < chunk; ++l) value[l] = static_cast<double>(x[f + l]);
        out.size += chunk;
      } else {
        std::size_t size = 0;
        for (int l = 0; l < chunk; ++l) {
          feature[size] = f + l;
          value[size] = static_cast<double>(x[f + l]);
          size += present >> l & 1;
        }
        out.size += size;
      }
    }
    for (; f < width_; ++f) out.add(f, static_cast<double>(x[f]));
  }

  void compute_scores(const double* w, double* out) const override {
    for (std::int32_t i = 0; i < count; ++i) {
      const Value* x = data_ + i * row_stride_;
      out[i] = product(
          width_, [&](auto f) { return static_cast<double>(x[f]); }, [&](auto f) { return w[f]; },
          w[features - 1]);
    }
  }

  void add_rows(const double* r, double* out) const override {
    for (std::int32_t i = 0; i < count; ++i) {
      if (r[i] == 0) continue;
      const Value* x = data_ + i * row_stride_;
      for (std::int32_t f = 0; f < width_; ++f) out[f] += r[i] * x[f];
    }
  }

  const Value* data_;
  std::ptrdiff_t row_stride_;
  std::int32_t width_;
};

template <class Value, class Offset>
class CsrRows final : public RowReader {
 public:
  CsrRows(const Value* values, const Offset* indices, const Offset* starts, std::int32_t count,
          std::int32_t features, double constant)
      : RowReader(count, features, constant), values_(values), indices_(indices), starts_(starts) {}

  void prefetch_row(std::int32_t row) const override {
    const std::ptrdiff_t size = starts_[row + 1] - starts_[row];
    prefetch_range(values_ + starts_[row], size * sizeof(Value));
    prefetch_range(indices_ + starts_[row], size * sizeof(Offset));
  }

 private:
  void entries(std::int32_t row, Row& out) const override {
    for (Offset e = starts_[row]; e < starts_[row + 1]; ++e)
      out.add(static_cast<std::int32_t>(indices_[e]), static_cast<double>(values_[e]));
  }

  void compute_scores(const double* w, double* out) const override {
    for (std::int32_t i = 0; i < count; ++i) {
      const Value* x = values_ + starts_[i];
      const Offset* feature = indices_ + starts_[i];
      out[i] = product(
          starts_[i + 1] - starts_[i], [&](auto e) { return static_cast<double>(x[e]); },
          [&](auto e) { return w[feature[e]]; }, w[features - 1]);
    }
  }

  void add_rows(const double* r, double* out) const override {
    for (std::int32_t i = 0; i < count; ++i) {
      if (r[i] == 0) continue;
      for (Offset e = starts_[i]; e < starts_[i + 1]; ++e) out[indices_[e]] += r[i] * values_[e];
    }
  }

  const Value* values_;
  const Offset *indices_, *starts_;
};

}  // namespace softmargin::linear
