// Kernel machines for all classes at once. With scores s_c(x) = sum_i a_ic K(x_i, x):
//
//   minimise  1/2 sum_c a_c'Ka_c + sum_i C_i loss_i
//
// The loss of an example of class y is the sum over the other classes c of max(0, 1 - s_y + s_c)
// (Weston-Watkins) or the largest of them (Crammer-Singer). Its dual variables are beta_ic for
// c != y, with a_ic = -beta_ic and a_iy = sum_c beta_ic:
//
//   maximise  sum_ic beta_ic - 1/2 sum_c a_c'Ka_c
//   subject to  0 <= beta_ic <= C_i  (Weston-Watkins)  or  beta >= 0, sum_c beta_ic <= C_i
//
// This is the dual of the linear machines (linear/machine.hpp; Wang and Scott, 2021) with K_ij in
// place of x_i'x_j. So the problem of the variables of one example is theirs with |x|^2 = K_ii, and
// is solved exactly by the same functions. There is no intercept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../dual.hpp"
#include "../linear/machine.hpp"

namespace softmargin::all_classes {

// A row of numbers per class, with one for each example.
struct Table {
  Table(Index classes, Index size)
      : stride(stride_of(size)), values(static_cast<std::size_t>(classes) * stride) {}
  double* row(Index c) { return &values[c * stride]; }
  const double* row(Index c) const { return &values[c * stride]; }
  double& at(Index c, Index k) { return row(c)[k]; }
  double at(Index c, Index k) const { return row(c)[k]; }

  // An odd number of cache lines: the values of an example are then in different places of the
  // processor's cache.
  static std::size_t stride_of(Index size) {
    return ((static_cast<std::size_t>(size) + 7) / 8 | 1) * 8;
  }

  std::size_t stride;
  std::vector<double> values;
};

// The variables of all examples, by position. beta has a zero at the class of the example itself.
// Kept up to date by the solver: the scores of the active examples.
struct Problem {
  Problem(Index size, Index classes)
      : classes(classes),
        label(size),
        upper(size),
        curvature(size),
        beta(classes, size),
        scores(classes, size),
        active(size) {}

  Index size() const { return static_cast<Index>(label.size()); }

  // Multiplies all variables, and so all scores.
  void multiply(double factor) {
    for (Table* table : {&beta, &scores})
      for (double& value : table->values) value *= factor;
  }

  Index classes;
  std::vector<std::int32_t> label;
  std::vector<double> upper;      // C_i
  std::vector<double> curvature;  // K_ii, or a tiny positive number where that is not positive
  Table beta, scores;
  Index active;  // positions [0, active) are worked on, the others are shrunk
};

// The dual objective, for scores that are up to date.
inline double dual_objective(const Problem& problem) {
  double sum = 0;
  for (Index c = 0; c < problem.classes; ++c) {
    const double *beta = problem.beta.row(c), *scores = problem.scores.row(c);
    for (Index k = 0; k < problem.size(); ++k)
      if (beta[k] != 0)
        sum += beta[k] * (1 - 0.5 * (problem.scores.at(problem.label[k], k) - scores[k]));
  }
  return sum;
}

// The largest KKT violation of each example from `begin` to `end`, to out[begin] and so on: as in
// Visit::violation, but class after class, so that the compiler vectorises the loops.
template <class Machine>
void find_violations(const Problem& problem, Index begin, Index end, double* out) {
  constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;
  constexpr Index tile = 128;
  // Local arrays, which the compiler knows not to overlap with the tables. least: the smallest
  // error of a variable above 0.
  double base[tile], worst[tile], total[tile], least[tile];
  for (Index first = begin; first < end; first += tile) {
    const Index count = std::min(tile, end - first);
    const std::int32_t* label = &problem.label[first];
    const double* upper = &problem.upper[first];
    for (Index t = 0; t < count; ++t) {
      base[t] = 1 - problem.scores.at(label[t], first + t);
      worst[t] = total[t] = 0;
      least[t] = infinity;
    }
    for (Index c = 0; c < problem.classes; ++c) {
      const double *beta = problem.beta.row(c) + first, *score = problem.scores.row(c) + first;
      for (Index t = 0; t < count; ++t) {
        const double error = label[t] == c ? 0 : base[t] + score[t];
        if constexpr (capped) {
          worst[t] = std::max(worst[t], error);
          least[t] = beta[t] > 0 ? std::min(least[t], error) : least[t];
          total[t] += beta[t];
        } else {
          const double to_raise = beta[t] < upper[t] ? error : 0;
          const double to_lower = beta[t] > 0 ? -error : 0;
          worst[t] = std::max(worst[t], std::max(to_raise, to_lower));
        }
      }
    }
    for (Index t = 0; capped && t < count; ++t) {
      const double found = std::max(worst[t] - least[t], 0.0);
      worst[t] = total[t] < upper[t] * (1 - 1e-12) ? std::max(found, worst[t]) : found;
    }
    std::copy_n(worst, count, out + first);
  }
}

// Looks at the variables of one example at a time, and solves their problem.
template <class Machine>
class Visit {
 public:
  explicit Visit(Index classes) : set_(classes) {}

