// An approximate solution of the Weston-Watkins sub-problem, for comparison only: greedy coordinate
// descent, with which Wang and Scott, 2021, compare their method.
//
//   minimise 1/2 b'(I + 11')b - v'b  subject to  0 <= b <= C
//
// Given v, C, a feasible b and a tolerance; improves b in place. Each of at most 10 k steps sets
// the variable with the largest KKT violation to its best value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace softmargin::linear {

class GreedySubproblem {
 public:
  void improve(const double* v, std::int64_t size, double C, double tolerance, double* b) {
    double total = 0;
    for (std::int64_t i = 0; i < size; ++i) total += b[i];
    gradient_.resize(size);
    for (std::int64_t i = 0; i < size; ++i) gradient_[i] = v[i] - b[i] - total;
    for (std::int64_t step = 0; step < 10 * size; ++step) {
      const std::int64_t i = most_violating(size, C, b);
      if (i < 0 || violation(i, C, b) < tolerance) return;
      const double moved = std::clamp(b[i] + gradient_[i] / 2, 0.0, C);
      const double change = moved - b[i];
      b[i] = moved;
      for (std::int64_t j = 0; j < size; ++j) gradient_[j] -= change;
      gradient_[i] -= change;
    }
  }

 private:
  double violation(std::int64_t i, double C, const double* b) const {
    if (gradient_[i] > 0) return b[i] < C ? gradient_[i] : 0;
    return b[i] > 0 ? -gradient_[i] : 0;
  }

  std::int64_t most_violating(std::int64_t size, double C, const double* b) const {
    std::int64_t best = -1;
    double worst = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double found = violation(i, C, b);
      if (found > worst) {
        worst = found;
        best = i;
      }
    }
    return best;
  }

  std::vector<double> gradient_;
};

}  // namespace softmargin::linear
