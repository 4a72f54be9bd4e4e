// Loops compiled twice, for the baseline and for AVX2 with FMA, the better one chosen when the
// module loads. Elsewhere (other compilers, other systems, other processors) there is the baseline
// alone.
#pragma once

#include <cstdlib>  // defines __GLIBC__ where there is one

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define SOFTMARGIN_WIDE [[gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define SOFTMARGIN_WIDE [[gnu::target_clones("avx2", "default")]]
#endif
#else
#define SOFTMARGIN_WIDE
#endif

#if defined(__GNUC__)
#define SOFTMARGIN_INLINE [[gnu::always_inline]] inline
#define SOFTMARGIN_RESTRICT __restrict__
#else
#define SOFTMARGIN_INLINE inline
#define SOFTMARGIN_RESTRICT __restrict
#endif

namespace softmargin {

// Asks for a cache line that will be read soon; never faults.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace softmargin
