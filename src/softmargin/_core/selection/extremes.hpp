// The variables that violate the optimality conditions most: the largest -derivative among those
// that can rise and the smallest among those that can fall (eq. 13 and 14 of the LIBSVM paper).
#pragma once

#include "argmax.hpp"

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

inline Best highest_that_can_rise(const Dual& dual, const Part& part) {
  const double *gradient = dual.gradient.data(), *gate = part.rise_gate.data();
  const double offset = part.offset;
  return argmax(
      dual.active, [=](auto at) { return at(gate) - (at(gradient) + offset); }, dual.slack);
}

inline Best lowest_that_can_fall(const Dual& dual, const Part& part) {
  const double *gradient = dual.gradient.data(), *gate = part.fall_gate.data();
  const double offset = part.offset;
  Best best =
      argmax(dual.active, [=](auto at) { return (at(gradient) + offset) - at(gate); }, dual.slack);
  best.score = -best.score;
  return best;
}

inline Extremes extremes(const Dual& dual, int index) {
  const Part& part = dual.parts[index];
  const Best up = highest_that_can_rise(dual, part), down = lowest_that_can_fall(dual, part);
  return {{index, up.position}, {index, down.position}, up.score, down.score};
}

// The extremes of each part or, if the two variables of a step may come from different parts, of
// all parts together.
inline std::vector<Extremes> extremes_by_group(const Dual& dual) {
  std::vector<Extremes> groups;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) {
    const Extremes part = extremes(dual, s);
    if (s == 0 || dual.separate)
      groups.push_back(part);
    else
      groups[0].merge(part);
  }
  return groups;
}

inline Extremes most_violating(const Dual& dual) {
  Extremes worst;
  for (const Extremes& group : extremes_by_group(dual))
    if (worst.up.position < 0 || group.violation() > worst.violation()) worst = group;
  return worst;
}

}  // namespace softmargin
