// The weights W, features x classes, with the classes of one feature side by side: a row of
// examples meets contiguous memory whichever features it has, and the loops run over classes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "rows.hpp"
#include "wide.hpp"

namespace softmargin::linear {

constexpr int most_registers = 8;
// How far loops over registers may go beyond the last class.
constexpr std::size_t room = most_registers * lanes<float>;

// out[c] += x a[c] + y b[c] + z c[c] + w d[c]: four rows of W for one load and store of `out`.
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

// out[c] = sum over entries e of value[e] * W[feature[e], c], for many classes: row after row.
template <class Real>
SOFTMARGIN_INLINE void multiply_by_rows(const Real* W, std::ptrdiff_t classes,
                                        const std::int32_t* feature, const double* value,
                                        std::size_t size, Real* out) {
  constexpr std::ptrdiff_t block = 2048;  // of `out`, to stay in the nearest cache
  for (std::ptrdiff_t start = 0; start < classes; start += block) {
    const std::ptrdiff_t width = std::min(block, classes - start);
    Real* o = out + start;
    const auto row = [&](std::size_t e) { return W + feature[e] * classes + start; };
    std::fill(o, o + width, Real(0));
    std::size_t e = 0;
    for (; e + 4 <= size; e += 4)
      add_four(o, row(e), row(e + 1), row(e + 2), row(e + 3), value + e, width);
    for (; e < size; ++e) add_one(o, row(e), static_cast<Real>(value[e]), width);
  }
}

// The same for few classes: `count` registers of them are added up while the rows go by. What is
// read beyond the last class belongs to the next row, or to the room behind W, and is never used.
#if defined(__GNUC__)
typedef double Doubles __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));

template <class Real, int count>
SOFTMARGIN_INLINE void multiply_in_registers(const Real* W, std::ptrdiff_t classes,
                                             const std::int32_t* feature, const double* value,
                                             std::size_t size, Real* out) {
  using Register = std::conditional_t<std::is_same_v<Real, float>, Floats, Doubles>;
  Register sum[count] = {};
  for (std::size_t e = 0; e < size; ++e) {
    const Real* row = W + feature[e] * classes;
    const Real x = static_cast<Real>(value[e]);
    for (int r = 0; r < count; ++r) {
      Register w;
      std::memcpy(&w, row + r * lanes<Real>, sizeof w);
      sum[r] += x * w;
    }
  }
  std::memcpy(out, sum, sizeof sum);
}
#else
template <class Real, int count>
void multiply_in_registers(const Real* W, std::ptrdiff_t classes, const std::int32_t* feature,
                           const double* value, std::size_t size, Real* out) {
  std::fill(out, out + count * lanes<Real>, Real(0));
  for (std::size_t e = 0; e < size; ++e)
    add_one(out, W + feature[e] * classes, static_cast<Real>(value[e]), count * lanes<Real>);
}
#endif

template <class Real, int count = most_registers>
SOFTMARGIN_INLINE void multiply_block(const Real* W, std::ptrdiff_t classes, std::ptrdiff_t width,
                                      const std::int32_t* feature, const double* value,
                                      std::size_t size, Real* out) {
  if constexpr (count > 1)
    if (width <= (count - 1) * lanes<Real>)
      return multiply_block<Real, count - 1>(W, classes, width, feature, value, size, out);
  multiply_in_registers<Real, count>(W, classes, feature, value, size, out);
}

template <class Real>
SOFTMARGIN_INLINE void multiply_row(const Real* W, std::ptrdiff_t classes,
                                    const std::int32_t* feature, const double* value,
                                    std::size_t size, Real* out) {
  constexpr std::ptrdiff_t block = most_registers * lanes<Real>;
  if (classes > 4 * block) return multiply_by_rows(W, classes, feature, value, size, out);
  for (std::ptrdiff_t start = 0; start < classes; start += block)
    multiply_block(W + start, classes, classes - start, feature, value, size, out + start);
}

template <class Real>
SOFTMARGIN_INLINE void add_outer(Real* W, std::ptrdiff_t classes, const std::int32_t* feature,
                                 const double* value, std::size_t size, const Real* change) {
  for (std::size_t e = 0; e < size; ++e)
    add_one(W + feature[e] * classes, change, static_cast<Real>(value[e]), classes);
}

// The classes c with low < score[c] <= high, in order; returns how many. What is read beyond the
// last class is never used.
template <class Real>
SOFTMARGIN_INLINE std::size_t find_between(const Real* score, std::int32_t classes, Real low,
                                           Real high, std::int32_t* found) {
  constexpr std::int32_t width = lanes<Real>;
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

// For benchmarks: as fast as an array can be read.
template <class Real>
SOFTMARGIN_INLINE Real sum_in_lanes(const Real* values, std::size_t size) {
  constexpr std::size_t width = 128 / sizeof(Real);
  Real sums[width] = {};
  for (std::size_t i = 0; i + width <= size; i += width)
    for (std::size_t l = 0; l < width; ++l) sums[l] += values[i + l];
  Real total = 0;
  for (const Real sum : sums) total += sum;
  return total;
}

#define SOFTMARGIN_WIDE_LOOPS(Real)                                                        \
  inline void multiply(const Real* W, std::ptrdiff_t classes, const std::int32_t* feature, \
                       const double* value, std::size_t size, Real* out) {                 \
    multiply_row(W, classes, feature, value, size, out);                                   \
  }                                                                                        \
  inline void add(Real* W, std::ptrdiff_t classes, const std::int32_t* feature,            \
                  const double* value, std::size_t size, const Real* change) {             \
    add_outer(W, classes, feature, value, size, change);                                   \
  }                                                                                        \
  inline std::size_t between(const Real* score, std::int32_t classes, Real low, Real high, \
                             std::int32_t* found) {                                        \
    return find_between(score, classes, low, high, found);                                 \
  }                                                                                        \
  inline Real sum_of(const Real* values, std::size_t size) { return sum_in_lanes(values, size); }
SOFTMARGIN_WIDE_LOOPS(float)
SOFTMARGIN_WIDE_LOOPS(double)
#undef SOFTMARGIN_WIDE_LOOPS

template <class Real>
class Weights {
 public:
  Weights(std::int32_t features, std::int32_t classes)
      : classes_(classes),
        values_(static_cast<std::size_t>(features) * classes + room),
        change_(classes) {}

  // Scores of all classes; `out` has `room` for more.
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
    add(values_.data(), classes_, row.feature.data(), row.value.data(), row.size, change_.data());
    for (std::size_t j = 0; j < size; ++j) change_[cls[j]] = 0;
  }

  double squared_norm() const {
    double sum = 0;
    for (std::size_t start = 0; start + room < values_.size(); start += classes_) {
      double part = 0;  // sums of sums lose fewer digits
      for (std::ptrdiff_t c = 0; c < classes_; ++c)
        part += static_cast<double>(values_[start + c]) * values_[start + c];
      sum += part;
    }
    return sum;
  }

  // features x classes, and some room behind.
  std::vector<Real>& values() { return values_; }
  std::int32_t classes() const { return static_cast<std::int32_t>(classes_); }

 private:
  // Calls work(count, start) for groups of four and a rest: few enough to stay in registers.
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

}  // namespace softmargin::linear
