// Products of packed rows: the inner loop of a matrix product, with everything it adds up held in
// registers. Rows are packed in panels of a few, feature by feature.
//
// Written here rather than asked of a BLAS: the tiles are small, so a library's own threads would
// cost more than the product, and the result does not depend on how many rows a batch has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace softmargin {

using Index = std::int32_t;

#if defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class Real>
struct Panel {
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Real));
  static constexpr int left = 6;           // rows of a left panel (the batch)
  static constexpr int right = 2 * lanes;  // rows of a right panel (the examples)

  static Index count(Index rows, int width) { return (rows + width - 1) / width; }
  static std::size_t size(Index rows, int width, Index features) {
    return static_cast<std::size_t>(count(rows, width)) * width * features;
  }
};

#if defined(__GNUC__) || defined(__clang__)
template <class Real>
struct VectorOf {
  typedef Real type __attribute__((vector_size(vector_bytes), aligned(sizeof(Real)), may_alias));
};
template <class Real>
using Vector = typename VectorOf<Real>::type;
#define SOFTMARGIN_UNROLL _Pragma("GCC unroll 8")
#else
template <class Real>
struct Vector {  // compilers without vector types: the same loops, one lane at a time
  Real lane[Panel<Real>::lanes];
  friend Vector operator*(Real s, Vector v) {
    for (Real& x : v.lane) x *= s;
    return v;
  }
  Vector& operator+=(const Vector& other) {
    for (int l = 0; l < Panel<Real>::lanes; ++l) lane[l] += other.lane[l];
    return *this;
  }
};
#define SOFTMARGIN_UNROLL
#endif

// a b + c, rounded once wherever the processor can. Written out, because what a compiler fuses of
// its own accord differs from loop to loop, and a product must not depend on the loop that made it.
template <class Real>
Real multiply_add(Real a, Real b, Real c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
#if defined(__AVX2__) && defined(__FMA__)
inline Vector<float> multiply_add(float a, Vector<float> b, Vector<float> c) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}
inline Vector<double> multiply_add(double a, Vector<double> b, Vector<double> c) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c);
}
#else
template <class Real>
Vector<Real> multiply_add(Real a, Vector<Real> b, Vector<Real> c) {
  c += a * b;
  return c;
}
#endif

#if defined(__GNUC__) || defined(__clang__)
// The lower or the upper halves of two vectors, lane by lane in turn.
template <int first, class V, int... lane>
V interleave(V a, V b, std::integer_sequence<int, lane...>) {
  constexpr int lanes = sizeof...(lane);
  return __builtin_shufflevector(a, b, (first + lane / 2 + (lane % 2) * lanes)...);
}

// A square of as many rows as a vector has lanes, in registers: interleaving the vectors of the
// first half with those of the second, as often as a lane's number has bits, turns rows to columns.
template <class Real>
void transpose_square(const Real* rows, std::ptrdiff_t stride, Real* out, std::ptrdiff_t width) {
  constexpr int lanes = Panel<Real>::lanes;
  using V = Vector<Real>;
  using Lanes = std::make_integer_sequence<int, lanes>;
  V square[lanes], mixed[lanes];
  for (int r = 0; r < lanes; ++r) square[r] = *reinterpret_cast<const V*>(rows + r * stride);
  for (int bit = 1; bit < lanes; bit *= 2) {
    for (int r = 0; r < lanes / 2; ++r) {
      mixed[2 * r] = interleave<0>(square[r], square[r + lanes / 2], Lanes{});
      mixed[2 * r + 1] = interleave<lanes / 2>(square[r], square[r + lanes / 2], Lanes{});
    }
    std::copy_n(mixed, lanes, square);
  }
  for (int r = 0; r < lanes; ++r) *reinterpret_cast<V*>(out + r * width) = square[r];
}
#endif

// out[f * width + r] = rows[r * stride + f] for f < length.
template <int width, class Real>
void transpose(const Real* rows, Index stride, Index length, Real* out) {
  Index f = 0;
#if defined(__GNUC__) || defined(__clang__)
  constexpr int lanes = Panel<Real>::lanes;
  if constexpr (width % lanes == 0)
    for (; f + lanes <= length; f += lanes)
      for (int r = 0; r < width; r += lanes)
        transpose_square(rows + r * stride + f, stride, out + f * width + r, width);
#endif
  for (; f < length; ++f)
    for (int r = 0; r < width; ++r) out[f * width + r] = rows[r * stride + f];
}

// out[i * stride + j] = sum over features f of left[f][i] right[f][j], added to out if `add`.
template <class Real>
void multiply_panels(Index features, const Real* left, const Real* right, bool add, Real* out,
                     std::ptrdiff_t stride) {
  using P = Panel<Real>;
  using V = Vector<Real>;
  V sums[P::left][2] = {};
  for (Index f = 0; f < features; ++f, left += P::left, right += P::right) {
    const V first = *reinterpret_cast<const V*>(right);
    const V second = *reinterpret_cast<const V*>(right + P::lanes);
    SOFTMARGIN_UNROLL
    for (int i = 0; i < P::left; ++i) {
      sums[i][0] = multiply_add(left[i], first, sums[i][0]);
      sums[i][1] = multiply_add(left[i], second, sums[i][1]);
    }
  }
  SOFTMARGIN_UNROLL
  for (int i = 0; i < P::left; ++i) {
    V* target = reinterpret_cast<V*>(out + i * stride);
    V* next = reinterpret_cast<V*>(out + i * stride + P::lanes);
    if (add) sums[i][0] += *target, sums[i][1] += *next;
    *target = sums[i][0];
    *next = sums[i][1];
  }
}

// Features multiplied at a time, so that a right panel stays in the L1 cache.
constexpr Index depth = 256;

// out[r * stride + c] = <left row r, right row c>, for packed left and right rows.
template <class Real>
void multiply_packed(Index left_rows, Index right_rows, Index features, const Real* left,
                     const Real* right, Real* out, std::ptrdiff_t stride) {
  using P = Panel<Real>;
  for (Index first = 0; first == 0 || first < features; first += depth) {
    const Index length = std::min(depth, features - first);
    for (Index j = 0; j < right_rows; j += P::right) {
      const Real* r = right + static_cast<std::size_t>(j) * features + first * P::right;
      for (Index i = 0; i < left_rows; i += P::left) {
        const Real* l = left + static_cast<std::size_t>(i) * features + first * P::left;
        Real* target = out + i * stride + j;
        const Index rows = std::min<Index>(P::left, left_rows - i);
        const Index columns = std::min<Index>(P::right, right_rows - j);
        if (rows == P::left && columns == P::right) {
          multiply_panels(length, l, r, first > 0, target, stride);
          continue;
        }
        Real edge[P::left * P::right] = {};
        for (Index a = 0; first > 0 && a < rows; ++a)
          std::copy_n(target + a * stride, columns, edge + a * P::right);
        multiply_panels(length, l, r, true, edge, P::right);
        for (Index a = 0; a < rows; ++a)
          std::copy_n(edge + a * P::right, columns, target + a * stride);
      }
    }
  }
}

}  // namespace softmargin
