// The duality gap of a feasible point, from its gradient alone. For thresholds b, one per sum that
// is kept, and v = -derivative, it is
//
//   sum_s sum_i (upper - beta) max(0, v - b) + (beta - lower) max(0, b - v),
//
// which for each of the five formulations is primal minus dual objective, with b for the intercept
// (and, in the nu forms, for the width of the margin or tube). It is piecewise linear and convex in
// b; the b with the smallest gap is taken.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "dual.hpp"

namespace softmargin {

// A variable whose v lies between the two thresholds at which either sum vanishes.
struct GapTerm {
  double value, rise, fall;  // rise = upper - beta, fall = beta - lower
};

// The smallest sum over the terms.
inline double smallest_gap(std::vector<GapTerm>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const GapTerm& a, const GapTerm& b) { return a.value < b.value; });
  double slope = 0, gap = 0;
  for (const GapTerm& term : terms) slope -= term.rise;
  double best = terms.empty() ? 0 : terms.back().value;
  for (const GapTerm& term : terms) {
    slope += term.rise + term.fall;
    if (slope >= 0) {
      best = term.value;
      break;
    }
  }
  for (const GapTerm& term : terms) {
    const double above = term.value - best;
    gap += above > 0 ? term.rise * above : -term.fall * above;
  }
  return gap;
}

// All variables must be active, and their bounds finite.
inline double duality_gap(const Dual& dual) {
  double gap = 0;
  const int parts = static_cast<int>(dual.parts.size()), groups = dual.separate ? parts : 1;
  for (int g = 0; g < groups; ++g) {
    const int first = dual.separate ? g : 0, end = dual.separate ? g + 1 : parts;
    double highest = -infinity, lowest = infinity;
    for (int s = first; s < end; ++s)
      for (Index k = 0; k < dual.size(); ++k) {
        const double value = dual.value({s, k});
        if (dual.parts[s].can_rise(k)) highest = std::max(highest, value);
        if (dual.parts[s].can_fall(k)) lowest = std::min(lowest, value);
      }
    std::vector<GapTerm> terms;
    for (int s = first; s < end; ++s) {
      const Part& part = dual.parts[s];
      for (Index k = 0; k < dual.size(); ++k) {
        const double value = dual.value({s, k});
        if (value < lowest || value > highest) continue;
        terms.push_back({value, part.upper[k] - part.beta[k], part.beta[k] - part.lower[k]});
      }
    }
    gap += smallest_gap(terms);
  }
  return gap;
}

}  // namespace softmargin
