// The two-variable problem, solved exactly (LIBSVM paper, Section 3.4): move `up` by +step and
// `down` by -step, where step minimises  -slope step + 1/2 curvature step^2  within the bounds.
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
inline double free_step(double slope, double curvature) {
  return curvature > 0 ? slope / curvature : infinity;
}

inline StepTaken take_step(Dual& dual, const Pair& pair, double curvature) {
  Part& up_part = dual.parts[pair.up.part];
  Part& down_part = dual.parts[pair.down.part];
  const Index i = pair.up.position, j = pair.down.position;
  const double up_before = up_part.beta[i], down_before = down_part.beta[j];
  const double up_room = up_part.upper[i] - up_before;
  const double down_room = down_before - down_part.lower[j];

  const double slope = dual.value(pair.up) - dual.value(pair.down);
  double step = std::min(free_step(slope, curvature), std::min(up_room, down_room));
  // Sums of bounds make rooms and steps coincide. Where only rounding keeps a variable off its
  // bound, it is at the bound.
  constexpr double all_of_it = 1 - 1e-12;
  const double up_after = step >= all_of_it * up_room ? up_part.upper[i] : up_before + step;
  const double down_after = step >= all_of_it * down_room ? down_part.lower[j] : down_before - step;
  up_part.set(i, std::min(up_after, up_part.upper[i]));
  down_part.set(j, std::max(down_after, down_part.lower[j]));
  return {up_part.beta[i] - up_before, down_part.beta[j] - down_before,
          step * (slope - 0.5 * std::max(curvature, 0.0) * step)};
}

}  // namespace softmargin
