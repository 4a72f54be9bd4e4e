// Proximal Newton steps on the weights of some features of one column: the L1 penalty with the
// squared hinge loss (Lee, Sun and Saunders, 2014).
//
// A step minimises the quadratic model of the losses, whose matrix is X'HX of these features with
// H_ii = 2 C_i for examples with a loss, plus the penalty; it is halved until the objective falls
// enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gram.hpp"
#include "rows.hpp"
#include "small_lasso.hpp"

namespace softmargin::linear {

// minimise sum_j penalty_j |w_j| + sum_i C_i max(0, error_i)^2,   error_i = 1 - t_i x_i'w
struct SparseWeights {
  std::vector<double> C, t, penalty, error, w;
};

class ProximalNewton {
 public:
  // Moves the weights of `features`, in ascending order; in the rows of the curvature, they have
  // the numbers `place`.
  ProximalNewton(SparseWeights& weights, const std::vector<std::int32_t>& features,
                 const std::vector<std::int32_t>& place, Curvature& curvature)
      : weights_(weights), features_(features), place_(place), curvature_(curvature) {
    for (const std::int32_t j : features) penalty_.push_back(weights.penalty[j]);
  }

  // Up to this many steps, until no optimality condition of these features is violated by more than
  // `goal`. Returns the number of steps.
  int run(int steps, double goal) {
    for (int step = 0; step < steps; ++step) {
      const std::vector<double> slope = gradient();
      double violation = 0;
      for (std::size_t a = 0; a < features_.size(); ++a)
        violation = std::max(violation, sparse_violation(w(a), slope[a], penalty_[a]));
      if (violation <= goal || !move(direction(slope, violation), slope)) return step;
    }
    return steps;
  }

 private:
  double& w(std::size_t a) { return weights_.w[features_[a]]; }

  std::vector<double> gradient() const {
    std::vector<double> pull(weights_.C.size());
    for (std::size_t i = 0; i < pull.size(); ++i)
      if (weights_.error[i] > 0) pull[i] = -2 * weights_.C[i] * weights_.t[i] * weights_.error[i];
    const std::vector<double> all = curvature_.rows.combination(pull.data());
    std::vector<double> slope;
    for (const std::int32_t p : place_) slope.push_back(all[p]);
    return slope;
  }

  std::vector<double> direction(const std::vector<double>& slope, double violation) {
    constexpr double accuracy = 0.01;  // of the model's minimum
    const std::vector<double> H = hessian();
    std::vector<double> start;
    for (std::size_t a = 0; a < features_.size(); ++a) start.push_back(w(a));
    SmallLasso model(H, penalty_, std::move(start), slope);
    model.run(accuracy * violation);
    for (std::size_t a = 0; a < features_.size(); ++a) model.u[a] -= w(a);
    return std::move(model.u);
  }

  // All entries, from the lower half of the curvature.
  std::vector<double> hessian() {
    std::vector<double> h(weights_.C.size());
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = weights_.error[i] > 0 ? 2 * weights_.C[i] : 0;
    const std::vector<double>& half = curvature_.at(h.data());
    const std::size_t size = features_.size(), width = curvature_.rows.features;
    std::vector<double> full(size * size);
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        full[a * size + b] = full[b * size + a] = half[place_[a] * width + place_[b]];
    return full;
  }

  // False if no step decreases the objective; near the optimum, where it changes by less than its
  // rounding, the step is taken all the same.
  bool move(const std::vector<double>& by, const std::vector<double>& slope) {
    constexpr double enough = 0.01;  // of the decrease that the model promises
    constexpr double rounding = 1e-15;
    constexpr int halvings = 8;
    std::vector<double> weights(curvature_.rows.features);
    double promised = penalised(by, 1) - penalised(by, 0);
    for (std::size_t a = 0; a < by.size(); ++a) {
      weights[place_[a]] = by[a];
      promised += slope[a] * by[a];
    }
    const std::vector<double> scores = curvature_.rows.scores(weights.data());
    const double before = losses(scores, 0) + penalised(by, 0);
    double length = 1;
    for (int trial = 0; trial < halvings; ++trial, length /= 2) {
      const double after = losses(scores, length) + penalised(by, length);
      if (!(after <= before * (1 + rounding) + enough * length * promised)) continue;
      for (std::size_t a = 0; a < by.size(); ++a) w(a) += length * by[a];
      for (std::size_t i = 0; i < scores.size(); ++i)
        weights_.error[i] -= length * weights_.t[i] * scores[i];
      return true;
    }
    return false;
  }

  double penalised(const std::vector<double>& by, double length) {
    double sum = 0;
    for (std::size_t a = 0; a < by.size(); ++a)
      sum += penalty_[a] * std::abs(w(a) + length * by[a]);
    return sum;
  }

  double losses(const std::vector<double>& scores, double length) const {
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double e = weights_.error[i] - length * weights_.t[i] * scores[i];
      if (e > 0) sum += weights_.C[i] * e * e;
    }
    return sum;
  }

  SparseWeights& weights_;
  const std::vector<std::int32_t>&features_, &place_;
  Curvature& curvature_;
  std::vector<double> penalty_;
};

}  // namespace softmargin::linear
