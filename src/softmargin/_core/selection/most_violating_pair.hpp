// The most violating pair: eq. 13 and 14 of the LIBSVM paper; for the nu forms the pair of the class
// that violates more (its Section 3.3).
#pragma once

#include "extremes.hpp"
#include "rule.hpp"

namespace softmargin {

inline Pair most_violating_pair(const Dual& dual) {
  Pair pair;
  for (const Extremes& found : extremes(dual))
    if (found.violation() - found.slack > pair.violation)
      pair = {found.up, found.down, found.violation()};
  return pair;
}

template <class Real>
class MostViolatingPair final : public Rule<Real> {
 public:
  Pair select(const Dual& dual, KernelMatrix<Real>&) override { return most_violating_pair(dual); }
};

}  // namespace softmargin
