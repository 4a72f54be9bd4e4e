// The most violating pair: eq. 13 and 14 of the LIBSVM paper; for the nu forms the pair of the
// class that violates more (its Section 3.3).
#pragma once

#include "extremes.hpp"
#include "rule.hpp"

namespace softmargin {

inline Selection most_violating_pair(const Dual& dual) {
  const Extremes worst = most_violating(dual);
  const double violation = worst.violation();
  Selection selection{{worst.up, worst.down, violation}, violation, violation};
  if (worst.up.position >= 0 && worst.down.position >= 0)
    selection.pair.violation = dual.value(worst.up) - dual.value(worst.down);
  return selection;
}

template <class Rows>
class MostViolatingPair final : public Rule<Rows> {
 public:
  Selection select(const Dual& dual, Rows&) override { return most_violating_pair(dual); }
};

}  // namespace softmargin
