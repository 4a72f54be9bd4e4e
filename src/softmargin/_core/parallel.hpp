// Loops over ranges on several threads. Threads live for one loop only: nothing is shared between
// fits, and nothing can be broken by a fork.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace softmargin {

// Calls body(begin, end, worker) on `threads` contiguous ranges of [0, count), each a multiple of
// `grain` long but for the last. The split depends on the arguments alone.
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
  for (int w = 1; w < workers; ++w) others.emplace_back(work, w);
  work(0);
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace softmargin
