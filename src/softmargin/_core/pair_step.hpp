// The two-variable problem, solved exactly (LIBSVM paper, Section 3.4): move `up` by +step and
// `down` by -step, where step minimises  -violation step + 1/2 curvature step^2  within the bounds.
// A bound that is reached is assigned, never computed, so later comparisons with it are exact.
#pragma once

#include <algorithm>

#include "dual.hpp"

namespace softmargin {

struct StepTaken {
  double up_change, down_change;  // of beta, as rounded
  double gain;                    // by how much the objective fell
};

// The unbounded minimiser; without positive curvature the objective falls all the way.
inline double free_step(double violation, double curvature) {
  return curvature > 0 ? violation / curvature : infinity;
}

inline StepTaken take_step(Dual& dual, const Pair& pair, double curvature) {
  Part& up_part = dual.parts[pair.up.part];
  Part& down_part = dual.parts[pair.down.part];
  const Index i = pair.up.position, j = pair.down.position;
  const double up_before = up_part.beta[i], down_before = down_part.beta[j];
  const double up_room = up_part.upper[i] - up_before;
  const double down_room = down_before - down_part.lower[j];

  double step = free_step(pair.violation, curvature);
  double up_after = up_before + step, down_after = down_before - step;
  if (step >= std::min(up_room, down_room)) {
    step = std::min(up_room, down_room);
    up_after = step == up_room ? up_part.upper[i] : up_before + step;
    down_after = step == down_room ? down_part.lower[j] : down_before - step;
  }
  up_part.set(i, std::min(up_after, up_part.upper[i]));
  down_part.set(j, std::max(down_after, down_part.lower[j]));
  return {up_part.beta[i] - up_before, down_part.beta[j] - down_before,
          step * (pair.violation - 0.5 * std::max(curvature, 0.0) * step)};
}

}  // namespace softmargin
