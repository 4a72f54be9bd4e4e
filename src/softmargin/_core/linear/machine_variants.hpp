// The Weston-Watkins machine with two other sub-problem solvers, to compare with Newton's method in
// tests and benchmarks: sorting (as in the paper) and greedy coordinate descent.
#pragma once

#include <algorithm>

#include "machine.hpp"
#include "subproblem/subproblem_greedy.hpp"
#include "subproblem/subproblem_sorted.hpp"

namespace softmargin::linear {

class WestonWatkinsSorted final : public WestonWatkins {
 public:
  static constexpr bool needs_all_classes = true;
  void solve(const Example& x, Candidates& set, double) {
    const double U = x.squared_norm * x.upper;
    clip(set, sorted_.threshold(set.v.data(), set.size, U), U);
  }

 private:
  SortedSubproblem sorted_;
};

class WestonWatkinsGreedy final : public WestonWatkins {
 public:
  static constexpr bool needs_all_classes = true;
  void solve(const Example& x, Candidates& set, double G) {
    const double U = x.squared_norm * x.upper;
    // Starts from the current variables: q beta = v - e - G.
    for (std::size_t j = 0; j < set.size; ++j)
      set.b[j] = std::clamp(set.v[j] - set.error[j] - G, 0.0, U);
    greedy_.improve(set.v.data(), set.size, U, 1e-3, set.b.data());
  }

 private:
  GreedySubproblem greedy_;
};

}  // namespace softmargin::linear
