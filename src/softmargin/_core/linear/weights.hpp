// The weights W, features x classes, with the classes of one feature next to each other: each
// feature of an example reads contiguous memory, and the inner loops run over classes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../simd.hpp"
#include "rows.hpp"

namespace softmargin::linear {

constexpr int most_registers = 8;
// How far beyond the last class the loops over registers may read and write.
constexpr std::size_t padding = most_registers * lanes<float, 32>;

// out[i] += x a[i] + y b[i] + z c[i] + w d[i]: four rows of W for each load and store of `out`.
template <class Real>
SOFTMARGIN_INLINE void add_four(Real* SOFTMARGIN_RESTRICT out, const Real* SOFTMARGIN_RESTRICT a,
                                const Real* SOFTMARGIN_RESTRICT b,
                                const Real* SOFTMARGIN_RESTRICT c,
                                const Real* SOFTMARGIN_RESTRICT d, const double* value,
                                std::ptrdiff_t width) {
  const Real x = static_cast<Real>(value[0]), y = static_cast<Real>(value[1]);
  const Real z = static_cast<Real>(value[2]), w = static_cast<Real>(value[3]);
  for (std::ptrdiff_t i = 0; i < width; ++i)
    out[i] += (x * a[i] + y * b[i]) + (z * c[i] + w * d[i]);
}

template <class Real>
SOFTMARGIN_INLINE void add_one(Real* SOFTMARGIN_RESTRICT out, const Real* SOFTMARGIN_RESTRICT a,
                               Real x, std::ptrdiff_t width) {
  for (std::ptrdiff_t i = 0; i < width; ++i) out[i] += x * a[i];
}

// out[c] = sum over entries e of value[e] * W[feature[e], c], row by row, for many classes.
template <class Real>
SOFTMARGIN_INLINE void multiply_by_rows(const Real* W, std::ptrdiff_t classes,
                                        const std::int32_t* feature, const double* value,
                                        std::size_t size, Real* out) {
  constexpr std::ptrdiff_t tile = 2048;  // classes at a time, so that `out` stays in the L1 cache
  for (std::ptrdiff_t start = 0; start < classes; start += tile) {
    const std::ptrdiff_t width = std::min(tile, classes - start);
    Real* o = out + start;
    const auto row = [&](std::size_t e) { return W + feature[e] * classes + start; };
    std::fill(o, o + width, Real(0));
    std::size_t e = 0;
    for (; e + 4 <= size; e += 4)
      add_four(o, row(e), row(e + 1), row(e + 2), row(e + 3), value + e, width);
    for (; e < size; ++e) add_one(o, row(e), static_cast<Real>(value[e]), width);
  }
}

// The same for few classes: `count` registers hold their sums while the rows are read. Values
// beyond the last class belong to the next row or to the padding; they are read but never used.
template <class Real, int count>
SOFTMARGIN_INLINE void multiply_in_registers(const Real* W, std::ptrdiff_t classes,
                                             const std::int32_t* feature, const double* value,
                                             std::size_t size, Real* out) {
  constexpr std::ptrdiff_t width = lanes<Real, 32>;
#if defined(SOFTMARGIN_VECTOR_TYPES)
  using V = Vector<Real, 32>;
  V sum[count] = {};
  for (std::size_t e = 0; e < size; ++e) {
    const Real* row = W + feature[e] * classes;
    const Real x = static_cast<Real>(value[e]);
    for (int r = 0; r < count; ++r) sum[r] += x * load<V>(row + r * width);
  }
  for (int r = 0; r < count; ++r) store(out + r * width, sum[r]);
#else
  std::fill(out, out + count * width, Real(0));
  for (std::size_t e = 0; e < size; ++e)
    add_one(out, W + feature[e] * classes, static_cast<Real>(value[e]), count * width);
#endif
}

template <class Real, int count = most_registers>
SOFTMARGIN_INLINE void multiply_few(const Real* W, std::ptrdiff_t classes, std::ptrdiff_t width,
                                    const std::int32_t* feature, const double* value,
                                    std::size_t size, Real* out) {
  if constexpr (count > 1)
    if (width <= (count - 1) * lanes<Real, 32>)
      return multiply_few<Real, count - 1>(W, classes, width, feature, value, size, out);
  multiply_in_registers<Real, count>(W, classes, feature, value, size, out);
}

template <class Real>
inline void multiply(const Real* W, std::ptrdiff_t classes, const std::int32_t* feature,
                     const double* value, std::size_t size, Real* out) {
  constexpr std::ptrdiff_t tile = most_registers * lanes<Real, 32>;
  if (classes > 4 * tile) return multiply_by_rows(W, classes, feature, value, size, out);
  for (std::ptrdiff_t start = 0; start < classes; start += tile)
    multiply_few(W + start, classes, classes - start, feature, value, size, out + start);
}

template <class Real>
inline void add_outer(Real* W, std::ptrdiff_t classes, const std::int32_t* feature,
                      const double* value, std::size_t size, const Real* change) {
  for (std::size_t e = 0; e < size; ++e)
    add_one(W + feature[e] * classes, change, static_cast<Real>(value[e]), classes);
}

// Finds the classes c with low < score[c] <= high, in order, and returns how many there are. It
// reads beyond the last class but does not use those values.
template <class Real>
inline std::size_t find_between(const Real* score, std::int32_t classes, Real low, Real high,
                                std::int32_t* found) {
  constexpr std::int32_t width = lanes<Real, 32>;
  std::size_t size = 0;
  for (std::int32_t c = 0; c < classes; c += 32) {
    std::uint32_t bits = 0;
    for (std::int32_t l = 0; l < 32 && c + l < classes; l += width)
      bits |= bits_above(score + c + l, low) << l;
    if (classes - c < 32) bits &= (1u << (classes - c)) - 1;
    for (; bits != 0; bits &= bits - 1) {
      const std::int32_t at = c + std::countr_zero(bits);
      found[size] = at;
      size += score[at] <= high;
    }
  }
  return size;
}

template <class Real>
class Weights {
 public:
  Weights(std::int32_t features, std::int32_t classes)
      : classes_(classes),
        values_(static_cast<std::size_t>(features) * classes + padding),
        change_(classes) {}

