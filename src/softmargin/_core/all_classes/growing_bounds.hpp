// Bounds that grow to C.
//
// Where C is very large and the classes overlap, steps on some of the examples hardly come nearer
// to the optimum: they fit their own examples at nearly any cost to the others. Then the problem is
// solved roughly for a small share of C first, and for ever larger shares. The variables of one
// share, multiplied, are a good start for the next: if most of the objective is loss, the scores
// hardly change with C, and nearly all variables grow with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../shrinking.hpp"
#include "problem.hpp"

namespace softmargin::all_classes {

template <class Machine>
class GrowingBounds {
 public:
  explicit GrowingBounds(const Problem& problem)
      : full_(problem.upper), next_try_(std::int64_t{30} * problem.size()) {}

  static constexpr double tolerance = 0.1;  // on the violation, while bounds grow

  bool growing() const { return share_ < 1; }

  void reorder(const std::vector<Index>& old_position) { permute(full_, old_position); }

  // For the start of a solver, which may be where another one ended while its bounds grew. The
  // scores of all examples must be up to date here and below.
  void start(Problem& problem) {
    const double most = shares(problem).most;
    if (most > 0 && most < 0.5 && best_multiple(problem) >= 10) set(problem, most);
  }

  // Whether it is time to ask if small bounds would help, or smaller ones: rarely, and not soon.
  bool is_due(std::int64_t iterations) {
    if (iterations < next_try_) return false;
    next_try_ *= 4;
    return true;
  }

  // Whether they might, by the gap relative to the objective.
  static bool helps(double gap) { return gap > 5; }

  // Begins with small bounds, and with variables within them. False, and nothing changes, if many
  // variables are near C, or if they are large enough for their scores.
  bool begin(Problem& problem) {
    const auto [mean, most] = shares(problem);
    if (!(mean > 0 && mean < 0.5 && best_multiple(problem) >= 2.5)) return false;
    const double share = 0.01 * mean;
    problem.multiply(share / most);
    set(problem, share);
    return true;
  }

  // The next bounds. If the variables are large enough for their scores, little of the objective is
  // loss, and larger bounds change little.
  void grow(Problem& problem) {
    const double best = best_multiple(problem), before = share_;
    if (best < 2) return end(problem);
    const double share = std::min(before * std::min(best, 4.0), 1.0);
    problem.multiply(share / before);
    set(problem, share);
  }
  void end(Problem& problem) {
    if (growing()) set(problem, 1);
  }

 private:
  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;

  struct Shares {
    double mean, most;
  };

  // The share of C that examples use: their largest variable, for Crammer-Singer their sum. The
  // mean is that of examples with a variable above zero.
  Shares shares(const Problem& problem) const {
    std::vector<double> used(problem.size());
    for (Index c = 0; c < problem.classes; ++c) {
      const double* beta = problem.beta.row(c);
      for (Index k = 0; k < problem.size(); ++k)
        used[k] = capped ? used[k] + beta[k] : std::max(used[k], beta[k]);
    }
    double sum = 0, most = 0;
    Index count = 0;
    for (Index k = 0; k < problem.size(); ++k) {
      if (!(used[k] > 0)) continue;
      const double share = used[k] / problem.upper[k] * share_;
      sum += share, ++count;
      most = std::max(most, share);
    }
    return {count > 0 ? sum / count : 0, most};
  }

  // The multiple of the variables that has the largest dual objective.
  static double best_multiple(const Problem& problem) {
    double linear = 0;
    for (double beta : problem.beta.values) linear += beta;
    const double square = 2 * (linear - dual_objective(problem));
    return square > 0 ? linear / square : infinity;
  }

  // Variables at the new bounds, up to rounding, are set to them.
  void set(Problem& problem, double share) {
    share_ = share;
    for (Index k = 0; k < problem.size(); ++k) problem.upper[k] = share * full_[k];
    for (Index c = 0; !capped && c < problem.classes; ++c)
      for (Index k = 0; k < problem.size(); ++k)
        if (double& beta = problem.beta.at(c, k); beta > problem.upper[k] * (1 - 1e-12))
          beta = problem.upper[k];
  }

  std::vector<double> full_;  // C_i, by position
  double share_ = 1;          // of C
  std::int64_t next_try_;
};

}  // namespace softmargin::all_classes
