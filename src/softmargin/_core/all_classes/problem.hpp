// Kernel machines for all classes at once. With scores s_c(x) = sum_i a_ic K(x_i, x):
//
//   minimise  1/2 sum_c a_c'Ka_c + sum_i C_i loss_i
//
// The loss of an example of class y is the sum over the other classes c of max(0, 1 - s_y + s_c)
// (Weston-Watkins) or the largest of them (Crammer-Singer). Its dual variables are beta_ic for
// c != y, with a_ic = -beta_ic and a_iy = sum_c beta_ic:
//
//   maximise  sum_ic beta_ic - 1/2 sum_c a_c'Ka_c
//   subject to  0 <= beta_ic <= C_i  (Weston-Watkins)  or  beta >= 0, sum_c beta_ic <= C_i
//
// This is the dual of the linear machines (linear/machine.hpp; Wang and Scott, 2021) with K_ij in
// place of x_i'x_j. So the problem of the variables of one example is theirs with |x|^2 = K_ii, and
// is solved exactly by the same functions. There is no intercept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../dual.hpp"
#include "../linear/machine.hpp"

namespace softmargin::all_classes {

// A row of `stride` numbers per example, of which the first `classes` are used.
struct Table {
  Table(Index rows, Index stride)
      : stride(stride), values(static_cast<std::size_t>(rows) * stride, 0.0) {}
  double* row(Index k) { return &values[static_cast<std::size_t>(k) * stride]; }
  const double* row(Index k) const { return &values[static_cast<std::size_t>(k) * stride]; }

  Index stride;
  std::vector<double> values;
};

// The length of a row, for loops that take four classes at a time.
inline Index stride_of(Index classes) { return (classes + 3) / 4 * 4; }

// The variables of all examples, or of a block of them, by position. beta has a zero at the class
// of the example itself. Kept up to date by the solver: the scores of the active examples.
struct Problem {
  Problem(Index size, Index classes)
      : classes(classes),
        label(size),
        upper(size),
        curvature(size),
        beta(size, stride_of(classes)),
        scores(size, beta.stride),
        active(size) {}

  Index size() const { return static_cast<Index>(label.size()); }

  // The coefficient a of an example in the score of a class.
  double coefficient(Index k, Index c) const {
    const double* beta_k = beta.row(k);
    if (c != label[k]) return -beta_k[c];
    double sum = 0;
    for (Index j = 0; j < classes; ++j) sum += beta_k[j];
    return sum;
  }

  bool any_nonzero(Index k) const {
    const double* beta_k = beta.row(k);
    for (Index c = 0; c < classes; ++c)
      if (beta_k[c] != 0) return true;
    return false;
  }

  Index classes;
  std::vector<std::int32_t> label;
  std::vector<double> upper;      // C_i
  std::vector<double> curvature;  // K_ii, or a tiny positive number where that is not positive
  Table beta, scores;
  Index active;  // positions [0, active) are worked on, the others are shrunk
};

// The dual objective, for scores that are up to date.
inline double dual_objective(const Problem& problem) {
  double sum = 0;
  for (Index k = 0; k < problem.size(); ++k) {
    const double *beta = problem.beta.row(k), *scores = problem.scores.row(k);
    const double own = scores[problem.label[k]];
    for (Index c = 0; c < problem.classes; ++c) sum += beta[c] * (1 - 0.5 * (own - scores[c]));
  }
  return sum;
}

// Looks at the variables of one example at a time, and solves their problem.
template <class Machine>
class Visit {
 public:
  explicit Visit(Index classes) : set_(classes) {}

  void look(const Problem& problem, Index k) {
    const double *beta = problem.beta.row(k), *scores = problem.scores.row(k);
    x_.label = problem.label[k];
    x_.upper = problem.upper[k];
    x_.squared_norm = problem.curvature[k];
    const double base = 1 - scores[x_.label];
    set_.size = 0;
    for (Index c = 0; c < x_.label; ++c) set_.add(c, base + scores[c], beta[c]);
    for (Index c = x_.label + 1; c < problem.classes; ++c) set_.add(c, base + scores[c], beta[c]);
  }

  double violation() const { return Machine::violation(x_, set_); }
  double gap() const { return Machine::gap(x_, set_); }

  // Whether the variables are at bounds that they are not expected to leave: they would still be
  // optimal if every error changed by less than `margin`.
  bool settled(double margin) const;

  // Solves the example's problem exactly. Returns the gain; `to(j)` is then the value of the
  // variable of class `cls(j)`.
  double solve() {
    const double q = x_.squared_norm;
    double total = 0;
    for (std::size_t j = 0; j < set_.size; ++j) total += set_.beta[j];
    for (std::size_t j = 0; j < set_.size; ++j)
      set_.v[j] = set_.error[j] + q * (set_.beta[j] + total);
    machine_.solve(x_, set_, q * total);
    double linear = 0, square = 0, sum = 0;
    for (std::size_t j = 0; j < set_.size; ++j) {
      const double from = set_.beta[j], to = Machine::variable(set_.b[j], q, x_.upper);
      set_.b[j] = Machine::negligible(from, to, x_.upper) ? from : to;
      const double change = set_.b[j] - from;
      linear += set_.error[j] * change;
      square += change * change;
      sum += change;
    }
    return linear - 0.5 * q * (square + sum * sum);
  }

  Index size() const { return static_cast<Index>(set_.size); }
  Index cls(Index j) const { return set_.cls[j]; }
  double to(Index j) const { return set_.b[j]; }
  double change(Index j) const { return set_.b[j] - set_.beta[j]; }

 private:
  Machine machine_;
  linear::Example x_;
  linear::Candidates set_;
};

template <>
inline bool Visit<linear::WestonWatkins>::settled(double margin) const {
  for (std::size_t j = 0; j < set_.size; ++j) {
    const bool low = set_.beta[j] == 0 && set_.error[j] < -margin;
    const bool high = set_.beta[j] == x_.upper && set_.error[j] > margin;
    if (!low && !high) return false;
  }
  return true;
}

template <>
inline bool Visit<linear::CrammerSinger>::settled(double margin) const {
  double used = -infinity, others = 0;  // the error of the class at the bound; the best other one
  bool any = false;
  for (std::size_t j = 0; j < set_.size; ++j) {
    if (set_.beta[j] == 0) {
      others = std::max(others, set_.error[j]);
    } else if (set_.beta[j] == x_.upper) {
      used = set_.error[j];
      any = true;
    } else {
      return false;
    }
  }
  if (any) return used - others > 2 * margin;
  for (std::size_t j = 0; j < set_.size; ++j)
    if (set_.error[j] >= -margin) return false;
  return true;
}

}  // namespace softmargin::all_classes
