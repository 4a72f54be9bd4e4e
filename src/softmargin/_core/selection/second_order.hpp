// Second order selection (LIBSVM 2.8; maximum-gain paper, Section 1.3): the variable to raise as in
// the most violating pair, the one to lower such that the objective would fall most were there no
// bounds: by violation^2 / (2 curvature). For the nu forms within the class that violates more.
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
  const double* diagonal = rows.diagonal();
  double best = -infinity;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) {
    if (dual.separate && s != worst.up.part) continue;
    const Part& part = dual.parts[s];
    const double level = dual.value(worst.up) + part.offset, own = diagonal[i];
    const Best found = argmax(
        dual.active,
        [&](Index start, Index count, double* scores) {
          const double *gradient = &dual.gradient[start], *gate = &part.fall_gate[start];
          const double* other = diagonal + start;
          const auto* products = row + start;
          for (Index k = 0; k < count; ++k) {
            const double violation = (level + gradient[k]) - gate[k];
            const double curvature = own + other[k] - 2 * static_cast<double>(products[k]);
            const double safe = curvature > least_curvature ? curvature : least_curvature;
            scores[k] = violation > 0 ? violation * violation / safe : -infinity;
          }
          if (s == worst.up.part && i >= start && i < start + count) scores[i - start] = -infinity;
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
