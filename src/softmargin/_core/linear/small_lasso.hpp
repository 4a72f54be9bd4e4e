// A quadratic function with the L1 penalty, for problems so small that the matrix of the quadratic
// is stored: the model of the objective in a proximal Newton step.
//
//   minimise 1/2 u'H u + b'u + sum_j penalty_j |u_j|
//
// Given: H, with all its entries, a start u and the gradient there, q = H u + b. Both are updated,
// by coordinate descent and by Newton steps on the nonzero variables that keep their signs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "../factor.hpp"
#include "../interruption.hpp"
#include "loss.hpp"

namespace softmargin::linear {

// By how much an optimality condition is violated, where the smooth part has the derivative
// `slope`.
inline double sparse_violation(double w, double slope, double penalty) {
  return w == 0 ? std::max(std::abs(slope) - penalty, 0.0)
                : std::abs(slope + std::copysign(penalty, w));
}

class SmallLasso {
 public:
  SmallLasso(const std::vector<double>& H, const std::vector<double>& penalty,
             std::vector<double> u, std::vector<double> q)
      : u(std::move(u)), q(std::move(q)), H(H), penalty(penalty) {}

  std::vector<double> u, q;

  // Ends when no optimality condition is violated by more than `goal`, or after many steps.
  void run(double goal) {
    constexpr int most_steps = 30, epochs = 5;
    for (int step = 0; step < most_steps; ++step) {
      if (descend(epochs, goal) <= goal) return;
      newton_step();
    }
  }

 private:
  // Returns the largest violation of the last round.
  double descend(int epochs, double goal) {
    double worst = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      worst = 0;
      for (std::size_t j = 0; j < u.size(); ++j) worst = std::max(worst, step(j));
      if (worst <= goal) break;
    }
    return worst;
  }

  double step(std::size_t j) {
    const double* row = H.data() + j * u.size();
    const double violation = sparse_violation(u[j], q[j], penalty[j]);
    if (violation == 0 || row[j] <= 0) return violation;
    move(j, soften(u[j] - q[j] / row[j], penalty[j] / row[j]) - u[j]);
    return violation;
  }

  void move(std::size_t j, double by) {
    const double* row = H.data() + j * u.size();
    u[j] += by;
    for (std::size_t k = 0; k < u.size(); ++k) q[k] += by * row[k];
  }

  // Newton's step on the nonzero variables; it ends where the first of them becomes zero.
  void newton_step() {
    std::vector<std::size_t> support;
    for (std::size_t j = 0; j < u.size(); ++j)
      if (u[j] != 0) support.push_back(j);
    std::vector<double> by(support.size());
    for (std::size_t a = 0; a < support.size(); ++a)
      by[a] = -q[support[a]] - std::copysign(penalty[support[a]], u[support[a]]);
    if (support.empty() || !solve(support, by)) return;
    double length = 1;
    for (std::size_t a = 0; a < support.size(); ++a)
      if (by[a] * u[support[a]] < 0) length = std::min(length, -u[support[a]] / by[a]);
    for (std::size_t a = 0; a < support.size(); ++a) {
      const std::size_t j = support[a];
      const bool ends = by[a] * u[j] < 0 && -u[j] / by[a] <= length;
      move(j, ends ? -u[j] : length * by[a]);
    }
  }

  // x becomes the solution of the equations of these variables. False: H is not positive
  // semidefinite.
  bool solve(const std::vector<std::size_t>& support, std::vector<double>& x) {
    const Index size = static_cast<Index>(support.size());
    constexpr double rounding = 1e-10;  // of the largest curvature
    double most = 0;
    factor_.resize(size);
    for (Index i = 0; i < size; ++i) {
      const double* row = H.data() + support[i] * u.size();
      factor_.diagonal(i) = row[support[i]];
      most = std::max(most, row[support[i]]);
      for (Index j = i + 1; j < size; ++j) factor_.at(i, j) = row[support[j]];
    }
    Interruption never([] {});
    const std::vector<int> group(size, 0);
    const double floor = rounding * most;
    if (!factor_.factor(group, floor, floor, -floor, never)) return false;
    factor_.solve({x.data()});
    return true;
  }

  const std::vector<double>&H, &penalty;
  Factor factor_;
};

}  // namespace softmargin::linear
