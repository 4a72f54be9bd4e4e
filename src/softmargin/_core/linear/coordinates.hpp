// The weights of one column, which are changed by coordinate descent (Yuan, Chang, Hsieh and Lin,
// 2010, section 4.1) or by proximal Newton steps: the L1 penalty with the squared hinge loss.
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
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "loss.hpp"
#include "proximal_newton.hpp"
#include "rows.hpp"
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

// The rows of some features, given in ascending order, as CSR.
template <class Value, class Offset>
class RowsOfFeatures {
 public:
  RowsOfFeatures(const Columns<Value, Offset>& columns, const std::vector<std::int32_t>& features)
      : starts_(columns.count + 1), place_(features.size()) {
    std::iota(place_.begin(), place_.end(), 0);
    const bool last = !features.empty() && features.back() == columns.width;
    const std::size_t width = features.size() - last;
    for (std::size_t a = 0; a < width; ++a)
      columns.each(features[a], [&](std::int32_t i, double) { ++starts_[i + 1]; });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    index_.resize(starts_.back());
    values_.resize(starts_.back());
    std::vector<Offset> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t a = 0; a < width; ++a)
      columns.each(features[a], [&](std::int32_t i, double x) {
        index_[next[i]] = static_cast<Offset>(a);
        values_[next[i]++] = x;
      });
    rows_.emplace(values_.data(), index_.data(), starts_.data(), columns.count,
                  static_cast<std::int32_t>(width), last ? columns.constant : 0.0);
    curvature_.emplace(*rows_);
  }
  RowsOfFeatures(const RowsOfFeatures&) = delete;

  Curvature& curvature() { return *curvature_; }
  const std::vector<std::int32_t>& place() const { return place_; }

 private:
  std::vector<Offset> starts_, index_;
  std::vector<double> values_;
  std::vector<std::int32_t> place_;
  std::optional<CsrRows<double, Offset>> rows_;
  std::optional<Curvature> curvature_;
};

template <class Value, class Offset>
class CoordinateDescent {
 public:
  // `curvature`: of the losses, for each weight, if all examples have a loss.
  CoordinateDescent(Columns<Value, Offset> columns, SparseWeights weights,
                    std::vector<double> curvature)
      : columns_(columns), at_(std::move(weights)), curvature_(std::move(curvature)) {
    at_.error.assign(at_.C.size(), 1.0);
    at_.w.assign(at_.penalty.size(), 0.0);
  }

  void start_from(const double* w) {
    std::fill(at_.error.begin(), at_.error.end(), 1.0);
    for (std::size_t j = 0; j < at_.w.size(); ++j) {
      at_.w[j] = w[j];
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

  // Proximal Newton steps on these features, in ascending order, instead of rounds. `whole`: X'HX
  // of all features, if these are few. Returns the number of steps.
  int newton(const std::vector<std::int32_t>& features, int steps, double tolerance,
             Curvature* whole) {
    if (whole) return ProximalNewton(at_, features, features, *whole).run(steps, tolerance);
    if (!part_ || features != chosen_) {
      part_ = std::make_unique<RowsOfFeatures<Value, Offset>>(columns_, features);
      chosen_ = features;
    }
    return ProximalNewton(at_, features, part_->place(), part_->curvature()).run(steps, tolerance);
  }

  const std::vector<double>& weights() const { return at_.w; }
  const std::vector<double>& errors() const { return at_.error; }

 private:
  struct Derivatives {
    double slope = 0, curvature = 0;
  };
  Derivatives derivatives(std::int32_t j) const {
    Derivatives found;
    columns_.each(j, [&](std::int32_t i, double x) {
      if (at_.error[i] <= 0) return;
      const double scaled = 2 * at_.C[i] * x;
      found.slope -= scaled * at_.t[i] * at_.error[i];
      found.curvature += scaled * x;
    });
    return found;
  }

  // Returns by how much the weight violated its optimality condition.
  double step(std::int32_t j) {
    const auto [slope, curvature] = derivatives(j);
    const double w = at_.w[j], penalty = at_.penalty[j];
    const double violation = sparse_violation(w, slope, penalty);
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
    at_.w[j] = w + by;
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
      const double before = std::max(at_.error[i], 0.0);
      at_.error[i] -= at_.t[i] * x * by;
      const double after = std::max(at_.error[i], 0.0);
      change += at_.C[i] * (after - before) * (after + before);
    });
    return change;
  }

  Columns<Value, Offset> columns_;
  SparseWeights at_;
  std::vector<double> curvature_;
  std::vector<std::int32_t> chosen_;
  std::unique_ptr<RowsOfFeatures<Value, Offset>> part_;
};

}  // namespace softmargin::linear
