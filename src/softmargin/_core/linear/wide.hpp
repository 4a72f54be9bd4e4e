// What compilers must be told for a loop to vectorise.
#pragma once

#if defined(__GNUC__)
#define SOFTMARGIN_INLINE [[gnu::always_inline]] inline
#define SOFTMARGIN_RESTRICT __restrict__
#else
#define SOFTMARGIN_INLINE inline
#define SOFTMARGIN_RESTRICT __restrict
#endif

namespace softmargin::linear {

// Asks for a cache line that will be read soon; never faults.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace softmargin::linear
