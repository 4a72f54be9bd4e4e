// The duality gap of a feasible point, from its gradient alone. For thresholds b, one per sum that
// is kept, and v = -derivative, it is
//
//   sum_s sum_i (upper - beta) max(0, v - b) + (beta - lower) max(0, b - v),
//
// which for each of the five formulations is primal minus dual objective, with b for the intercept
// (and, in the nu forms, for the width of the margin or tube). It is piecewise linear and convex in
// b; the b with the smallest gap is taken. At the optimum all free variables have v = b.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "dual.hpp"

namespace softmargin {

// A variable that can contribute to the smallest gap: its v lies between the lowest v of a variable
// that can fall and the highest v of a variable that can rise.
struct GapTerm {
  double value, rise, fall;  // rise = upper - beta, fall = beta - lower
};

// The interval of thresholds with the smallest sum over the terms. The sum has a corner at the
// value of each term, where its slope rises by the width between the bounds. There must be at least
// one term.
inline std::pair<double, double> best_thresholds(std::vector<GapTerm>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const GapTerm& a, const GapTerm& b) { return a.value < b.value; });
  double slope = 0, width = 0;
  for (const GapTerm& term : terms) slope -= term.rise, width += term.rise + term.fall;
  const double rounding = 1e-12 * width;
  double first = infinity, last = terms.back().value;  // if rounding leaves no slope above zero
  for (const GapTerm& term : terms) {
    slope += term.rise + term.fall;
    if (slope >= -rounding) first = std::min(first, term.value);
    if (slope > rounding) {
      last = term.value;
      break;
    }
  }
  return {std::min(first, last), last};
}

// The sum over the terms at the best threshold.
inline double smallest_gap(std::vector<GapTerm>& terms) {
  if (terms.empty()) return 0;
  const double best = best_thresholds(terms).first;
  double gap = 0;
  for (const GapTerm& term : terms) {
    const double above = term.value - best;
    gap += above > 0 ? term.rise * above : -term.fall * above;
  }
  return gap;
}

// The variables of one problem, or of several whose terms have the same threshold.
struct GapVariables {
  const double *values, *beta, *lower, *upper;
  Index size;
};

// The b with the smallest gap. If there are several, the nearest to the mean of v over the free
// variables or, if there are none, to the middle of the interval that the bounded variables allow.
inline double best_threshold(const GapVariables& of, std::vector<GapTerm>& terms) {
  double highest = -infinity, lowest = infinity, sum = 0;
  Index free = 0;
  for (Index k = 0; k < of.size; ++k) {
    const bool can_rise = of.beta[k] < of.upper[k];
    const bool can_fall = of.beta[k] > of.lower[k];
    if (can_rise) highest = std::max(highest, of.values[k]);
    if (can_fall) lowest = std::min(lowest, of.values[k]);
    if (can_rise && can_fall) sum += of.values[k], ++free;
  }
  terms.clear();
  for (Index k = 0; k < of.size; ++k) {
    const double value = of.values[k], rise = of.upper[k] - of.beta[k];
    const double fall = of.beta[k] - of.lower[k];
    if (value >= lowest && value <= highest && rise + fall < infinity)
      terms.push_back({value, rise, fall});
  }
  // One end of the interval may be missing; or both, if no variable can move.
  if (highest == -infinity && lowest == infinity) highest = lowest = 0;
  const double from = highest > -infinity ? highest : lowest;
  const double to = lowest < infinity ? lowest : highest;
  const double usual = free > 0 ? sum / free : 0.5 * from + 0.5 * to;
  if (terms.empty()) return usual;
  const auto [first, last] = best_thresholds(terms);
  return std::clamp(usual, first, last);
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
