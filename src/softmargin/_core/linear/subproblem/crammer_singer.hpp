// The Crammer-Singer sub-problem, in the same variables as the Weston-Watkins one:
//
//   minimise 1/2 b'(I + 11')b - v'b  subject to  b >= 0, 1'b <= C
//
// Given v and C > 0; returns g with b = max(v - g, 0): the root of
// phi(g) = sum max(v_i - g, 0) - min(g, C). If 1'b < C, the sum of b is g; otherwise b is the
// projection of v onto the simplex of size C. With n entries above g that sum to S, a piece of phi
// is the larger of two lines, and its root is the larger of S / (n + 1) and (S - C) / n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "subproblem_newton.hpp"

namespace softmargin::linear {

inline double crammer_singer_root(double sum, double count, double C) {
  return sum <= C * (count + 1) ? sum / (count + 1) : (sum - C) / count;
}

class CrammerSingerRoot {
 public:
  CrammerSingerRoot(const double* v, std::int64_t size, double C, double v_max)
      : v_(v), size_(size), C_(C), v_max_(v_max) {}

  // The term of the largest entry alone makes phi(low) >= 0; at the largest entry phi is negative.
  double low() const { return std::max(v_max_ / 2, v_max_ - C_); }
  double high() const { return v_max_; }

  Piece piece(double g) const {
    const PieceSums sums = sums_at(v_, size_, std::numeric_limits<double>::infinity(), g);
    return {crammer_singer_root(sums.sum, sums.inside, C_), static_cast<std::int64_t>(sums.inside),
            0};
  }

 private:
  const double* v_;
  std::int64_t size_;
  double C_, v_max_;
};

inline double crammer_singer_newton(const double* v, std::int64_t size, double C, double start,
                                    int& passes) {
  const double v_max = largest(v, size);
  if (!(v_max > 0)) return 0;
  return bracketed_newton(CrammerSingerRoot(v, size, C, v_max), start, passes);
}

// The same by sorting: adds entries, the largest first, as long as they lie above the root.
inline double crammer_singer_sorted(const double* v, std::int64_t size, double C) {
  std::vector<double> sorted(v, v + size);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double g = 0, sum = 0, count = 0;
  for (const double value : sorted) {
    if (value <= g) break;
    sum += value;
    g = crammer_singer_root(sum, ++count, C);
  }
  return g;
}

}  // namespace softmargin::linear
