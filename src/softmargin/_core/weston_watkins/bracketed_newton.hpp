// The root of a decreasing, piecewise linear function phi, exactly and in finitely many passes.
//
// The sub-problems of Weston-Watkins and of Crammer-Singer both come down to one number g with
// phi(g) = 0. A Problem answers three questions: `low` and `high`, positive numbers around the
// root; and `piece(g)`, the root of the line that phi follows at g, with two counts that tell its
// pieces apart. Newton's method steps from g to that root; the step is exact once the root lies on
// the piece it came from. phi is neither convex nor concave, so a bracket guards the steps:
//
// - only points where phi was evaluated count as ends that need no second visit (the first `low`
// and
//   `high` are bounds, and the root may be one of them);
// - "the same piece again" proves exactness only for a point that Newton's step led to;
// - a step out of the bracket, or two in a row that do not halve it, is followed by a bisection.
//
// The bracket therefore halves at least every third pass, down to neighbouring numbers.
#pragma once

#include <cstdint>

namespace softmargin::linear {

struct Piece {
  double root;                 // of the line through phi at g
  std::int64_t first, second;  // equal on the same piece, different on different ones
  bool same(const Piece& other) const { return first == other.first && second == other.second; }
};

template <class Problem>
double bracketed_newton(const Problem& problem, double start, int& passes) {
  double low = problem.low(), high = problem.high();
  bool low_seen = false, high_seen = false, by_newton = false;
  double g = start > low ? (start < high ? start : high) : low;
  double width = high - low;
  Piece last{0, -1, -1};
  for (int slow = 0;;) {
    const Piece piece = problem.piece(g);
    ++passes;
    if (piece.root == g || (by_newton && piece.same(last))) return g;
    (piece.root > g ? low : high) = g;
    (piece.root > g ? low_seen : high_seen) = true;
    if (!(low < high)) return g;  // by rounding: the first bounds met
    slow = high - low > width / 2 ? slow + 1 : 0;
    if (slow == 0) width = high - low;
    const bool inside = (piece.root > low || (piece.root == low && !low_seen)) &&
                        (piece.root < high || (piece.root == high && !high_seen));
    by_newton = inside && slow < 2;
    g = by_newton ? piece.root : low + (high - low) / 2;
    if (!by_newton) slow = 0;
    if (!by_newton && (g <= low || g >= high)) {
      // No number lies strictly between the two: the end not yet visited, or either of them.
      if (low_seen && high_seen) return g;
      g = low_seen ? high : low;
    }
    last = piece;
  }
}

}  // namespace softmargin::linear
