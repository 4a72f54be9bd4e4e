// A way out of long computations. The loops over kernel rows ask now and then; the answer comes
// from outside and only on the calling thread, and an exception thrown there ends the others too.
// What was being computed is then incomplete: its owner must be given up.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <utility>

namespace softmargin {

class Interruption {
 public:
  struct Elsewhere : std::exception {};  // the calling thread has thrown

  explicit Interruption(std::function<void()> check) : check_(std::move(check)) {}

  // From any thread: asks for an early end with what has been reached, as opposed to an exception.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  void ask(int worker) {
    if (worker != 0) {
      if (interrupted_.load(std::memory_order_relaxed)) throw Elsewhere();
      return;
    }
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    try {
      check_();
    } catch (...) {
      interrupted_ = true;
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::function<void()> check_;
  std::atomic<bool> interrupted_{false}, stopped_{false};
  Clock::time_point next_{};
};

}  // namespace softmargin
