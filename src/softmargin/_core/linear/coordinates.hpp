// Coordinate descent on the weights of one column: the L1 penalty with the squared hinge loss
// (Yuan, Chang, Hsieh and Lin, 2010, section 4.1).
//
//   minimise sum_j penalty_j |w_j| + sum_i C_i max(0, e_i)^2,   e_i = 1 - t_i x_i'w,  t_i = -1 or 1
//
// Given: the features as columns, with the entries of each; C and t. Kept: w and the errors e. A
// step on w_j is Newton's with the curvature of the examples that have a loss; where that would not
// decrease the objective, because others get a loss on the way, it takes the curvature of all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "loss.hpp"
#include "shuffle.hpp"

namespace softmargin::linear {

// The features as columns: CSC, or, if there are no indices, dense columns of `count` values. A
// last feature has the value `constant` in every example, if that is not 0.
template <class Value, class Offset>
struct Columns {
  const Value* values;
  const Offset *rows, *starts;
  std::int32_t count, width;
  double constant;

  std::int32_t features() const { return width + (constant != 0); }

  // Calls work(i, x_ij) for the entries of feature j.
  template <class Work>
  void each(std::int32_t j, Work work) const {
    if (j == width)
      for (std::int32_t i = 0; i < count; ++i) work(i, constant);
    else if (!rows)
      for (std::int32_t i = 0; i < count; ++i)
        work(i, static_cast<double>(values[static_cast<std::ptrdiff_t>(j) * count + i]));
    else
      for (Offset e = starts[j]; e < starts[j + 1]; ++e)
        work(static_cast<std::int32_t>(rows[e]), static_cast<double>(values[e]));
  }
};

template <class Value, class Offset>
class CoordinateDescent {
 public:
  CoordinateDescent(Columns<Value, Offset> columns, std::vector<double> C, std::vector<double> t,
                    std::vector<double> penalty)
      : columns_(columns),
        C_(std::move(C)),
        t_(std::move(t)),
        penalty_(std::move(penalty)),
        error_(C_.size(), 1.0),
        w_(penalty_.size()),
        curvature_(penalty_.size()) {
    for (std::size_t j = 0; j < w_.size(); ++j)
      columns_.each(static_cast<std::int32_t>(j),
                    [&](std::int32_t i, double x) { curvature_[j] += 2 * C_[i] * x * x; });
  }

  void start_from(const double* w) {
    std::fill(error_.begin(), error_.end(), 1.0);
    for (std::size_t j = 0; j < w_.size(); ++j) {
      w_[j] = w[j];
      if (w[j] != 0) shift(static_cast<std::int32_t>(j), w[j]);
    }
  }

  // Up to `epochs` rounds over these features, in random order; ends when no feature violates its
  // optimality condition by more than `tolerance`. Returns the largest violation of the last round.
  double run(std::vector<std::int32_t> features, int epochs, double tolerance, std::uint64_t seed) {
    Random random(seed);
    double worst = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      shuffle(features, random);
      worst = 0;
      for (const std::int32_t j : features) worst = std::max(worst, step(j));
      if (worst <= tolerance) break;
    }
    return worst;
  }

  // The derivatives of the losses with respect to all weights.
  std::vector<double> gradient() const {
    std::vector<double> out(w_.size());
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] = derivatives(static_cast<std::int32_t>(j)).slope;
    return out;
  }

  const std::vector<double>& weights() const { return w_; }
  const std::vector<double>& errors() const { return error_; }
  const std::vector<double>& curvatures() const { return curvature_; }  // if all have a loss

 private:
  struct Derivatives {
    double slope = 0, curvature = 0;
  };
  Derivatives derivatives(std::int32_t j) const {
    Derivatives found;
    columns_.each(j, [&](std::int32_t i, double x) {
      if (error_[i] <= 0) return;
      const double scaled = 2 * C_[i] * x;
      found.slope -= scaled * t_[i] * error_[i];
      found.curvature += scaled * x;
    });
    return found;
  }

  // Returns by how much the weight violated its optimality condition.
  double step(std::int32_t j) {
    const auto [slope, curvature] = derivatives(j);
    const double w = w_[j], penalty = penalty_[j];
    const double violation = w == 0 ? std::max(std::abs(slope) - penalty, 0.0)
                                    : std::abs(slope + std::copysign(penalty, w));
    if (violation == 0) return 0;
    constexpr double enough = 0.01;  // of the decrease that the slope promises
    const double least = 1e-12 * curvature_[j];
    double by = minimum(w, slope, std::max(curvature, least), penalty) - w;
    if (by == 0) return violation;
    const double promised = slope * by + penalty * (std::abs(w + by) - std::abs(w));
    if (shift(j, by) + penalty * (std::abs(w + by) - std::abs(w)) > enough * promised) {
      shift(j, -by);
      by = minimum(w, slope, curvature_[j], penalty) - w;
      shift(j, by);
    }
    w_[j] = w + by;
    return violation;
  }

  // Minimises slope (u - w) + curvature / 2 (u - w)^2 + penalty |u| over u.
  static double minimum(double w, double slope, double curvature, double penalty) {
    return soften(w - slope / curvature, penalty / curvature);
  }

  // Updates the errors for a move of w_j. Returns the change of the losses.
  double shift(std::int32_t j, double by) {
    double change = 0;
    columns_.each(j, [&](std::int32_t i, double x) {
      const double before = std::max(error_[i], 0.0);
      error_[i] -= t_[i] * x * by;
      const double after = std::max(error_[i], 0.0);
      change += C_[i] * (after - before) * (after + before);
    });
    return change;
  }

  Columns<Value, Offset> columns_;
  std::vector<double> C_, t_, penalty_, error_, w_, curvature_;
};

}  // namespace softmargin::linear
