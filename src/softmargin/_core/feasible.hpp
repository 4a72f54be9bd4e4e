// Variables within their bounds, changed so that they have a given sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dual.hpp"

namespace softmargin {

// Changes the variables of all `parts` so that together they have this sum. An excess is taken from
// the positive free variables, in proportion to their values; then from all positive variables;
// then from the others, one after another, so that few become nonzero. A deficit is added in the
// same way.
inline void give_sum(const std::vector<Part*>& parts, double sum) {
  const auto each = [&](auto body) {
    for (Part* part : parts)
      for (std::size_t k = 0; k < part->beta.size(); ++k) body(*part, static_cast<Index>(k));
  };
  double excess = -sum, size = 0;
  each([&](Part& part, Index k) { excess += part.beta[k], size += std::abs(part.beta[k]); });
  if (std::abs(excess) <= 1e-12 * size) return;
  const double sign = excess > 0 ? 1 : -1;
  excess *= sign;

  // How far a variable may move: to its bound, and until it is zero.
  const auto to_bound = [&](const Part& part, Index k) {
    return sign > 0 ? part.beta[k] - part.lower[k] : part.upper[k] - part.beta[k];
  };
  const auto to_zero = [&](const Part& part, Index k) {
    return std::max(std::min(sign * part.beta[k], to_bound(part, k)), 0.0);
  };
  const auto move = [&](Part& part, Index k, double by) {
    const double bound = sign > 0 ? part.lower[k] : part.upper[k];
    if (by > 0) part.set(k, by >= to_bound(part, k) ? bound : part.beta[k] - sign * by);
  };
  for (const bool free_only : {true, false}) {
    double available = 0;
    std::vector<double> most;
    each([&](Part& part, Index k) {
      most.push_back(free_only && !part.is_free(k) ? 0.0 : to_zero(part, k));
      available += most.back();
    });
    const double taken = std::min(excess, available);
    auto next = most.begin();
    if (taken > 0) each([&](Part& part, Index k) { move(part, k, *next++ * (taken / available)); });
    excess -= taken;
  }
  each([&](Part& part, Index k) {
    const double taken = std::min(excess, to_bound(part, k));
    move(part, k, taken);
    excess -= taken;
  });
}

// Changes the variables so that the sums that `dual` keeps (of each part, or of all together) are
// those in `sums`, which has one sum per part.
inline void give_sums(Dual& dual, const std::vector<double>& sums) {
  std::vector<Part*> all;
  double whole = 0;
  for (std::size_t s = 0; s < dual.parts.size(); ++s) {
    if (dual.separate) give_sum({&dual.parts[s]}, sums[s]);
    all.push_back(&dual.parts[s]);
    whole += sums[s];
  }
  if (!dual.separate) give_sum(all, whole);
}

}  // namespace softmargin
