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
#include <cstdint>
#include <cstring>
#include <limits>

#include "../linear/wide.hpp"
#include "bracketed_newton.hpp"

namespace softmargin::linear {

struct Parts {
  double sum, inside, above;  // of the entries with 0 < v - g < C: sum and count; count at C
};

inline void add_to_parts(Parts& parts, double value, double C, double g) {
  const double rest = value - g;
  const bool above = rest >= C, inside = (rest > 0) & !above;
  parts.sum += inside ? value : 0.0;
  parts.inside += inside;
  parts.above += above;
}

#if defined(__GNUC__)  // compilers do not vectorise these conditional sums by themselves

typedef double Four __attribute__((vector_size(32)));
typedef std::int64_t Mask __attribute__((vector_size(32)));  // 0 or -1 in each place

inline double largest(const double* v, std::int64_t size) {
  double best = -std::numeric_limits<double>::infinity();
  Four most{best, best, best, best};
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    Four x;
    std::memcpy(&x, v + i, sizeof x);
    most = x > most ? x : most;
  }
  for (int l = 0; l < 4; ++l) best = std::max(best, most[l]);
  for (; i < size; ++i) best = std::max(best, v[i]);
  return best;
}

inline Parts parts_at(const double* v, std::int64_t size, double C, double g) {
  const Four all_g{g, g, g, g}, all_C{C, C, C, C}, zero{};
  Four sum[2] = {};
  Mask inside[2] = {}, above[2] = {};  // counts, negated
  std::int64_t i = 0;
  for (; i + 8 <= size; i += 8)
    for (int half = 0; half < 2; ++half) {
      Four x;
      std::memcpy(&x, v + i + 4 * half, sizeof x);
      const Four rest = x - all_g;
      const Mask at_bound = rest >= all_C, in = (rest > zero) & ~at_bound;
      sum[half] += in ? x : zero;
      inside[half] += in;
      above[half] += at_bound;
    }
  Parts parts{0, 0, 0};
  for (int l = 0; l < 4; ++l) {
    parts.sum += sum[0][l] + sum[1][l];
    parts.inside -= static_cast<double>(inside[0][l] + inside[1][l]);
    parts.above -= static_cast<double>(above[0][l] + above[1][l]);
  }
  for (; i < size; ++i) add_to_parts(parts, v[i], C, g);
  return parts;
}

#else

inline double largest(const double* v, std::int64_t size) {
  return size > 0 ? *std::max_element(v, v + size) : -std::numeric_limits<double>::infinity();
}

inline Parts parts_at(const double* v, std::int64_t size, double C, double g) {
  Parts parts{0, 0, 0};
  for (std::int64_t i = 0; i < size; ++i) add_to_parts(parts, v[i], C, g);
  return parts;
}

#endif

// Small sets are the rule late in training; a call through the dispatch costs more than it saves.
constexpr std::int64_t small = 8;

inline double largest_of(const double* v, std::int64_t size) {
  if (size >= small) return largest(v, size);
  double best = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < size; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

inline Parts parts_of(const double* v, std::int64_t size, double C, double g) {
  if (size >= small) return parts_at(v, size, C, g);
  Parts parts{0, 0, 0};
  for (std::int64_t i = 0; i < size; ++i) add_to_parts(parts, v[i], C, g);
  return parts;
}

class WestonWatkinsRoot {
 public:
  WestonWatkinsRoot(const double* v, std::int64_t size, double C, double v_max)
      : v_(v), size_(size), C_(C), v_max_(v_max) {}

  double low() const { return std::min(v_max_ / 2, C_); }
  double high() const { return std::min(v_max_, static_cast<double>(size_) * C_); }

  Piece piece(double g) const {
    const Parts parts = parts_of(v_, size_, C_, g);
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
  const double v_max = largest_of(v, size);
  if (!(v_max > 0)) return 0;
  return bracketed_newton(WestonWatkinsRoot(v, size, C, v_max), start, passes);
}

}  // namespace softmargin::linear
