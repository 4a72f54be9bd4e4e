// The three linear machines: what differs between them in the one loop of descent.hpp.
//
// For an example of class y with scores s = W'x, a class c has the error
//   e_c = 1 - s_y + s_c (c != y)              Weston-Watkins, Crammer-Singer
//   e_c = 1 + s_c (c != y), e_y = 1 - s_y     one-vs-rest
// and the loss is sum max(e, 0), max(e, 0), sum max(e, 0). In units of scores (q = |x|^2, U = q C,
// v = e + q beta + G with G = q 1'beta, or G = 0 for one-vs-rest) the block's best value is
//   b = clip(v - g, 0, U) with 1'b = g;  b = max(v - g, 0) with 1'b = min(g, U);  b = clip(v, 0,
//   U).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "../weston_watkins/crammer_singer.hpp"
#include "../weston_watkins/subproblem_greedy.hpp"
#include "../weston_watkins/subproblem_newton.hpp"
#include "../weston_watkins/subproblem_sorted.hpp"
#include "block.hpp"

namespace softmargin::linear {

// What the machines have in common; each hides what it does otherwise. The loop is compiled for
// each machine, because a visit is short and calls between its steps would be a good part of it.
struct Machine {
  // Whether raising one class's variable moves the example's own class too, so that 1'b matters.
  static constexpr bool coupled = true;
  // Whether the solver wants every class, not only those that may end above zero.
  static constexpr bool wants_all = false;

  // Loss of a row of zeros, whose variables all end at C.
  static double constant_loss(std::int32_t classes) { return classes - 1; }

  static double loss(const Candidates& set) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.error[j], 0.0);
    return sum;
  }

  // C loss - beta'e: no term is negative, and all are zero where the block is optimal.
  static double gap(const Candidates& set, double C) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j)
      sum += C * std::max(set.error[j], 0.0) - set.beta[j] * set.error[j];
    return sum;
  }

  // How much an optimality condition of the block is violated at most.
  static double violation(const Candidates& set, double C) {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      if (set.beta[j] < C) worst = std::max(worst, set.error[j]);
      if (set.beta[j] > 0) worst = std::max(worst, -set.error[j]);
    }
    return worst;
  }

  // Brings the goals of a block into its bounds.
  static void confine(std::span<Goal> goals, double C) {
    for (Goal& goal : goals) goal.to = std::clamp(goal.to, 0.0, C);
  }

 protected:
  static void clip(Candidates& set, double g, double U) {
    for (std::size_t j = 0; j < set.size; ++j) set.b[j] = std::clamp(set.v[j] - g, 0.0, U);
  }
};

class WestonWatkins : public Machine {
 public:
  // sum of the answer at g = G minus G: how far g may lie from G, and on which side.
  static double imbalance(const Candidates& set, double U, double G) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::clamp(set.v[j] - G, 0.0, U);
    return sum - G;
  }
  void solve(Candidates& set, double U, double G) {
    int passes = 0;
    clip(set, newton_threshold(set.v.data(), set.size, U, G, passes), U);
  }
};

class WestonWatkinsSorted final : public WestonWatkins {
 public:
  static constexpr bool wants_all = true;
  void solve(Candidates& set, double U, double) {
    clip(set, sorted_.threshold(set.v.data(), set.size, U), U);
  }

 private:
  SortedSubproblem sorted_;
};

class WestonWatkinsGreedy final : public WestonWatkins {
 public:
  static constexpr bool wants_all = true;
  void solve(Candidates& set, double U, double G) {
    // v - b - 1'b = e at the start, whence q beta from v.
    for (std::size_t j = 0; j < set.size; ++j)
      set.b[j] = std::clamp(set.v[j] - set.error[j] - G, 0.0, U);
    greedy_.improve(set.v.data(), set.size, U, 1e-3, set.b.data());
  }

 private:
  GreedySubproblem greedy_;
};

class CrammerSinger final : public Machine {
 public:
  static double imbalance(const Candidates& set, double U, double G) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.v[j] - G, 0.0);
    return sum - std::min(G, U);
  }
  void solve(Candidates& set, double U, double G) {
    int passes = 0;
    const double g = crammer_singer_newton(set.v.data(), set.size, U, G, passes);
    clip(set, g, U);
    // The sum is min(g, U). Where U is tiny beside v, rounding of v - g may leave more, less or
    // nothing of it.
    double total = 0;
    for (std::size_t j = 0; j < set.size; ++j) total += set.b[j];
    if (total == 0 && g >= U)
      set.b[std::max_element(set.v.begin(), set.v.begin() + set.size) - set.v.begin()] = U;
    else if (total > U || g >= U)
      for (std::size_t j = 0; j < set.size; ++j) set.b[j] *= U / total;
  }
  static double constant_loss(std::int32_t) { return 1; }
  static double loss(const Candidates& set) {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) worst = std::max(worst, set.error[j]);
    return worst;
  }
  static double gap(const Candidates& set, double C) {
    double worst = 0, used = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      worst = std::max(worst, set.error[j]);
      used += set.beta[j] * set.error[j];
    }
    return C * worst - used;
  }
  static double violation(const Candidates& set, double C) {
    const double worst = loss(set);
    double total = 0, found = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      total += set.beta[j];
      if (set.beta[j] > 0) found = std::max(found, worst - set.error[j]);
    }
    return total < C * (1 - 1e-12) ? std::max(found, worst) : found;
  }
  static void confine(std::span<Goal> goals, double C) {
    Machine::confine(goals, C);
    double total = 0;
    for (const Goal& goal : goals) total += goal.to;
    if (total > C)
      for (Goal& goal : goals) goal.to *= C / total;
  }
};

class OneVsRest final : public Machine {
 public:
  static constexpr bool coupled = false;
  static double imbalance(const Candidates&, double, double) { return 0; }
  void solve(Candidates& set, double U, double) { clip(set, 0, U); }
  static double constant_loss(std::int32_t classes) { return classes; }
};

}  // namespace softmargin::linear
