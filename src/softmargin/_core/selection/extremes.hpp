// The variables that violate the optimality conditions most: the largest -derivative among those
// that can rise and the smallest among those that can fall (eq. 13 and 14 of the LIBSVM paper).
#pragma once

#include <algorithm>

#include "../dual.hpp"

namespace softmargin {

struct Extremes {
  Variable up, down;
  double highest = -infinity, lowest = infinity;

  double violation() const { return highest - lowest; }
  void merge(const Extremes& other) {
    if (other.highest > highest) highest = other.highest, up = other.up;
    if (other.lowest < lowest) lowest = other.lowest, down = other.down;
  }
};

namespace detail {

constexpr Index chunk = 256;
constexpr int lanes = 8;

// The largest (sign = 1) or smallest (sign = -1) of gate - (gradient + offset).
template <int sign>
double best_of(const double* gradient, const double* gate, double offset, Index count) {
  const auto better = [](double a, double b) { return sign > 0 ? a > b : a < b; };
  double best[lanes];
  std::fill(best, best + lanes, -sign * infinity);
  Index k = 0;
  for (; k + lanes <= count; k += lanes)
    for (int l = 0; l < lanes; ++l) {
      const double v = gate[k + l] - (gradient[k + l] + offset);
      best[l] = better(v, best[l]) ? v : best[l];
    }
  for (; k < count; ++k) {
    const double v = gate[k] - (gradient[k] + offset);
    if (better(v, best[0])) best[0] = v;
  }
  for (int l = 1; l < lanes; ++l)
    if (better(best[l], best[0])) best[0] = best[l];
  return best[0];
}

// The position of the best value over all active variables; of equal values the last. A pass keeps
// one value a lane and remembers the chunk, which is then searched: so the pass vectorises.
template <int sign>
Index find_best(const Dual& dual, const Part& part, const double* gate, double& best) {
  const double* gradient = dual.gradient.data();
  best = -sign * infinity;
  Index best_chunk = -1;
  for (Index start = 0; start < dual.active; start += chunk) {
    const Index count = std::min(chunk, dual.active - start);
    const double v = best_of<sign>(gradient + start, gate + start, part.offset, count);
    if (sign > 0 ? v >= best : v <= best) best = v, best_chunk = start;
  }
  if (best == -sign * infinity) return -1;
  Index k = std::min(best_chunk + chunk, dual.active) - 1;
  while (gate[k] - (gradient[k] + part.offset) != best) --k;
  return k;
}

}  // namespace detail

inline Extremes extremes(const Dual& dual, int index) {
  const Part& part = dual.parts[index];
  Extremes found;
  found.up = {index, detail::find_best<1>(dual, part, part.rise_gate.data(), found.highest)};
  found.down = {index, detail::find_best<-1>(dual, part, part.fall_gate.data(), found.lowest)};
  return found;
}

}  // namespace softmargin
