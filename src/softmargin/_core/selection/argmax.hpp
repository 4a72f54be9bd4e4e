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

namespace softmargin {

struct Best {
  double score = -infinity;
  Index position = -1;
};

// fill(start, count, scores) computes the scores of one chunk, in a loop that vectorises; only a
// chunk that improves on the best so far is searched for the place. -inf means "not eligible".
template <class Fill>
Best argmax(Index size, Fill fill, double absolute_slack = 0, double relative_slack = 0) {
  constexpr Index chunk = 256;
  constexpr int lanes = 8;
  double scores[chunk];
  Best best;
  for (Index start = 0; start < size; start += chunk) {
    const Index count = std::min(chunk, size - start);
    fill(start, count, scores);
    std::fill(scores + count, scores + chunk, -infinity);
    double tops[lanes];
    std::fill(tops, tops + lanes, -infinity);
    for (Index k = 0; k < chunk; k += lanes)
      for (int l = 0; l < lanes; ++l) tops[l] = scores[k + l] > tops[l] ? scores[k + l] : tops[l];
    const double top = *std::max_element(tops, tops + lanes);
    const double slack = absolute_slack + relative_slack * std::abs(top);
    if (top < best.score - slack || top == -infinity) continue;
    best.score = std::max(best.score, top);
    Index k = count - 1;
    while (scores[k] < best.score - slack) --k;
    best.position = start + k;
  }
  return best;
}

}  // namespace softmargin
