// The two-variable problem, solved exactly (LIBSVM paper, Section 3.4): move `up` by +step and
// `down` by -step, where step minimises  -violation step + 1/2 curvature step^2  within the bounds.
// A bound that is reached is assigned, never computed, so later comparisons with it are exact.
#pragma once

#include <algorithm>

#include "dual.hpp"

namespace softmargin {

struct StepTaken {
  double up_change = 0, down_change = 0;  // of beta, as rounded
  double gain = 0;                        // by how much the objective fell

  bool moved() const { return up_change != 0 || down_change != 0; }
};

inline StepTaken take_step(Dual& dual, const Pair& pair, double curvature) {
  Part& up_part = dual.parts[pair.up.part];
  Part& down_part = dual.parts[pair.down.part];
  const Index i = pair.up.position, j = pair.down.position;
  const double up_before = up_part.beta[i], down_before = down_part.beta[j];
  const double up_room = up_part.upper[i] - up_before;
  const double down_room = down_before - down_part.lower[j];

  // Without positive curvature the objective falls all the way to the bound.
  double step = curvature > 0 ? pair.violation / curvature : infinity;
  double up_after = up_before + step, down_after = down_before - step;
  if (step >= std::min(up_room, down_room)) {
    step = std::min(up_room, down_room);
    up_after = step == up_room ? up_part.upper[i] : up_before + step;
    down_after = step == down_room ? down_part.lower[j] : down_before - step;
  }
  up_part.set(i, std::min(up_after, up_part.upper[i]));
  down_part.set(j, std::max(down_after, down_part.lower[j]));
  return {up_part.beta[i] - up_before, down_part.beta[j] - down_before,
          step * (pair.violation - 0.5 * curvature * step)};
}

// The step and the gradient that follows from it, over the active variables.
template <class Rows>
StepTaken pair_step(Dual& dual, Rows& rows, const Pair& pair) {
  const Index i = pair.up.position, j = pair.down.position;
  const auto* up_row = rows.row(i, dual.active);
  const auto* down_row = rows.row(j, dual.active);
  const double* diagonal = rows.diagonal();
  const double curvature = diagonal[i] + diagonal[j] - 2 * static_cast<double>(up_row[j]);
  const StepTaken taken = take_step(dual, pair, curvature);
  if (!taken.moved()) return taken;
  double* gradient = dual.gradient.data();
  const double a = taken.up_change, b = taken.down_change;
  for (Index k = 0; k < dual.active; ++k) gradient[k] += a * up_row[k] + b * down_row[k];
  return taken;
}

}  // namespace softmargin
