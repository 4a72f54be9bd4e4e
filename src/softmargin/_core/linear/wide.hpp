// What compilers must be told for a loop to vectorise, and the comparisons that they do not make
// bits of by themselves.
#pragma once

#include <cstddef>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define SOFTMARGIN_INLINE [[gnu::always_inline]] inline
#define SOFTMARGIN_RESTRICT __restrict__
#else
#define SOFTMARGIN_INLINE inline
#define SOFTMARGIN_RESTRICT __restrict
#endif

namespace softmargin::linear {

// Registers as wide as AVX2's; compilers split them where there are none so wide.
template <class Real>
constexpr std::ptrdiff_t lanes = 32 / sizeof(Real);

// Which of a register of numbers are above `low`, or are not zero: a bit each.
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
  for (int l = 0; l < lanes<Real>; ++l) bits |= static_cast<unsigned>(x[l] > low) << l;
  return bits;
}
template <class Real>
SOFTMARGIN_INLINE unsigned bits_not_zero(const Real* x) {
  unsigned bits = 0;
  for (int l = 0; l < lanes<Real>; ++l) bits |= static_cast<unsigned>(x[l] != 0) << l;
  return bits;
}
#endif

// Asks for a cache line that will be read soon; never faults.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace softmargin::linear
