// The position of the largest score over many variables; of equal scores the last.
//
// Two variables that were moved freely have the same derivative but for rounding. Were the last bit
// to choose between them, dense and sparse data, or a kernel and the matrix of its values, would
// take different paths to different points within the tolerance; so scores closer than a slack,
// far above rounding and far below any tolerance, count as equal.
#pragma once

#include <algorithm>
#include <cmath>

#include "../dual.hpp"
#include "lanes.hpp"

namespace softmargin {

struct Best {
  double score = -infinity;
  Index position = -1;
};

// score(at) is the score of the variables that `at` reads, several or one; -inf: not eligible. Only
// the chunk that holds the best is searched for its place.
template <class Score>
Best argmax(Index size, Score score, double absolute_slack = 0, double relative_slack = 0) {
  constexpr Index chunk = 64;
  const auto slack = [=](double top) { return absolute_slack + relative_slack * std::abs(top); };
  Best best;
  Index found = 0;
  for (Index start = 0; start < size; start += chunk) {
    const double top = largest(start, std::min(start + chunk, size), score);
    if (top < best.score - slack(top) || top == -infinity) continue;
    best.score = std::max(best.score, top);
    found = start;
  }
  if (best.score == -infinity) return best;
  best.position = std::min(found + chunk, size) - 1;
  const double enough = best.score - slack(best.score);
  while (best.position > found && score(One{best.position}) < enough) --best.position;
  return best;
}

}  // namespace softmargin
