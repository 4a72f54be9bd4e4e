// Products of packed rows: the inner loop of a matrix product, with all its sums in registers. A
// few rows make a panel, packed feature by feature.
//
// This does not use a BLAS: the tiles are so small that the library's own threads would cost more
// than the product, and here the result does not depend on the number of rows in a batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "simd.hpp"

namespace softmargin {

using Index = std::int32_t;

template <class Real>
struct Panel {
  static constexpr int left = 6;                 // rows of a left panel (the batch)
  static constexpr int right = 2 * lanes<Real>;  // rows of a right panel (the examples)

  static Index count(Index rows, int width) { return (rows + width - 1) / width; }
  static std::size_t size(Index rows, int width, Index features) {
    return static_cast<std::size_t>(count(rows, width)) * width * features;
  }
};

// What each feature adds to the sum for two rows: the product of the two values ...
struct Products {
  template <class Real, class Values>
  static Values add(Real a, Values b, Values sum) {
    return multiply_add(a, b, sum);
  }
};

// ... or minus half their squared difference. Then the sum is <a, b> - |a|^2 / 2 - |b|^2 / 2, but
// without the cancellation in that formula.
struct Differences {
  template <class Real, class Values>
  static Values add(Real a, Values b, Values sum) {
    const Values d = a - b;
    return multiply_add(-0.5 * d, d, sum);
  }
};

#if defined(SOFTMARGIN_VECTOR_TYPES)
// Interleaves the lower or the upper halves of two vectors, lane by lane.
template <int first, class V, int... lane>
V interleave(V a, V b, std::integer_sequence<int, lane...>) {
  constexpr int size = sizeof...(lane);
  return __builtin_shufflevector(a, b, (first + lane / 2 + (lane % 2) * size)...);
}

// Transposes, in registers, a square with as many rows as a vector has lanes: it interleaves the
// vectors of the first half with those of the second, log2(lanes) times.
template <class Real>
void transpose_square(const Real* rows, std::ptrdiff_t stride, Real* out, std::ptrdiff_t width) {
  constexpr int size = lanes<Real>;
  using V = Vector<Real>;
  using Lanes = std::make_integer_sequence<int, size>;
  V square[size], mixed[size];
  for (int r = 0; r < size; ++r) square[r] = load<V>(rows + r * stride);
  for (int bit = 1; bit < size; bit *= 2) {
    for (int r = 0; r < size / 2; ++r) {
      mixed[2 * r] = interleave<0>(square[r], square[r + size / 2], Lanes{});
      mixed[2 * r + 1] = interleave<size / 2>(square[r], square[r + size / 2], Lanes{});
    }
    std::copy_n(mixed, size, square);
  }
  for (int r = 0; r < size; ++r) store(out + r * width, square[r]);
}
#endif

// out[f * width + r] = rows[r * stride + f] for f < length.
template <int width, class Real>
void transpose(const Real* rows, Index stride, Index length, Real* out) {
  Index f = 0;
#if defined(SOFTMARGIN_VECTOR_TYPES)
  constexpr int size = lanes<Real>;
  if constexpr (width % size == 0)
    for (; f + size <= length; f += size)
      for (int r = 0; r < width; r += size)
        transpose_square(rows + r * stride + f, stride, out + f * width + r, width);
#endif
  for (; f < length; ++f)
    for (int r = 0; r < width; ++r) out[f * width + r] = rows[r * stride + f];
}

// out[i * stride + j] = sum over features f of left[f][i] right[f][j], added to out if `add`.
template <class Terms, class Real>
void multiply_panels(Index features, const Real* left, const Real* right, bool add, Real* out,
                     std::ptrdiff_t stride) {
  using P = Panel<Real>;
  using V = Vector<Real>;
  V sums[P::left][2] = {};
  for (Index f = 0; f < features; ++f, left += P::left, right += P::right) {
    const V first = load<V>(right), second = load<V>(right + lanes<Real>);
    SOFTMARGIN_UNROLL
    for (int i = 0; i < P::left; ++i) {
      sums[i][0] = Terms::add(left[i], first, sums[i][0]);
      sums[i][1] = Terms::add(left[i], second, sums[i][1]);
    }
  }
  SOFTMARGIN_UNROLL
  for (int i = 0; i < P::left; ++i) {
    Real *target = out + i * stride, *next = target + lanes<Real>;
    if (add) sums[i][0] += load<V>(target), sums[i][1] += load<V>(next);
    store(target, sums[i][0]);
    store(next, sums[i][1]);
  }
}

// Features multiplied at a time, so that a right panel stays in the L1 cache.
constexpr Index depth = 256;

// out[r * stride + c] = <left row r, right row c>, for packed left and right rows.
template <class Terms, class Real>
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
          multiply_panels<Terms>(length, l, r, first > 0, target, stride);
          continue;
        }
        Real edge[P::left * P::right] = {};
        for (Index a = 0; first > 0 && a < rows; ++a)
          std::copy_n(target + a * stride, columns, edge + a * P::right);
        multiply_panels<Terms>(length, l, r, true, edge, P::right);
        for (Index a = 0; a < rows; ++a)
          std::copy_n(edge + a * P::right, columns, target + a * stride);
      }
    }
  }
}

}  // namespace softmargin
