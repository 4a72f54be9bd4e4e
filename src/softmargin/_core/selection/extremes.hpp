// The variables that violate the optimality conditions most: the largest -derivative among those
// that can rise and the smallest among those that can fall (eq. 13 and 14 of the LIBSVM paper).
//
// Two variables that were moved freely have the same derivative but for rounding, so exact
// comparisons would let the last bit choose the path, and dense and sparse data, or two machines,
// would end at different points within the tolerance. Values closer than `slack` are therefore
// equal. Of equal values, in the first part that has one, the last that can rise and the first that
// can fall is taken: any fixed choice is right, this one needs few steps where all values start out
// equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "../dual.hpp"

namespace softmargin {

struct Extremes {
  Variable up, down;
  double highest = -infinity, lowest = infinity;
  double slack = 0;

  double violation() const { return highest - lowest; }
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

// The best values of a part, chunk by chunk: the pass over the variables vectorises, and a position
// is then searched for in one chunk only.
template <int sign>
struct ChunkBests {
  ChunkBests(const Dual& dual, int index) : dual(dual), index(index) {
    const Part& part = dual.parts[index];
    gate = (sign > 0 ? part.rise_gate : part.fall_gate).data();
    values.reserve(dual.active / chunk + 1);
    for (Index start = 0; start < dual.active; start += chunk) {
      const Index count = std::min(chunk, dual.active - start);
      values.push_back(
          best_of<sign>(dual.gradient.data() + start, gate + start, part.offset, count));
      if (sign * values.back() > sign * best) best = values.back();
    }
  }

  // A variable that reaches the limit, of the chunk that has one; position -1 where none does.
  Variable pick(double limit) const {
    const auto reaches = [&](double v) { return sign * v >= sign * limit; };
    const Index c =
        search(0, static_cast<Index>(values.size()), [&](Index c) { return reaches(values[c]); });
    if (c < 0) return {index, -1};
    const double offset = dual.parts[index].offset;
    return {index, search(c * chunk, std::min((c + 1) * chunk, dual.active),
                          [&](Index k) { return reaches(gate[k] - (dual.gradient[k] + offset)); })};
  }

  // The last (sign = 1) or first (sign = -1) place in [begin, end) that is as wished, or -1.
  template <class Predicate>
  static Index search(Index begin, Index end, Predicate wished) {
    for (Index n = end - begin; n > 0; --n)
      if (const Index place = sign > 0 ? begin + n - 1 : end - n; wished(place)) return place;
    return -1;
  }

  const Dual& dual;
  const int index;
  const double* gate;
  std::vector<double> values;
  double best = -sign * infinity;
};

template <int sign>
Variable pick(const std::vector<ChunkBests<sign>>& parts, double limit) {
  for (const ChunkBests<sign>& part : parts)
    if (const Variable found = part.pick(limit); found.position >= 0) return found;
  return {};
}

// Rounding errors are relative to the values; but where values are huge, the slack must still tell
// the most violating pair from a harmless one.
inline double slack(double highest, double lowest) {
  const double violation = highest - lowest;
  if (!(violation > 0 && violation < infinity)) return 0;
  const double rounding = 1e-12 * std::max(std::abs(highest), std::abs(lowest));
  return std::min(rounding + 1e-9 * violation, 1e-3 * violation);
}

}  // namespace detail

// Over the variables of the parts [first, last).
inline Extremes extremes(const Dual& dual, int first, int last) {
  std::vector<detail::ChunkBests<1>> rising;
  std::vector<detail::ChunkBests<-1>> falling;
  Extremes found;
  for (int s = first; s < last; ++s) {
    rising.emplace_back(dual, s);
    falling.emplace_back(dual, s);
    found.highest = std::max(found.highest, rising.back().best);
    found.lowest = std::min(found.lowest, falling.back().best);
  }
  found.slack = detail::slack(found.highest, found.lowest);
  if (found.highest > -infinity) found.up = detail::pick(rising, found.highest - found.slack);
  if (found.lowest < infinity) found.down = detail::pick(falling, found.lowest + found.slack);
  return found;
}

// One for all parts, or, when the parts are separate, one for each.
inline std::vector<Extremes> extremes(const Dual& dual) {
  const int parts = static_cast<int>(dual.parts.size());
  if (!dual.separate) return {extremes(dual, 0, parts)};
  std::vector<Extremes> found;
  for (int s = 0; s < parts; ++s) found.push_back(extremes(dual, s, s + 1));
  return found;
}

}  // namespace softmargin
