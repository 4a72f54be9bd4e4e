// The loop around the descent, in slices of time. It decides when a fit has converged, when it is
// stuck, and when to extrapolate.
//
// Each pass gives an estimate of the gap at no cost. The estimate decides when a complete check of
// all examples and classes is worth its time; only that check can find the fit optimal. run()
// continues where it stopped; the length of the slices does not change the steps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "descent.hpp"
#include "extrapolation.hpp"

namespace softmargin::linear {

// The state of a fit, as Python sees it.
struct DescentReport {
  bool optimal = false, stuck = false;
  double primal = 0, gap = 0, violation = 0;  // from the last complete check
  double dual = 0;                            // current
  double estimated_gap = 0;                   // relative gap, estimated during the last pass
  std::int64_t passes = 0, visits = 0, support_visits = 0, checks = 0, entries = 0;
  std::int64_t active = 0;  // examples that are not skipped
  bool checked = false;     // whether nothing has changed since the last complete check
  double relative_gap() const { return primal == 0 ? 0 : gap / primal; }  // NaN stays NaN
};

// A solver for any of the machines.
template <class Real>
class AnySolver {
 public:
  virtual ~AnySolver() = default;
  virtual DescentReport run(std::int64_t max_passes, double max_seconds) = 0;
  virtual DescentReport finish(double max_seconds) = 0;
  virtual void start_from(const std::int64_t* starts, const std::int32_t* cls,
                          const double* beta) = 0;
  virtual Weights<Real>& weights() = 0;
  virtual const std::vector<Example>& examples() const = 0;
};

template <class Real, class Machine>
class Solver final : public AnySolver<Real> {
 public:
  Solver(const RowReader& rows, const Given& given, std::int32_t classes, Machine machine,
         double tolerance, bool shrinking, bool extrapolation, std::uint64_t seed)
      : descent_(rows, given, classes, machine, shrinking, seed), tolerance_(tolerance) {
    if (extrapolation && Machine::plain_dual) extrapolation_.emplace(rows, classes);
    report_.dual = descent_.dual();
  }

  // Line 3 of Algorithm 1: while not converged.
  DescentReport run(std::int64_t max_passes, double max_seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    const auto out_of_time = [&] { return Clock::now() >= end; };
    for (std::int64_t last = descent_.passes() + max_passes; !report_.optimal && !report_.stuck;) {
      if (checking_) {
        if (advance_check(out_of_time)) end_check();
      } else {
        if (descent_.passes() >= last) break;
        if (!descent_.in_pass() && !begin_pass(out_of_time)) break;
        if (descent_.advance_pass(out_of_time)) end_pass();
      }
      if (out_of_time()) break;
    }
    return report();
  }

  // Makes a complete check if anything has changed since the last one. Continues where it stopped;
  // `checked` in the report tells whether it is complete.
  DescentReport finish(double max_seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto out_of_time = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count() >= max_seconds;
    };
    if (!checked_) {
      if (!checking_) begin_check();
      if (advance_check(out_of_time)) end_check();
    }
    return report();
  }

  void start_from(const std::int64_t* starts, const std::int32_t* cls,
                  const double* beta) override {
    descent_.start_from(starts, cls, beta);
    begin_check();
  }

  Weights<Real>& weights() override { return descent_.weights(); }
  const std::vector<Example>& examples() const override { return descent_.examples(); }

 private:
  DescentReport report() {
    report_.dual = descent_.dual();
    report_.passes = descent_.passes();
    report_.visits = descent_.visits();
    report_.support_visits = descent_.support_visits();
    report_.entries = static_cast<std::int64_t>(count_nonzero(descent_.examples()));
    report_.active = static_cast<std::int64_t>(descent_.active());
    report_.checked = checked_;
    return report_;
  }

  // False if it ran out of time and must be called again.
  template <class OutOfTime>
  bool begin_pass(OutOfTime out_of_time) {
    if (extrapolation_ && extrapolation_->due(descent_.passes())) {
      const auto gain =
          extrapolation_->advance(descent_.passes(), descent_.dual(), descent_.gap(),
                                  descent_.examples(), descent_.weights(), out_of_time);
      if (!gain) return false;
      descent_.dual() += *gain;
    }
    descent_.begin_pass();
    checked_ = false;
    return true;
  }

  void end_pass() {
    descent_.end_pass();
    const double gap = descent_.gap();
    report_.estimated_gap = gap > 0 ? gap / (descent_.dual() + gap) : 0;
    if (std::is_same_v<Real, float> && !improving()) {
      report_.stuck = true;
      return;
    }
    if (report_.estimated_gap <= tolerance_ * trigger_ ||
        (descent_.exhausted() && descent_.complete()))
      begin_check();
    else if (descent_.exhausted())
      descent_.reactivate([](std::int32_t) { return true; });
  }

  // Weights in float32 cannot represent small steps: the gap then stops falling.
  bool improving() {
    constexpr std::int64_t patience = 30;  // passes
    if (report_.estimated_gap < 0.999 * best_gap_) {
      best_gap_ = report_.estimated_gap;
      best_pass_ = descent_.passes();
    }
    return descent_.passes() <= best_pass_ + patience;
  }

  // --- the complete check ---------------------------------------------------------------------

  void begin_check() {
    checking_ = true;
    check_position_ = 0;
    losses_ = worst_ = 0;
  }

  template <class OutOfTime>
  bool advance_check(OutOfTime out_of_time) {
    const std::vector<std::int32_t>& order = descent_.order();
    while (check_position_ < order.size()) {
      for (int n = 0; n < descent_.visits_per_look() && check_position_ < order.size(); ++n) {
        const std::int32_t i = order[check_position_++];
        const auto measure = descent_.measure(i);
        losses_ += measure.loss;
        worst_ = std::max(worst_, measure.violation);
      }
      if (check_position_ < order.size() && out_of_time()) return false;
    }
    return true;
  }

  void end_check() {
    checking_ = false;
    checked_ = true;
    ++report_.checks;
    report_.gap = descent_.add_up_gap();
    report_.primal = weights().squared_norm() / 2 + losses_ + descent_.constant();
    descent_.dual() = report_.primal - report_.gap;
    report_.violation = worst_;
    const double found = report_.relative_gap();
    report_.optimal = found <= tolerance_;
    if (report_.optimal) return;
    const bool any_pass = descent_.passes() > 0;  // if not, there is no estimate yet
    report_.stuck = any_pass && descent_.complete() && descent_.exhausted();
    // If the estimate was too low, the next check waits until it is lower by the same factor.
    if (any_pass)
      trigger_ = found > 0 ? std::clamp(0.9 * report_.estimated_gap / found, 0.1, 1.0) : 1.0;
    const double share = tolerance_ * report_.primal / static_cast<double>(descent_.order().size());
    descent_.reactivate([&](std::int32_t i) { return descent_.examples()[i].gap > share / 2; });
  }

  Descent<Real, Machine> descent_;
  std::optional<Extrapolation<Real, Machine>> extrapolation_;
  double tolerance_;
  bool checking_ = false, checked_ = false;
  std::size_t check_position_ = 0;
  double losses_ = 0, worst_ = 0;  // over the examples checked so far
  double trigger_ = 1;             // an estimate of trigger_ * tolerance_ starts a check
  double best_gap_ = std::numeric_limits<double>::infinity();
  std::int64_t best_pass_ = 0;
  DescentReport report_;
};

}  // namespace softmargin::linear
