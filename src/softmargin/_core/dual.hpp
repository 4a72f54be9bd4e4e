// The one dual problem of all five formulations, in signed variables beta = y alpha:
//
//   minimise    1/2 b'Kb + p'b + sum_s offset_s e'beta_s,    b = sum_s beta_s
//   subject to  lower_s <= beta_s <= upper_s,  and the sums of beta given by the starting point.
//
// beta has one part, or two that share the rows of K: alpha and -alpha* of a regression, the two
// classes of nu-SVC. The sum over both parts is kept, or, when `separate`, the sum of each part
// (the class-wise equality of the nu forms). A step raises one variable and lowers another by the
// same amount, so no formula here or in the rules depends on a label.
//
// Given: p, the parts with their bounds and a feasible beta. Kept up to date by the solver:
// gradient = Kb + p, which with the part's offset is the partial derivative of every variable.
// LIBSVM paper, Sections 2 and 3.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "examples.hpp"

namespace softmargin {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Part {
  std::vector<double> beta, lower, upper;
  double offset = 0;
  // Added to -derivative in the search for a variable to raise (0, or -inf at the upper bound) and
  // for one to lower (0, or +inf at the lower bound), so that no variable at its bound is found.
  std::vector<double> rise_gate, fall_gate;

  void set(Index k, double value) {
    beta[k] = value;
    rise_gate[k] = value < upper[k] ? 0 : -infinity;
    fall_gate[k] = value > lower[k] ? 0 : infinity;
  }
  bool can_rise(Index k) const { return rise_gate[k] == 0; }
  bool can_fall(Index k) const { return fall_gate[k] == 0; }
  bool is_free(Index k) const { return can_rise(k) && can_fall(k); }
  // beta if it is at a bound, else 0: the share of the variable in G-bar.
  double bounded(Index k) const { return is_free(k) ? 0 : beta[k]; }
};

struct Variable {
  int part = 0;
  Index position = -1;
};

// A step raises beta of `up` and lowers beta of `down`. `violation` is how much the pair violates
// the optimality conditions: minus the slope of the objective along the step.
struct Pair {
  Variable up, down;
  double violation = -infinity;
};

struct Dual {
  std::vector<double> p, gradient;
  std::vector<Part> parts;
  bool separate = false;
  Index active = 0;  // positions [0, active) are worked on, the others are shrunk
  double slack = 0;  // derivatives closer than this are equal up to rounding

  Index size() const { return static_cast<Index>(p.size()); }
  // Minus the partial derivative: what the optimality conditions compare with b.
  double value(Variable v) const { return -(gradient[v.position] + parts[v.part].offset); }
  double total_beta(Index k) const {
    double sum = 0;
    for (const Part& part : parts) sum += part.beta[k];
    return sum;
  }

  bool is_bounded() const {
    for (const Part& part : parts)
      for (Index k = 0; k < size(); ++k)
        if (part.upper[k] == infinity || part.lower[k] == -infinity) return false;
    return true;
  }

  double objective() const {
    double sum = 0;
    for (Index k = 0; k < size(); ++k) {
      sum += 0.5 * total_beta(k) * (gradient[k] + p[k]);
      for (const Part& part : parts) sum += part.offset * part.beta[k];
    }
    return sum;
  }
};

}  // namespace softmargin
