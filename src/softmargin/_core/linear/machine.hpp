// The machines with a score for each class: the linear ones, and those of ../all_classes with a
// kernel. Here are the parts of descent.hpp in which they differ; with a kernel, |x|^2 is K_ii.
//
// For an example of class y with scores s = W'x, a class c has the error
//   e_c = 1 - s_y + s_c (c != y)              Weston-Watkins, Crammer-Singer
//   e_c = 1 + s_c (c != y), e_y = 1 - s_y     one-vs-rest
//   e = target - s                            regression: a single column
// The loss is the sum of max(e_c, 0) over c; for Crammer-Singer the largest max(e_c, 0); for
// separate columns (one-vs-rest, regression) the sum of the losses of loss.hpp.
//
// The sub-problem is solved in units of scores: q = |x|^2, U = q C, v = e + q beta + G with
// G = q 1'beta (separate columns: G = 0). Its solution is
//   b = clip(v - g, 0, U)  with  1'b = g             Weston-Watkins
//   b = max(v - g, 0)      with  1'b = min(g, U)     Crammer-Singer
//   b = loss.step(v, U)                              separate columns; hinge: clip(v, 0, U)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "duals.hpp"
#include "loss.hpp"
#include "subproblem/crammer_singer.hpp"
#include "subproblem/subproblem_newton.hpp"

namespace softmargin::linear {

// What the machines have in common; each redefines the functions in which it differs. They are not
// virtual: a visit is so short that virtual calls would take a good part of its time.
struct Machine {
  // Whether a class's variable also moves the weights of the example's own class, so that the
  // sub-problem depends on the sum 1'b.
  static constexpr bool coupled = true;
  // Whether the sub-problem solver needs every class, not only those that may end above zero.
  static constexpr bool needs_all_classes = false;
  // Whether the dual objective is the sum of all variables minus |W|^2 / 2, and nothing else.
  static constexpr bool plain_dual = true;

  // C times the loss of a row of zeros, which does not depend on the weights.
  static double constant_loss(const Example& x, std::int32_t classes) {
    return x.upper * (classes - 1);
  }

  // What the dual objective subtracts for a variable, besides its part in |W|^2 / 2.
  static double cost(const Example&, const DualVariable&) { return 0; }
  // The part of the cost that is quadratic in the variable.
  static double curved_cost(const Example&, const DualVariable&) { return 0; }

  // C times the loss.
  static double loss(const Example& x, const Candidates& set) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.error[j], 0.0);
    return x.upper * sum;
  }

  // The example's share of the duality gap, C loss - beta'e: no term is negative, and all are zero
  // if the example's variables are optimal.
  static double gap(const Example& x, const Candidates& set) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j)
      sum += x.upper * std::max(set.error[j], 0.0) - set.beta[j] * set.error[j];
    return sum;
  }

  // The largest KKT violation of the example's variables.
  static double violation(const Example& x, const Candidates& set) {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      if (set.beta[j] < x.upper) worst = std::max(worst, set.error[j]);
      if (set.beta[j] > 0) worst = std::max(worst, -set.error[j]);
    }
    return worst;
  }

  // The price of an example's errors in class c.
  static double price(const Example& x, std::int32_t) { return x.upper; }

  // The variable whose value in units of scores is b. Within rounding error of the bound C it is
  // set to the bound, so that "at the bound" can be tested with ==.
  static double variable(double b, double q, double C) {
    return b >= (1 - rounding) * q * C ? C : std::min(b / q, C);
  }
  // Whether a change of a variable is only a rounding error. A move to the bound always counts.
  static bool negligible(double from, double to, double C) {
    return std::abs(to - from) <= (to < C ? rounding * std::max(to, from) : 0);
  }

  // Makes an extrapolation's targets for the variables of one example feasible.
  static void make_feasible(const Example& x, std::span<Move> moves) {
    for (Move& move : moves) move.to = std::clamp(move.to, 0.0, x.upper);
  }

 protected:
  static constexpr double rounding = 1e-14;

  static void clip(Candidates& set, double g, double U) {
    for (std::size_t j = 0; j < set.size; ++j) set.b[j] = std::clamp(set.v[j] - g, 0.0, U);
  }
};

class WestonWatkins : public Machine {
 public:
  // phi(G) of descent.hpp: its sign tells on which side of G the solution's g lies, its size how
  // far away g can be.
  static double phi(const Candidates& set, double U, double G) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::clamp(set.v[j] - G, 0.0, U);
    return sum - G;
  }
  void solve(const Example& x, Candidates& set, double G) {
    const double U = x.squared_norm * x.upper;
    int passes = 0;
    clip(set, weston_watkins_newton(set.v.data(), set.size, U, G, passes), U);
  }
};