  // Scores of all classes; `out` must have space for `padding` more values.
  void scores(const Row& row, Real* out) const {
    multiply(values_.data(), classes_, row.feature.data(), row.value.data(), row.size, out);
  }

  // Scores of some classes only.
  void scores(const Row& row, const std::int32_t* cls, std::size_t size, double* out) const {
    in_groups(size, [&](auto count, std::size_t j) { scores_of<count()>(row, cls + j, out + j); });
  }

  // W[:, cls[j]] += change[j] * row.
  void add_columns(const Row& row, const std::int32_t* cls, const double* change,
                   std::size_t size) {
    if (8 * size < static_cast<std::size_t>(classes_)) {
      in_groups(size,
                [&](auto count, std::size_t j) { add_to<count()>(row, cls + j, change + j); });
      return;
    }
    for (std::size_t j = 0; j < size; ++j) change_[cls[j]] += static_cast<Real>(change[j]);
    add_outer(values_.data(), classes_, row.feature.data(), row.value.data(), row.size,
              change_.data());
    for (std::size_t j = 0; j < size; ++j) change_[cls[j]] = 0;
  }

  double squared_norm() const {
    double sum = 0;
    for (std::size_t start = 0; start + padding < values_.size(); start += classes_) {
      double row = 0;  // a sum of sums has a smaller rounding error
      for (std::ptrdiff_t c = 0; c < classes_; ++c)
        row += static_cast<double>(values_[start + c]) * values_[start + c];
      sum += row;
    }
    return sum;
  }

  // features x classes values, then the padding.
  std::vector<Real>& values() { return values_; }
  std::int32_t classes() const { return static_cast<std::int32_t>(classes_); }

 private:
  // Calls work(count, start) for groups of four, few enough for registers, and for the remainder.
  template <class Work>
  static void in_groups(std::size_t size, Work work) {
    std::size_t j = 0;
    for (; j + 4 <= size; j += 4) work(std::integral_constant<int, 4>(), j);
    if (size - j == 3) work(std::integral_constant<int, 3>(), j);
    if (size - j == 2) work(std::integral_constant<int, 2>(), j);
    if (size - j == 1) work(std::integral_constant<int, 1>(), j);
  }

  template <int count>
  void scores_of(const Row& row, const std::int32_t* cls, double* out) const {
    double sum[count] = {};
    for (std::size_t e = 0; e < row.size; ++e) {
      const Real* w = values_.data() + row.feature[e] * classes_;
      for (int j = 0; j < count; ++j) sum[j] += row.value[e] * w[cls[j]];
    }
    std::copy(sum, sum + count, out);
  }

  template <int count>
  void add_to(const Row& row, const std::int32_t* cls, const double* change) {
    std::int32_t to[count];
    double by[count];
    std::copy(cls, cls + count, to);
    std::copy(change, change + count, by);
    for (std::size_t e = 0; e < row.size; ++e) {
      Real* w = values_.data() + row.feature[e] * classes_;
      for (int j = 0; j < count; ++j) w[to[j]] += static_cast<Real>(row.value[e] * by[j]);
    }
  }

  std::ptrdiff_t classes_;
  std::vector<Real> values_;
  std::vector<Real> change_;  // scratch, zero between calls
};

// A change of one example's dual variables, and its effect on W.
class WeightChange {
 public:
  void clear() {
    cls_.clear();
    by_.clear();
    total_ = 0;
  }
  void add(std::int32_t cls, double by) {
    cls_.push_back(cls);
    by_.push_back(by);
    total_ += by;
  }

  double total() const { return total_; }

  // Line 7 of Algorithm 1: a class's variable pushes its weights away from the example, and those
  // of the example's own class towards it. The change cannot be used again: call clear() next.
  template <class Machine, class Real>
  void apply(Weights<Real>& weights, const Row& row, std::int32_t own) {
    for (std::size_t j = 0; j < cls_.size(); ++j)
      if (cls_[j] != own) by_[j] = -by_[j];
    if (Machine::coupled) add(own, total_);
    weights.add_columns(row, cls_.data(), by_.data(), cls_.size());
  }

 private:
  std::vector<std::int32_t> cls_;
  std::vector<double> by_;
  double total_ = 0;
};

}  // namespace softmargin::linear
