// When a Newton step is taken: when pair steps have become slow for what they gain.
//
// Work is counted in multiplications, roughly, and not in seconds, so that the same data give the
// same steps. A Newton step is due when the pair steps since the last one have done `patience`
// times the work that it takes. Pair steps lower the objective fast at first and then ever more
// slowly; a Newton step gains at once what they would gain only in the long run. So it pays if it
// lowers the objective by at least a quarter of what the latest pair steps would gain with the same
// work. If it pays, the patience is halved, otherwise doubled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "newton_step.hpp"

namespace softmargin {

class NewtonSchedule {
 public:
  // The most variables of one step, which then takes a few seconds.
  static constexpr Index most_variables = 5000;

  // The same limit, lowered so that the matrix of a step fits into a quarter of the memory for
  // kernel rows.
  static Index most_free(std::size_t cache_bytes) {
    const double fit = std::sqrt(static_cast<double>(cache_bytes) / 32);
    return static_cast<Index>(std::min<double>(most_variables, fit));
  }

  // The unit of work is about 0.08 ns on a processor with AVX2.
  static double pair_work(Index active, std::size_t parts) {
    return 25.0 * static_cast<double>(active) * static_cast<double>(parts) + 500;
  }
  // The expected work of a step on `free` variables, which then change the gradient of `active`
  // ones.
  static double newton_work(Index free, Index active) {
    return NewtonStep::factor_work(free) + 12 * NewtonStep::solve_work(free) +
           update_work(free, active);
  }
  // The work of bringing the gradient of the active variables up to date.
  static double update_work(Index changed, Index active) {
    return 5.0 * static_cast<double>(changed) * active;
  }

  // Forgets the work so far: another problem begins, or a step was not possible.
  void restart() { now_ = newer_ = older_ = {}; }

  void worked(double work, double gain) {
    now_.work += work, now_.gain += gain;
    if (now_.work >= 1.25 * newer_.work) older_ = newer_, newer_ = now_;
  }

  bool is_due(Index free, Index active) const {
    return free > 1 && is_due(newton_work(free, active));
  }
  // Whether a step that takes this much work is due.
  bool is_due(double work) const { return now_.work >= patience_ * work; }

  // A step that takes more work than this ends at its current point: other steps may bring
  // variables to their bounds sooner.
  static double most_work(Index free, Index active) { return 3 * newton_work(free, active); }

  // Called after a step, with its work and gain; adapts the patience.
  void taken(double work, double gain) {
    const double recent = (now_.gain - older_.gain) / (now_.work - older_.work);
    const bool pays = 4 * gain > recent * work;
    if (pays) {
      patience_ = std::max(patience_ / 2, 1.0 / 16);
    } else if (gain == 0 || patience_ < most_patience) {
      patience_ *= 2;
    }
    restart();
  }

 private:
  static constexpr double most_patience = 4;

  struct Point {
    double work = 0, gain = 0;
  };
  Point now_, newer_, older_;  // newer_: at 4/5 of the work or later; older_: 4/5 of that
  double patience_ = 1;
};

}  // namespace softmargin
