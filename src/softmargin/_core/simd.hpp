// Vector instructions: all names that the core uses for them.
//
//   Vector<Real>        a register of numbers, `vector_bytes` wide unless another width is given
//   lanes<Real>         how many numbers it holds
//   load, store         memory need not be aligned
//   multiply_add        a b + c
//   larger, smaller     lane by lane; also for plain numbers
//   bits_above, bits_not_zero    a comparison as a bit per lane
//   prefetch            requests memory that will be read soon
//
// Compilers split a vector that is wider than the processor's registers. A loop whose sums must be
// bit for bit the same in every build gives the width: Vector<double, 32>.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SOFTMARGIN_VECTOR_TYPES
#define SOFTMARGIN_INLINE [[gnu::always_inline]] inline
#define SOFTMARGIN_RESTRICT __restrict__
#define SOFTMARGIN_UNROLL _Pragma("GCC unroll 8")
#else
#define SOFTMARGIN_INLINE inline
#define SOFTMARGIN_RESTRICT __restrict
#define SOFTMARGIN_UNROLL
#endif

namespace softmargin {

#if defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class Real, int bytes = vector_bytes>
constexpr int lanes = bytes / static_cast<int>(sizeof(Real));

#if defined(SOFTMARGIN_VECTOR_TYPES)
template <class Real, int bytes>
struct VectorOf {
  typedef Real type __attribute__((vector_size(bytes), aligned(sizeof(Real)), may_alias));
};
template <class Real, int bytes = vector_bytes>
using Vector = typename VectorOf<Real, bytes>::type;
#else
template <class Real, int bytes = vector_bytes>
struct Vector {  // for compilers without vector types: one lane at a time
  Real lane[lanes<Real, bytes>];
  friend Vector operator*(Real s, Vector v) {
    for (Real& x : v.lane) x *= s;
    return v;
  }
  friend Vector operator*(Vector a, const Vector& b) {
    for (int l = 0; l < lanes<Real, bytes>; ++l) a.lane[l] *= b.lane[l];
    return a;
  }
  friend Vector operator-(Real s, Vector v) {
    for (Real& x : v.lane) x = s - x;
    return v;
  }
  Vector& operator+=(const Vector& other) {
    for (int l = 0; l < lanes<Real, bytes>; ++l) lane[l] += other.lane[l];
    return *this;
  }
};
#endif

#if defined(SOFTMARGIN_VECTOR_TYPES)
// The types may alias and need no alignment. With memcpy, GCC 12 goes through the stack, in halves.
template <class V, class Real>
SOFTMARGIN_INLINE V load(const Real* from) {
  return *reinterpret_cast<const V*>(from);
}
template <class V, class Real>
SOFTMARGIN_INLINE void store(Real* to, const V& vector) {
  *reinterpret_cast<V*>(to) = vector;
}
#else
template <class V, class Real>
SOFTMARGIN_INLINE V load(const Real* from) {
  V vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class V, class Real>
SOFTMARGIN_INLINE void store(Real* to, const V& vector) {
  std::memcpy(to, &vector, sizeof vector);
}
#endif

// a b + c, rounded once if the processor can. It is explicit because compilers fuse operations in
// some loops and not in others, and a product must not depend on the loop that computed it.
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
inline Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#else
template <class Real>
Vector<Real> multiply_add(Real a, Vector<Real> b, Vector<Real> c) {
  c += a * b;
  return c;
}
inline Vector<double> multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) {
  c += a * b;
  return c;
}
#endif

template <class Number>
Number larger(Number a, Number b) {
  return a > b ? a : b;
}
template <class Number>
Number smaller(Number a, Number b) {
  return a < b ? a : b;
}

// Tests the numbers in the next 32 bytes: which are above `low`, or which are not zero.
#if defined(__AVX2__)
SOFTMARGIN_INLINE unsigned bits_above(const double* x, double low) {
  return _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(x), _mm256_set1_pd(low), _CMP_GT_OQ));
}
SOFTMARGIN_INLINE unsigned bits_above(const float* x, float low) {
  return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_set1_ps(low), _CMP_GT_OQ));
}
SOFTMARGIN_INLINE unsigned bits_not_zero(const double* x) {
  return _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(x), _mm256_setzero_pd(), _CMP_NEQ_UQ));
}
SOFTMARGIN_INLINE unsigned bits_not_zero(const float* x) {
  return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_setzero_ps(), _CMP_NEQ_UQ));
}
#else
template <class Real>
SOFTMARGIN_INLINE unsigned bits_above(const Real* x, Real low) {
  unsigned bits = 0;
  for (int l = 0; l < lanes<Real, 32>; ++l) bits |= static_cast<unsigned>(x[l] > low) << l;
  return bits;
}
template <class Real>
SOFTMARGIN_INLINE unsigned bits_not_zero(const Real* x) {
  unsigned bits = 0;
  for (int l = 0; l < lanes<Real, 32>; ++l) bits |= static_cast<unsigned>(x[l] != 0) << l;
  return bits;
}
#endif

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace softmargin
