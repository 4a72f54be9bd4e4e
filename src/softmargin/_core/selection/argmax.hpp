// The position of the largest score over many variables; of equal scores the last.
//
// Two variables that were moved freely have the same derivative up to rounding. If the last bit
// chose between them, dense and sparse data, or a kernel and the matrix of its values, would take
// different paths to different points within the tolerance. So scores count as equal if they are
// closer than a slack, which is far above rounding and far below any tolerance.
//
// A score is written once, as a function that reads its operands through `at`, and evaluated for
// one variable or for as many neighbours as a vector register holds:
//
//   [&](auto at) { return at(gate) - (at(gradient) + offset); }
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "../dual.hpp"
#include "../simd.hpp"

namespace softmargin {

struct One {
  Index k;
  template <class Real>
  double operator()(const Real* values) const {
    return values[k];
  }
  double operator()(double value) const { return value; }
};

#if defined(SOFTMARGIN_VECTOR_TYPES)
struct Several {
  using Doubles = Vector<double>;
  static constexpr Index count = lanes<double>;
  Index k;
  Doubles operator()(const double* values) const { return load<Doubles>(values + k); }
  Doubles operator()(const float* values) const {
    Doubles widened;  // __builtin_convertvector goes through memory in GCC 12
    for (Index l = 0; l < count; ++l) widened[l] = values[k + l];
    return widened;
  }
  Doubles operator()(double value) const { return Doubles{} + value; }
};
#else
struct Several : One {
  using Doubles = double;
  static constexpr Index count = 1;
};
#endif

// The largest score(at) of [begin, end).
template <class Score>
double largest(Index begin, Index end, Score score) {
  double top = -std::numeric_limits<double>::infinity();
  if (end - begin >= 2 * Several::count) {
    auto first = score(Several{begin}), second = score(Several{begin + Several::count});
    for (begin += 2 * Several::count; begin + 2 * Several::count <= end;
         begin += 2 * Several::count) {
      first = larger(first, score(Several{begin}));
      second = larger(second, score(Several{begin + Several::count}));
    }
    double each[Several::count];
    store(each, larger(first, second));
    for (const double lane : each) top = larger(top, lane);
  }
  for (; begin < end; ++begin) top = larger(top, score(One{begin}));
  return top;
}

struct Best {
  double score = -infinity;
  Index position = -1;
};

// score(at) is the score of the variable or variables that `at` reads; -inf means not eligible. The
// first pass finds the chunk with the largest score; only this chunk is searched for its position.
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
