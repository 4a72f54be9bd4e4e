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

  const std::int32_t count, features;

 protected:
  static void prefetch_range(const void* start, std::ptrdiff_t bytes) {
    constexpr std::ptrdiff_t line = 64, most = 8 * line;  // the hardware prefetches the rest
    for (std::ptrdiff_t b = 0; b < bytes && b < most; b += line)
      prefetch(static_cast<const char*>(start) + b);
  }

 private:
  virtual void entries(std::int32_t row, Row& out) const = 0;

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

  const Value* values_;
  const Offset *indices_, *starts_;
};

}  // namespace softmargin::linear
