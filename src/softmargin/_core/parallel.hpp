// Loops over ranges on several threads. Threads live for one loop only, so fits share nothing, and
// a fork cannot break anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace softmargin {

// Call this at the start of a thread. The first exception in a thread allocates memory; if that
// fails, as it may when the exception is std::bad_alloc, the C library ends the process.
inline void prepare_for_exceptions() { static_cast<void>(std::current_exception()); }

// Calls body(begin, end, worker) on up to `threads` contiguous ranges of [0, count). Their lengths
// are multiples of `grain`, except for the last, and depend only on the arguments. An exception in
// any range, including std::bad_alloc, is rethrown in the calling thread. If a thread cannot be
// started, the calling thread does its range too.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t grain, int threads, Body body) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const int workers =
      static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(grains, 1)));
  if (workers == 1) return body(std::int64_t{0}, count, 0);
  std::vector<std::exception_ptr> failures(workers);
  const auto work = [&](int w) {
    try {
      const std::int64_t begin = grains * w / workers * grain;
      const std::int64_t end = std::min(count, grains * (w + 1) / workers * grain);
      body(begin, end, w);
    } catch (...) {
      failures[w] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(workers - 1);
  int started = 1;
  try {
    for (; started < workers; ++started)
      others.emplace_back([&work](int w) { prepare_for_exceptions(), work(w); }, started);
  } catch (const std::exception&) {  // no memory for the thread's stack, or too many threads
  }
  work(0);
  for (int w = started; w < workers; ++w) work(w);
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace softmargin
