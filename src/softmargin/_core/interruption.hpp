// Interrupts long computations. The loops over kernel rows call ask() now and then. On the calling
// thread it calls a function of the caller, at most every 50 ms; if that throws, the other threads
// stop too. The result is then incomplete, and the object that computed it must be discarded.
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

  // From any thread: requests an early end that, unlike an exception, keeps the current point.
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
