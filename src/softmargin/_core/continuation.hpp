// Where a problem starts if its solution is known for other bounds: the bounds of the problem
// divided by a common factor, as along a sequence of values of C.
//
// Either all variables are scaled by the factor: that is feasible, and the gradient follows without
// a kernel value. Or only those that rest on a bound other than zero move, with the bound, and the
// free ones keep their values: closer to the solution where the kernel matrix is nearly diagonal,
// or where few variables are bounded. That takes a kernel row for each of them. Of the points
// between these two, the one with the smallest objective is taken. Where no variable rests on a
// bound that moves outwards, nothing has to move: the solution is also that of every larger C.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dual.hpp"

namespace softmargin {

// The factor on all variables at which the objective is least; infinite if there is none.
inline double best_factor(const Dual& dual) {
  double slope = 0, curvature = 0;
  for (Index k = 0; k < dual.size(); ++k) {
    const double beta = dual.total_beta(k);
    slope += beta * dual.p[k];
    curvature += beta * (dual.gradient[k] - dual.p[k]);
    for (const Part& part : dual.parts) slope += part.offset * part.beta[k];
  }
  return curvature > 0 && slope < 0 ? -slope / curvature : infinity;
}

// Changes of variables, by part and position.
using Changes = std::vector<std::vector<double>>;

// A problem `dual` that starts from the solution `before`. `matrix`: its kernel matrix, row after
// row.
template <class Real>
class Continuation {
 public:
  Continuation(const Dual& before, double scale, const Real* matrix)
      : before_(before), scale_(scale), matrix_(matrix) {}

  // Sets the variables of `dual` and returns their gradient.
  std::vector<double> start(Dual& dual) const {
    const auto [bounded, free] = count();
    // The sums of separate parts are not zero, and grow with the bounds.
    const bool all = scale_ < 1 || dual.separate || (bounded > 0 && std::isfinite(scale_));
    if (!all) return scaled(dual, 1);
    // A row of the matrix costs about as much as half a pair step.
    if (scale_ > 1 && !dual.separate && 4 * bounded <= free) return between(dual);
    const double least = scale_ > 1 && !dual.separate ? best_factor(before_) : infinity;
    return scaled(dual, least < 0.3 * scale_ ? std::max(least, 1.0) : scale_);
  }

 private:
  struct Count {
    Index bounded = 0, free = 0;
  };

  Count count() const {
    Count count;
    for (const Part& part : before_.parts)
      for (Index k = 0; k < before_.size(); ++k)
        count.bounded += part.bounded(k) != 0, count.free += part.is_free(k);
    return count;
  }

  std::vector<double> scaled(Dual& dual, double factor) const {
    for (std::size_t s = 0; s < dual.parts.size(); ++s) {
      const Part& old = before_.parts[s];
      Part& part = dual.parts[s];
      for (Index k = 0; k < dual.size(); ++k) {
        const bool at_upper = factor == scale_ && old.beta[k] == old.upper[k];
        const bool at_lower = factor == scale_ && old.beta[k] == old.lower[k];
        part.set(k, at_upper   ? part.upper[k]
                    : at_lower ? part.lower[k]
                               : std::clamp(factor * old.beta[k], part.lower[k], part.upper[k]));
      }
    }
    std::vector<double> gradient(dual.p.size());
    for (std::size_t k = 0; k < gradient.size(); ++k)
      gradient[k] = factor * (before_.gradient[k] - before_.p[k]) + dual.p[k];
    return gradient;
  }

  // Bounded variables alone move to their new bounds: those of the sign with the smaller sum all
  // the way, of the others as many as keep the sum.
  Changes with_bounds(const Dual& dual) const {
    double sums[2] = {0, 0};
    Changes changes(dual.parts.size(), std::vector<double>(dual.p.size()));
    for (std::size_t s = 0; s < dual.parts.size(); ++s)
      for (Index k = 0; k < dual.size(); ++k)
        if (const double bound = before_.parts[s].bounded(k); bound != 0) {
          const Part& part = dual.parts[s];
          changes[s][k] = (bound > 0 ? part.upper[k] : part.lower[k]) - bound;
          sums[bound > 0] += std::abs(changes[s][k]);
        }
    double left[2] = {std::min(sums[0], sums[1]), std::min(sums[0], sums[1])};
    for (std::vector<double>& part : changes)
      for (double& change : part) {
        const double taken = std::min(std::abs(change), left[change > 0]);
        left[change > 0] -= taken;
        change = std::copysign(taken, change);
      }
    return changes;
  }

  std::vector<double> between(Dual& dual) const {
    const Changes changes = with_bounds(dual);
    std::vector<double> moved(dual.p.size());  // K times the changes
    for (Index k = 0; k < dual.size(); ++k) {
      double change = 0;
      for (const std::vector<double>& part : changes) change += part[k];
      const Real* row = matrix_ + static_cast<std::size_t>(k) * dual.p.size();
      if (change != 0)
        for (Index j = 0; j < dual.size(); ++j) moved[j] += change * row[j];
    }
    // beta = old + changes + share * ((scale - 1) old - changes)
    const double share = best_share(changes, moved);
    for (std::size_t s = 0; s < dual.parts.size(); ++s) {
      const Part& old = before_.parts[s];
      Part& part = dual.parts[s];
      for (Index k = 0; k < dual.size(); ++k) {
        const double change = changes[s][k] + share * ((scale_ - 1) * old.beta[k] - changes[s][k]);
        part.set(k, std::clamp(old.beta[k] + change, part.lower[k], part.upper[k]));
        if (const double bound = old.bounded(k);
            bound != 0 && changes[s][k] + bound == (bound > 0 ? part.upper[k] : part.lower[k]))
          part.set(k, bound > 0 ? part.upper[k] : part.lower[k]);
      }
    }
    std::vector<double> gradient(dual.p.size());
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      const double product = before_.gradient[k] - before_.p[k];
      gradient[k] = dual.p[k] + product + moved[k] + share * ((scale_ - 1) * product - moved[k]);
    }
    return gradient;
  }

  // Where the objective is least between the changes and scaling, from 0 to 1.
  double best_share(const Changes& changes, const std::vector<double>& moved) const {
    double slope = 0, curvature = 0;
    for (Index k = 0; k < before_.size(); ++k) {
      double along = 0;
      const double product = before_.gradient[k] - before_.p[k];
      for (std::size_t s = 0; s < changes.size(); ++s) {
        const double own = (scale_ - 1) * before_.parts[s].beta[k] - changes[s][k];
        along += own;
        slope += own * before_.parts[s].offset;
      }
      slope += along * (before_.p[k] + product + moved[k]);
      curvature += along * ((scale_ - 1) * product - moved[k]);
    }
    if (!(slope < 0)) return 0;
    return curvature > 0 ? std::min(-slope / curvature, 1.0) : 1;
  }

  const Dual& before_;
  const double scale_;
  const Real* const matrix_;
};

}  // namespace softmargin
