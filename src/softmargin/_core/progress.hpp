// Whether a solver still makes progress: a last safeguard against loops that rounding would make
// endless.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace softmargin {

class Progress {
 public:
  // For a solver of `size` variables. It has stalled after a long window in which neither the
  // smallest violation nor the objective improved, or after a very long window in which only the
  // objective improved. Variables without a bound can lower the objective for ever; for these, only
  // the violation counts.
  Progress(std::int64_t size, bool bounded)
      : window_(std::max<std::int64_t>(1'000'000, std::int64_t{1000} * size)),
        long_window_((bounded ? 50 : 1) * window_) {}

  bool has_stalled(std::int64_t now, double violation, double objective) {
    if (violation < 0.99 * best_violation_) {
      best_violation_ = violation;
      closer_ = lower_ = now;
    }
    if (!(objective >= best_objective_ - 1e-9 * std::abs(best_objective_))) {
      best_objective_ = objective;
      lower_ = now;
    }
    return now - lower_ > window_ || now - closer_ > long_window_;
  }

  // Restarts the windows.
  void begin_at(std::int64_t now) { closer_ = lower_ = now; }

 private:
  std::int64_t window_, long_window_;
  std::int64_t closer_ = 0, lower_ = 0;  // when the violation and the objective last improved
  double best_violation_ = std::numeric_limits<double>::infinity();
  double best_objective_ = std::numeric_limits<double>::infinity();
};

}  // namespace softmargin
