// The most violating pair: eq. 13 and 14 of the LIBSVM paper; for the nu forms the pair of the
// class that violates more (its Section 3.3).
#pragma once

#include "extremes.hpp"
#include "rule.hpp"

namespace softmargin {

inline Pair most_violating_pair(const Dual& dual) {
  Pair pair;
  Extremes all;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) {
    const Extremes part = extremes(dual, s);
    if (dual.separate) {
      if (part.violation() > pair.violation) pair = {part.up, part.down, part.violation()};
    } else {
      all.merge(part);
    }
  }
  return dual.separate ? pair : Pair{all.up, all.down, all.violation()};
}

template <class Real>
class MostViolatingPair final : public Rule<Real> {
 public:
  Pair select(const Dual& dual, KernelMatrix<Real>&) override { return most_violating_pair(dual); }
};

}  // namespace softmargin
