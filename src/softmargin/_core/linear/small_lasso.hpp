// Coordinate descent on a quadratic function with the L1 penalty, for problems so small that the
// matrix of the quadratic is stored: the model of the objective in a proximal Newton step.
//
//   minimise 1/2 u'H u + b'u + sum_j penalty_j |u_j|
//
// Given: H, with all its entries, a start u and the gradient there, q = H u + b. Both are updated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "loss.hpp"

namespace softmargin::linear {

struct SmallLasso {
  const double *H, *penalty;
  std::vector<double> u, q;

  // Up to `epochs` rounds; ends when no coordinate violates its optimality condition by more than
  // `tolerance`. Returns the largest violation of the last round.
  double run(int epochs, double tolerance) {
    double worst = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      worst = 0;
      for (std::size_t j = 0; j < u.size(); ++j) worst = std::max(worst, step(j));
      if (worst <= tolerance) break;
    }
    return worst;
  }

 private:
  double step(std::size_t j) {
    const double* row = H + j * u.size();
    const double violation = u[j] == 0 ? std::max(std::abs(q[j]) - penalty[j], 0.0)
                                       : std::abs(q[j] + std::copysign(penalty[j], u[j]));
    if (violation == 0 || row[j] <= 0) return violation;
    const double by = soften(u[j] - q[j] / row[j], penalty[j] / row[j]) - u[j];
    u[j] += by;
    for (std::size_t k = 0; k < u.size(); ++k) q[k] += by * row[k];
    return violation;
  }
};

}  // namespace softmargin::linear