class CrammerSinger final : public Machine {
 public:
  static double phi(const Candidates& set, double U, double G) {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) sum += std::max(set.v[j] - G, 0.0);
    return sum - std::min(G, U);
  }
  void solve(const Example& x, Candidates& set, double G) {
    const double U = x.squared_norm * x.upper;
    int passes = 0;
    const double g = crammer_singer_newton(set.v.data(), set.size, U, G, passes);
    clip(set, g, U);
    // The sum must be min(g, U). If U is tiny compared with v, the rounding error of v - g can be
    // as large as the sum.
    double total = 0;
    for (std::size_t j = 0; j < set.size; ++j) total += set.b[j];
    if (total == 0 && g >= U)
      set.b[std::max_element(set.v.begin(), set.v.begin() + set.size) - set.v.begin()] = U;
    else if (total > U || g >= U)
      for (std::size_t j = 0; j < set.size; ++j) set.b[j] *= U / total;
  }
  static double constant_loss(const Example& x, std::int32_t) { return x.upper; }
  static double largest_error(const Candidates& set) {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j) worst = std::max(worst, set.error[j]);
    return worst;
  }
  static double loss(const Example& x, const Candidates& set) {
    return x.upper * largest_error(set);
  }
  static double gap(const Example& x, const Candidates& set) {
    double worst = 0, used = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      worst = std::max(worst, set.error[j]);
      used += set.beta[j] * set.error[j];
    }
    return x.upper * worst - used;
  }
  static double violation(const Example& x, const Candidates& set) {
    const double worst = largest_error(set);
    double total = 0, found = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      total += set.beta[j];
      if (set.beta[j] > 0) found = std::max(found, worst - set.error[j]);
    }
    return total < x.upper * (1 - 1e-12) ? std::max(found, worst) : found;
  }
  static void make_feasible(const Example& x, std::span<Move> moves) {
    Machine::make_feasible(x, moves);
    double total = 0;
    for (const Move& move : moves) total += move.to;
    if (total > x.upper)
      for (Move& move : moves) move.to *= x.upper / total;
  }
};

// The columns of W are separate problems: one-vs-rest, and regression with its single column.
template <class Loss>
class Separate final : public Machine {
 public:
  explicit Separate(Loss loss = {}) : loss_(loss) {}

  static constexpr bool coupled = false;
  static constexpr bool needs_all_classes = Loss::two_sided;
  static constexpr bool plain_dual = Loss::bounded && !Loss::two_sided;

  static double phi(const Candidates&, double, double) { return 0; }
  void solve(const Example& x, Candidates& set, double) const {
    for (std::size_t j = 0; j < set.size; ++j)
      set.b[j] = loss_.step(set.v[j], x.squared_norm * price(x, set.cls[j]));
  }
  // In one-vs-rest, the weight of a class applies to its own column only, as in LIBLINEAR.
  static double price(const Example& x, std::int32_t c) {
    return c == x.label ? x.own_upper : x.upper;
  }
  double constant_loss(const Example& x, std::int32_t classes) const {
    double sum = 0;
    for (std::int32_t c = 0; c < classes; ++c) sum += loss_.priced(x.target, price(x, c));
    return sum;
  }
  double cost(const Example& x, const DualVariable& variable) const {
    return loss_.cost(variable.beta, price(x, variable.cls));
  }
  static double curved_cost(const Example& x, const DualVariable& variable) {
    return Loss::Curved::cost(variable.beta, price(x, variable.cls));
  }
  double loss(const Example& x, const Candidates& set) const {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j)
      sum += loss_.priced(set.error[j], price(x, set.cls[j]));
    return sum;
  }
  double gap(const Example& x, const Candidates& set) const {
    double sum = 0;
    for (std::size_t j = 0; j < set.size; ++j) {
      const double C = price(x, set.cls[j]), beta = set.beta[j], e = set.error[j];
      sum += loss_.priced(e, C) + loss_.cost(beta, C) - beta * e;
    }
    return sum;
  }
  double violation(const Example& x, const Candidates& set) const {
    double worst = 0;
    for (std::size_t j = 0; j < set.size; ++j)
      worst = std::max(worst, loss_.violation(set.error[j], set.beta[j], price(x, set.cls[j])));
    return worst;
  }
  static double variable(double b, double q, double C) {
    if constexpr (!Loss::bounded) return b / q;
    return std::copysign(Machine::variable(std::abs(b), q, C), b);
  }
  static bool negligible(double from, double to, double C) {
    const bool to_bound = Loss::bounded && std::abs(to) == C;
    const double least = to_bound ? 0 : rounding * std::max(std::abs(to), std::abs(from));
    return std::abs(to - from) <= least;
  }
  // A variable may stop at zero, but not change its sign: there, the cost has a kink.
  static void make_feasible(const Example& x, std::span<Move> moves) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (Move& move : moves) {
      const double most = Loss::bounded ? price(x, move.cls) : infinity;
      const bool negative = Loss::two_sided && (move.from < 0 || (move.from == 0 && move.to < 0));
      move.to = negative ? std::clamp(move.to, -most, 0.0) : std::clamp(move.to, 0.0, most);
    }
  }

 private:
  Loss loss_;
};

using OneVsRest = Separate<Hinge>;

}  // namespace softmargin::linear
