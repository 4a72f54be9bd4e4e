// The root of a decreasing, piecewise linear function phi, exactly and in finitely many passes.
//
// The sub-problems of Weston-Watkins and of Crammer-Singer both reduce to one number g with
// phi(g) = 0. A Problem has three functions: `low()` and `high()` are positive bounds on the root,
// and `piece(g)` gives the root of the line that phi follows at g, with two counts that identify
// that piece of phi. Newton's method steps from g to the root of the line; this is the root of phi
// if it lies on the same piece. phi is neither convex nor concave, so a bracket guards the steps:
//
// - phi was not evaluated at the first `low` and `high`, so either may itself be the root and may
//   still be visited; an end of the bracket that was evaluated is not visited again;
// - the same piece twice in a row proves that g is exact only if a Newton step led to g;
// - a step out of the bracket, or two in a row that do not halve it, is followed by a bisection.
//
// So the bracket halves at least every third pass, down to adjacent floating-point numbers.
#pragma once

#include <cstdint>

namespace softmargin::linear {

struct Piece {
  double root;                 // of the line that phi follows at g
  std::int64_t first, second;  // the two counts that identify the piece
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
    if (!(low < high)) return g;  // the ends met, because the first bounds are rounded
    slow = high - low > width / 2 ? slow + 1 : 0;
    if (slow == 0) width = high - low;
    const bool inside = (piece.root > low || (piece.root == low && !low_seen)) &&
                        (piece.root < high || (piece.root == high && !high_seen));
    by_newton = inside && slow < 2;
    g = by_newton ? piece.root : low + (high - low) / 2;
    if (!by_newton) slow = 0;
    if (!by_newton && (g <= low || g >= high)) {
      // No number lies strictly between the ends: visit an end not yet visited, or return either.
      if (low_seen && high_seen) return g;
      g = low_seen ? high : low;
    }
    last = piece;
  }
}

}  // namespace softmargin::linear
