// The Weston-Watkins sub-problem without sorting.
//
//   minimise 1/2 b'(I + 11')b - v'b  subject to  0 <= b <= C      (4) of Wang and Scott, 2021
//
// Given v and C > 0; returns g with b = clip(v - g, 0, C) and g = 1'b, that is, the root of
// phi(g) = sum clip(v_i - g, 0, C) - g. With n_u entries at C and the n_m entries strictly inside
// summing to S, the line of a piece has the root (C n_u + S) / (n_m + 1): (7) of the paper.
//
// Where the largest entry v_1 is positive, the largest alone gives phi(min(v_1 / 2, C)) >= 0, and
// phi(min(v_1, m C)) <= 0. The ends of this bracket differ by a factor of at most max(2, m), so
// bracketed_newton needs at most 3 (54 + log2 m) passes; in practice it needs two or three.
#pragma once

#include <algorithm>
#include <limits>

#include "../linear/wide.hpp"
#include "bracketed_newton.hpp"

namespace softmargin {

constexpr int lanes = 8;  // sums kept apart so that the loops below vectorise

SOFTMARGIN_WIDE static double largest(const double* v, std::int64_t size) {
  double best[lanes];
  std::fill(best, best + lanes, -std::numeric_limits<double>::infinity());
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    for (int l = 0; l < lanes; ++l) best[l] = v[i + l] > best[l] ? v[i + l] : best[l];
  for (; i < size; ++i) best[0] = std::max(best[0], v[i]);
  return *std::max_element(best, best + lanes);
}

struct Parts {
  double sum, inside, above;  // of the entries with 0 < v - g < C: sum and count; count at C
};

SOFTMARGIN_WIDE static Parts parts_at(const double* v, std::int64_t size, double C, double g) {
  double sum[lanes] = {}, inside[lanes] = {}, above[lanes] = {};
  std::int64_t i = 0;
  const auto add = [&](double value, int l) {
    const double rest = value - g;
    const bool in = (rest > 0) & (rest < C);
    sum[l] += in ? value : 0.0;
    inside[l] += in ? 1.0 : 0.0;
    above[l] += rest >= C ? 1.0 : 0.0;
  };
  for (; i + lanes <= size; i += lanes)
    for (int l = 0; l < lanes; ++l) add(v[i + l], l);
  for (; i < size; ++i) add(v[i], 0);
  Parts total{0, 0, 0};
  for (int l = 0; l < lanes; ++l) {
    total.sum += sum[l];
    total.inside += inside[l];
    total.above += above[l];
  }
  return total;
}

class WestonWatkinsRoot {
 public:
  WestonWatkinsRoot(const double* v, std::int64_t size, double C, double v_max)
      : v_(v), size_(size), C_(C), v_max_(v_max) {}

  double low() const { return std::min(v_max_ / 2, C_); }
  double high() const { return std::min(v_max_, static_cast<double>(size_) * C_); }

  Piece piece(double g) const {
    const Parts parts = parts_at(v_, size_, C_, g);
    const double at_bound = parts.above > 0 ? C_ * parts.above : 0;  // C may be infinite
    return {(at_bound + parts.sum) / (parts.inside + 1), static_cast<std::int64_t>(parts.inside),
            static_cast<std::int64_t>(parts.above)};
  }

 private:
  const double* v_;
  std::int64_t size_;
  double C_, v_max_;
};

inline double newton_threshold(const double* v, std::int64_t size, double C, double start,
                               int& passes) {
  const double v_max = largest(v, size);
  if (!(v_max > 0)) return 0;
  return bracketed_newton(WestonWatkinsRoot(v, size, C, v_max), start, passes);
}

}  // namespace softmargin
