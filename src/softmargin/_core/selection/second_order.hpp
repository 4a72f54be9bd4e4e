// Second order selection (LIBSVM 2.8; maximum-gain paper, Section 1.3): the variable to raise is
// that of the most violating pair; the variable to lower is the one with which the objective would
// fall most if there were no bounds: by violation^2 / (2 curvature). In the nu forms, both are
// chosen within the class that violates more.
#pragma once

#include "extremes.hpp"
#include "rule.hpp"

namespace softmargin {

constexpr double least_curvature = 1e-12;

template <class Rows>
Selection second_order(const Dual& dual, Rows& rows) {
  const Extremes worst = most_violating(dual);
  const double violation = worst.violation();
  Selection selection{{worst.up, worst.down, violation}, violation, violation};
  if (worst.up.position < 0 || worst.down.position < 0) return selection;

  const Index i = worst.up.position;
  const auto* row = rows.row(i, dual.active);
  const double *diagonal = rows.diagonal(), *gradient = dual.gradient.data();
  const double value = dual.value(worst.up), own = diagonal[i];
  double best = 0;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) {
    if (dual.separate && s != worst.up.part) continue;
    const double* gate = dual.parts[s].fall_gate.data();
    const double offset = dual.parts[s].offset;
    const Best found = argmax(
        dual.active,
        [=](auto at) {
          // Written such that the violation of a variable with itself is exactly zero.
          const auto violation = larger((value + (at(gradient) + offset)) - at(gate), at(0.0));
          const auto curvature = (own + at(diagonal)) - 2.0 * at(row);
          return violation * violation / larger(curvature, at(least_curvature));
        },
        0, 1e-9);
    if (found.score > best) {
      best = found.score;
      selection.pair.down = {s, found.position};
    }
  }
  selection.pair.violation = dual.value(selection.pair.up) - dual.value(selection.pair.down);
  return selection;
}

template <class Rows>
class SecondOrder final : public Rule<Rows> {
 public:
  Selection select(const Dual& dual, Rows& rows) override { return second_order(dual, rows); }
};

}  // namespace softmargin