  void look(const Problem& problem, Index k) {
    const double base = begin(problem, k);
    const auto add = [&](Index c) {
      set_.add(c, base + problem.scores.at(c, k), problem.beta.at(c, k));
    };
    for (Index c = 0; c < x_.label; ++c) add(c);
    for (Index c = x_.label + 1; c < problem.classes; ++c) add(c);
  }

  // Looks at the variables of a member of a block (block_problem.hpp).
  template <class Block>
  void look_at_member(const Block& block, Index m) {
    const auto& member = block.member(m);
    x_.label = member.label;
    x_.upper = member.upper;
    x_.squared_norm = member.curvature;
    set_.size = 0;
    const double base = 1 - block.score(member.label, member.place);
    for (const auto& one : block.variables(m))
      set_.add(one.cls, base + block.score(one.cls, one.place), one.beta);
  }

  double violation() const { return Machine::violation(x_, set_); }
  double gap() const { return Machine::gap(x_, set_); }

  // Whether the variables are at bounds that they are not expected to leave: they would still be
  // optimal if every error changed by less than `margin`.
  bool settled(double margin) const;

  // Solves the example's problem exactly. Returns the gain; `to(j)` is then the value of the
  // variable of class `cls(j)`.
  double solve() {
    const double q = x_.squared_norm;
    double total = 0;
    for (std::size_t j = 0; j < set_.size; ++j) total += set_.beta[j];
    for (std::size_t j = 0; j < set_.size; ++j)
      set_.v[j] = set_.error[j] + q * (set_.beta[j] + total);
    machine_.solve(x_, set_, q * total);
    double linear = 0, square = 0, sum = 0;
    for (std::size_t j = 0; j < set_.size; ++j) {
      const double from = set_.beta[j], to = Machine::variable(set_.b[j], q, x_.upper);
      set_.b[j] = Machine::negligible(from, to, x_.upper) ? from : to;
      const double change = set_.b[j] - from;
      linear += set_.error[j] * change;
      square += change * change;
      sum += change;
    }
    return linear - 0.5 * q * (square + sum * sum);
  }

  Index size() const { return static_cast<Index>(set_.size); }
  Index cls(Index j) const { return set_.cls[j]; }
  double to(Index j) const { return set_.b[j]; }
  double change(Index j) const { return set_.b[j] - set_.beta[j]; }

 private:
  // Returns the error of a class with a score of zero.
  double begin(const Problem& problem, Index k) {
    x_.label = problem.label[k];
    x_.upper = problem.upper[k];
    x_.squared_norm = problem.curvature[k];
    set_.size = 0;
    return 1 - problem.scores.at(x_.label, k);
  }

  Machine machine_;
  linear::Example x_;
  linear::Candidates set_;
};

template <>
inline bool Visit<linear::WestonWatkins>::settled(double margin) const {
  for (std::size_t j = 0; j < set_.size; ++j) {
    const bool low = set_.beta[j] == 0 && set_.error[j] < -margin;
    const bool high = set_.beta[j] == x_.upper && set_.error[j] > margin;
    if (!low && !high) return false;
  }
  return true;
}

template <>
inline bool Visit<linear::CrammerSinger>::settled(double margin) const {
  double used = -infinity, others = 0;  // the error of the class at the bound; the best other one
  bool any = false;
  for (std::size_t j = 0; j < set_.size; ++j) {
    if (set_.beta[j] == 0) {
      others = std::max(others, set_.error[j]);
    } else if (set_.beta[j] == x_.upper) {
      used = set_.error[j];
      any = true;
    } else {
      return false;
    }
  }
  if (any) return used - others > 2 * margin;
  for (std::size_t j = 0; j < set_.size; ++j)
    if (set_.error[j] >= -margin) return false;
  return true;
}

}  // namespace softmargin::all_classes
