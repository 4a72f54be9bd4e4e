// The losses of the machines whose columns of W are separate problems: one-vs-rest and regression.
//
//   minimise 1/2 |w|^2 + sum_i C_i L(e_i)
//
// The error e_i is 1 minus the margin (classification) or target minus score (regression). With one
// dual variable beta_i per error, w = sum_i (+-) beta_i x_i, the dual problem is
//
//   maximise sum_i (target_i beta_i - cost(beta_i)) - 1/2 |w|^2,   target_i = 1 in classification
//
//   loss                          L(e)                    beta in     cost(beta)
//   hinge                         max(e, 0)               [0, C]      0
//   squared hinge                 max(e, 0)^2             [0, inf)    beta^2 / 4C
//   epsilon-insensitive           max(|e| - epsilon, 0)   [-C, C]     epsilon |beta|
//   squared epsilon-insensitive   its square              all         epsilon |beta| + beta^2 / 4C
//
// C L(e) + cost(beta) - beta e is never negative, and zero for optimal pairs: it is the share of
// the variable in the duality gap.
//
// The sub-problem has one variable; in units of scores (q = |x|^2, U = q C, v = e + q beta), its
// solution is `step`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace softmargin::linear {

// Moves v towards zero by at most epsilon.
inline double soften(double v, double epsilon) {
  return v > epsilon ? v - epsilon : v < -epsilon ? v + epsilon : 0;
}

// If the loss grows linearly, the variables have the upper bound C. If it grows quadratically, they
// have none, and the sub-problem has additional curvature.
struct LinearGrowth {
  static constexpr bool bounded = true;
  static double priced(double excess, double C) { return C * excess; }
  static double cost(double, double) { return 0; }
  static double shorten(double b, double U) { return std::clamp(b, -U, U); }
  // How far the variable is from optimal; `slope` is the derivative of the dual without this term.
  static double violation(double slope, double beta, double C) {
    const double up = beta < C ? slope : 0, down = beta > -C ? -slope : 0;
    return std::max({up, down, 0.0});
  }
};

struct QuadraticGrowth {
  static constexpr bool bounded = false;
  static double priced(double excess, double C) { return C * excess * excess; }
  static double cost(double beta, double C) { return beta * beta / (4 * C); }
  static double shorten(double b, double U) { return b * (U / (U + 0.5)); }
  static double violation(double slope, double beta, double C) {
    return std::abs(slope - beta / (2 * C));
  }
};

template <class Growth>
struct OneSided : Growth {
  using Curved = Growth;  // the part of the cost that is not linear
  static constexpr bool two_sided = false;
  // The part of an error that has a loss, with its sign.
  static double excess(double e) { return std::max(e, 0.0); }
  double priced(double e, double C) const { return Growth::priced(excess(e), C); }
  double step(double v, double U) const { return Growth::shorten(excess(v), U); }
  double violation(double e, double beta, double C) const {
    return beta > 0 ? Growth::violation(e, beta, C) : std::max(e, 0.0);
  }
};

template <class Growth>
struct TwoSided : Growth {
  using Curved = Growth;
  static constexpr bool two_sided = true;
  double epsilon;
  explicit TwoSided(double epsilon = 0) : epsilon(epsilon) {}
  double excess(double e) const { return soften(e, epsilon); }
  double priced(double e, double C) const { return Growth::priced(std::abs(excess(e)), C); }
  double cost(double beta, double C) const {
    return epsilon * std::abs(beta) + Growth::cost(beta, C);
  }
  double step(double v, double U) const { return Growth::shorten(excess(v), U); }
  double violation(double e, double beta, double C) const {
    if (beta == 0) return std::max(std::abs(e) - epsilon, 0.0);
    return Growth::violation(e - std::copysign(epsilon, beta), beta, C);
  }
};

using Hinge = OneSided<LinearGrowth>;
using SquaredHinge = OneSided<QuadraticGrowth>;
using EpsilonInsensitive = TwoSided<LinearGrowth>;
using SquaredEpsilonInsensitive = TwoSided<QuadraticGrowth>;

}  // namespace softmargin::linear
