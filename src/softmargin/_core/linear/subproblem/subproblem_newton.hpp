// The Weston-Watkins sub-problem without sorting.
//
//   minimise 1/2 b'(I + 11')b - v'b  subject to  0 <= b <= C      (4) of Wang and Scott, 2021
//
// Given v and C > 0; returns g with b = clip(v - g, 0, C) and g = 1'b, that is, the root of
// phi(g) = sum clip(v_i - g, 0, C) - g. If n_u entries are at C and the n_m entries strictly inside
// sum to S, the line of that piece has the root (C n_u + S) / (n_m + 1): (7) of the paper.
//
// If the largest of the m entries, v_1, is positive, then phi(min(v_1 / 2, C)) >= 0 by its term
// alone, and phi(min(v_1, m C)) <= 0. The ends of this bracket differ by a factor of at most
// max(2, m), so bracketed_newton needs at most 3 (54 + log2 m) passes; in practice it needs two or
// three.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "../../simd.hpp"
#include "bracketed_newton.hpp"

namespace softmargin::linear {

// The sum and the count of the entries with 0 < v - g < C, and the count of those with v - g >= C.
struct PieceSums {
  double sum = 0, inside = 0, above = 0;

  void add(double value, double C, double g) {
    const double difference = value - g;
    const bool at_bound = difference >= C, in = (difference > 0) & !at_bound;
    sum += in ? value : 0.0;
    inside += in;
    above += at_bound;
  }
};

inline double largest(const double* v, std::int64_t size) {
  double best = -std::numeric_limits<double>::infinity();
  std::int64_t i = 0;
#if defined(SOFTMARGIN_VECTOR_TYPES)
  using Doubles = Vector<double, 32>;
  Doubles most{best, best, best, best};
  for (; i + 4 <= size; i += 4) most = larger(load<Doubles>(v + i), most);
  for (int l = 0; l < 4; ++l) best = std::max(best, most[l]);
#endif
  for (; i < size; ++i) best = std::max(best, v[i]);
  return best;
}

inline PieceSums sums_at(const double* v, std::int64_t size, double C, double g) {
  PieceSums sums;
  std::int64_t i = 0;
#if defined(SOFTMARGIN_VECTOR_TYPES)  // compilers do not vectorise conditional sums by themselves
  if (size >= 8) {
    using Doubles = Vector<double, 32>;
    using Mask = Vector<std::int64_t, 32>;  // 0 or -1 in each lane
    const Doubles all_g{g, g, g, g}, all_C{C, C, C, C}, zero{};
    Doubles sum[2] = {};
    Mask inside[2] = {}, above[2] = {};  // counts, negated
    for (; i + 8 <= size; i += 8)
      for (int half = 0; half < 2; ++half) {
        const Doubles x = load<Doubles>(v + i + 4 * half), difference = x - all_g;
        const Mask at_bound = difference >= all_C, in = (difference > zero) & ~at_bound;
        sum[half] += in ? x : zero;
        inside[half] += in;
        above[half] += at_bound;
      }
    for (int l = 0; l < 4; ++l) {
      sums.sum += sum[0][l] + sum[1][l];
      sums.inside -= static_cast<double>(inside[0][l] + inside[1][l]);
      sums.above -= static_cast<double>(above[0][l] + above[1][l]);
    }
  }
#endif
  for (; i < size; ++i) sums.add(v[i], C, g);
  return sums;
}

class WestonWatkinsRoot {
 public:
  WestonWatkinsRoot(const double* v, std::int64_t size, double C, double v_max)
      : v_(v), size_(size), C_(C), v_max_(v_max) {}

  double low() const { return std::min(v_max_ / 2, C_); }
  double high() const { return std::min(v_max_, static_cast<double>(size_) * C_); }

  Piece piece(double g) const {
    const PieceSums sums = sums_at(v_, size_, C_, g);
    const double at_bound = sums.above > 0 ? C_ * sums.above : 0;  // infinity * 0 would be NaN
    return {(at_bound + sums.sum) / (sums.inside + 1), static_cast<std::int64_t>(sums.inside),
            static_cast<std::int64_t>(sums.above)};
  }

 private:
  const double* v_;
  std::int64_t size_;
  double C_, v_max_;
};

inline double weston_watkins_newton(const double* v, std::int64_t size, double C, double start,
                                    int& passes) {
  const double v_max = largest(v, size);
  if (!(v_max > 0)) return 0;
  return bracketed_newton(WestonWatkinsRoot(v, size, C, v_max), start, passes);
}

}  // namespace softmargin::linear
