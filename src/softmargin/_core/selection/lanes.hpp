// Arithmetic on several neighbouring variables at once. A formula is written once, as a function
// that reads its operands through `at`, and evaluated for one variable or for as many as the
// processor's registers hold:
//
//   [&](auto at) { return at(gate) - (at(gradient) + offset); }
#pragma once

#include <limits>

#include "../products.hpp"

namespace softmargin {

struct One {
  Index k;
  template <class Real>
  double operator()(const Real* values) const {
    return values[k];
  }
  double operator()(double value) const { return value; }
};

template <class Number>
Number larger(Number a, Number b) {
  return a > b ? a : b;
}
template <class Number>
Number smaller(Number a, Number b) {
  return a < b ? a : b;
}

#if defined(__GNUC__) || defined(__clang__)
struct Several {
  using Doubles = Vector<double>;
  static constexpr Index count = Panel<double>::lanes;
  Index k;
  Doubles operator()(const double* values) const {
    return *reinterpret_cast<const Doubles*>(values + k);
  }
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
    double lanes[Several::count];
    *reinterpret_cast<Several::Doubles*>(lanes) = larger(first, second);
    for (double lane : lanes) top = larger(top, lane);
  }
  for (; begin < end; ++begin) top = larger(top, score(One{begin}));
  return top;
}

}  // namespace softmargin
