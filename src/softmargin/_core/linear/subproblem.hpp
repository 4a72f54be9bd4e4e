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
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "../weston_watkins/crammer_singer.hpp"
#include "../weston_watkins/subproblem_greedy.hpp"
#include "../weston_watkins/subproblem_newton.hpp"
#include "../weston_watkins/subproblem_sorted.hpp"
#include "block.hpp"

namespace softmargin::linear {

class Subproblem {
 public:
  virtual ~Subproblem() = default;

  // Whether raising one class's variable moves the example's own class too, so that 1'b matters.
  virtual bool coupled() const { return true; }
  // Whether the solver wants every class, not only those that may end above zero.
  virtual bool wants_all() const { return false; }
  // sum of the answer at g = G minus G: how far g may lie from G, and on which side.
  virtual double imbalance(const Candidates&, double U, double G) const = 0;
  virtual void solve(Candidates&, double U, double G) = 0;

  virtual double loss(const Candidates& set) const {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.error[j], 0.0);
    return sum;
  }
  // Loss of a row of zeros, whose variables all end at C.
  virtual double constant_loss(std::int32_t classes) const { return classes - 1; }

  // How much an optimality condition of the block is violated at most.
  virtual double violation(const Candidates& set, double C) const {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      if (set.beta[j] < C) worst = std::max(worst, set.error[j]);
      if (set.beta[j] > 0) worst = std::max(worst, -set.error[j]);
    }
    return worst;
  }

 protected:
  static void clip(Candidates& set, double g, double U) {
    for (std::size_t j = 0; j < set.size; ++j) set.b[j] = std::clamp(set.v[j] - g, 0.0, U);
  }
};

class WestonWatkins : public Subproblem {
 public:
  double imbalance(const Candidates& set, double U, double G) const override {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::clamp(set.v[j] - G, 0.0, U);
    return sum - G;
  }
  void solve(Candidates& set, double U, double G) override {
    int passes = 0;
    clip(set, newton_threshold(set.v.data(), set.size, U, G, passes), U);
  }
};

class WestonWatkinsSorted final : public WestonWatkins {
 public:
  bool wants_all() const override { return true; }
  void solve(Candidates& set, double U, double) override {
    clip(set, sorted_.threshold(set.v.data(), set.size, U), U);
  }

 private:
  SortedSubproblem sorted_;
};

class WestonWatkinsGreedy final : public WestonWatkins {
 public:
  bool wants_all() const override { return true; }
  void solve(Candidates& set, double U, double G) override {
    // v - b - 1'b = e at the start, whence q beta from v.
    for (std::size_t j = 0; j < set.size; ++j)
      set.b[j] = std::clamp(set.v[j] - set.error[j] - G, 0.0, U);
    greedy_.improve(set.v.data(), set.size, U, 1e-3, set.b.data());
  }

 private:
  GreedySubproblem greedy_;
};

class CrammerSinger final : public Subproblem {
 public:
  double imbalance(const Candidates& set, double U, double G) const override {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.v[j] - G, 0.0);
    return sum - std::min(G, U);
  }
  void solve(Candidates& set, double U, double G) override {
    int passes = 0;
    clip(set, crammer_singer_newton(set.v.data(), set.size, U, G, passes), U);
  }
  double loss(const Candidates& set) const override {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) worst = std::max(worst, set.error[j]);
    return worst;
  }
  double constant_loss(std::int32_t) const override { return 1; }
  double violation(const Candidates& set, double C) const override {
    const double worst = loss(set);
    double total = 0, found = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      total += set.beta[j];
      if (set.beta[j] > 0) found = std::max(found, worst - set.error[j]);
    }
    return total < C * (1 - 1e-12) ? std::max(found, worst) : found;
  }
};

class OneVsRest final : public Subproblem {
 public:
  bool coupled() const override { return false; }
  double imbalance(const Candidates&, double, double) const override { return 0; }
  void solve(Candidates& set, double U, double) override { clip(set, 0, U); }
  double constant_loss(std::int32_t classes) const override { return classes; }
};

inline std::unique_ptr<Subproblem> make_subproblem(const std::string& machine,
                                                   const std::string& method) {
  if (machine == "weston_watkins" && method == "newton") return std::make_unique<WestonWatkins>();
  if (machine == "weston_watkins" && method == "sorted")
    return std::make_unique<WestonWatkinsSorted>();
  if (machine == "weston_watkins" && method == "greedy")
    return std::make_unique<WestonWatkinsGreedy>();
  if (machine == "crammer_singer" && method == "newton") return std::make_unique<CrammerSinger>();
  if (machine == "ovr" && method == "newton") return std::make_unique<OneVsRest>();
  throw std::invalid_argument("unknown machine " + machine + " with sub-problem " + method);
}

}  // namespace softmargin::linear
