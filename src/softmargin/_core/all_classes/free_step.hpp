// The Newton step of newton_step.hpp for the machines of all classes: the exact maximum over the
// free variables of some examples, the others held fixed.
//
// A free variable moves weight between the scores of two classes of its example: raising beta_iq by
// d adds d to the coefficient of class p and takes d from that of class q, where p is the example's
// own class. If the variables of an example have the largest sum that Crammer-Singer allows, p is
// instead the class of its largest variable, which falls by d, so that the sum stays. The second
// derivative for two such variables is
//
//   K_ij ([p = p'] - [p = q'] - [q = p'] + [q = q'])
//
// Where Crammer-Singer limits the sum of several free variables, each may use an equal share of
// what is left of it; then no sum can be too large.
#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "../newton_schedule.hpp"
#include "../newton_step.hpp"
#include "problem.hpp"
#include "scores.hpp"

namespace softmargin::all_classes {

template <class Machine>
class FreeStep {
 public:
  // Finds the free variables of the active examples. Returns how many there are, or 0 if they are
  // more than `most`.
  Index find(const Problem& problem, Index most) {
    free_.clear();
    for (Index k = 0; k < problem.active && static_cast<Index>(free_.size()) <= most; ++k)
      find_of(problem, k);
    if (static_cast<Index>(free_.size()) > most) free_.clear();
    return static_cast<Index>(free_.size());
  }

  // The largest violation of their optimality conditions.
  double violation() const {
    double worst = 0;
    for (const Free& one : free_) worst = std::max(worst, std::abs(one.error));
    return worst;
  }

  // The examples that have any.
  std::vector<Index> examples() const {
    std::vector<Index> examples;
    for (const Free& one : free_)
      if (examples.empty() || examples.back() != one.example) examples.push_back(one.example);
    return examples;
  }

  // `values` has the kernel values of the examples at `positions`, row after row; with an empty
  // `positions`, those of all examples. Sets the variables, and the changes of the coefficients of
  // result.positions; the caller updates the scores.
  template <class Real>
  NewtonResult take(Problem& problem, const std::vector<Index>& positions,
                    const std::vector<Real>& values, double tolerance, double most_work,
                    Changes& changes, Interruption& interruption) {
    number_rows(positions);
    sort_by_room();
    BoundedVariables variables;
    for (const Free& one : by_room_) {
      variables.beta.push_back(one.beta);
      variables.lower.push_back(0);
      variables.upper.push_back(one.upper);
      variables.slope.push_back(-one.error);
    }
    const std::size_t size = positions.empty() ? problem.size() : positions.size();
    const auto fill = [&](Factor& matrix) { fill_in(problem, values, size, matrix); };
    NewtonResult result =
        step_.take(variables, tolerance, pivot_floor<Real>, most_work, fill, interruption);
    if (result.gain > 0) write_back(problem, variables.beta, changes, result.positions);
    return result;
  }

 private:
  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;

  struct Free {
    Index example, plus, minus;
    double beta, upper, error;
    Index place;  // among all free variables, in the order of the examples
    Index row;    // of the kernel values
  };

  void find_of(const Problem& problem, Index k) {
    const std::size_t begin = free_.size();
    const double upper = problem.upper[k];
    const Index own = problem.label[k];
    double total = 0, largest = 0;
    Index reference = own;
    for (Index c = 0; c < problem.classes; ++c) {
      const double beta = problem.beta.at(c, k);
      total += beta;
      if (!(beta > 0 && beta < upper)) continue;
      if (beta > largest) largest = beta, reference = c;
      free_.push_back({k, own, c, beta, upper, error(problem, k, c), 0, k});
    }
    if (capped && free_.size() > begin) {
      const bool tied = total >= upper * (1 - 1e-12);
      if (tied) refer_to(problem, reference, begin);
      const double left = (tied ? largest : upper - total) / (free_.size() - begin);
      for (std::size_t f = begin; f < free_.size(); ++f)
        free_[f].upper = std::min(free_[f].beta + left, upper);
    }
    for (std::size_t f = begin; f < free_.size(); ++f) free_[f].place = static_cast<Index>(f);
  }

  static double error(const Problem& problem, Index k, Index c) {
    return 1 - problem.scores.at(problem.label[k], k) + problem.scores.at(c, k);
  }

  // The variable of class `reference` takes up what the others of its example change.
  void refer_to(const Problem& problem, Index reference, std::size_t begin) {
    const auto is_reference = [&](const Free& one) { return one.minus == reference; };
    free_.erase(std::find_if(free_.begin() + begin, free_.end(), is_reference));
    for (std::size_t f = begin; f < free_.size(); ++f) {
      free_[f].plus = reference;
      free_[f].error -= error(problem, free_[f].example, reference);
    }
  }

  void number_rows(const std::vector<Index>& positions) {
    if (positions.empty()) return;
    Index row = 0;
    for (Free& one : free_) {
      while (positions[row] != one.example) ++row;
      one.row = row;
    }
  }

  // Those closest to a bound last, as they are likely to meet it.
  void sort_by_room() {
    by_room_ = free_;
    const auto room = [](const Free& one) { return std::min(one.beta, one.upper - one.beta); };
    std::stable_sort(by_room_.begin(), by_room_.end(),
                     [&](const Free& a, const Free& b) { return room(a) > room(b); });
  }

  template <class Real>
  void fill_in(const Problem& problem, const std::vector<Real>& values, std::size_t size,
               Factor& matrix) const {
    const Index count = static_cast<Index>(by_room_.size());
    for (Index i = 0; i < count; ++i) {
      const Free& a = by_room_[i];
      const Real* row = &values[a.row * size];
      matrix.diagonal(i) = 2 * problem.curvature[a.example];
      double* to = &matrix.at(i, 0);
      for (Index j = i + 1; j < count; ++j) {
        const Free& b = by_room_[j];
        const int sign =
            (a.plus == b.plus) - (a.plus == b.minus) - (a.minus == b.plus) + (a.minus == b.minus);
        to[j] = sign * static_cast<double>(row[b.row]);
      }
    }
  }

  void write_back(Problem& problem, const std::vector<double>& beta, Changes& changes,
                  std::vector<Index>& positions) {
    std::vector<double> ends(free_.size());
    for (std::size_t i = 0; i < by_room_.size(); ++i) ends[by_room_[i].place] = beta[i];
    for (std::size_t f = 0; f < free_.size();) {
      const Index k = free_[f].example, plus = free_[f].plus;
      double sum = 0;
      bool any = false;
      for (; f < free_.size() && free_[f].example == k; ++f) {
        const double change = ends[f] - free_[f].beta;
        if (change == 0) continue;
        if (!any) changes.begin_row(), positions.push_back(k);
        any = true;
        changes.add(free_[f].minus, -change);
        problem.beta.at(free_[f].minus, k) = ends[f];
        sum += change;
      }
      if (!any) continue;
      changes.add(plus, sum);
      if (plus == problem.label[k]) continue;
      double& reference = problem.beta.at(plus, k);
      reference = std::max(reference - sum, 0.0);
    }
    changes.finish();
  }

  std::vector<Free> free_, by_room_;
  NewtonStep step_;
};

}  // namespace softmargin::all_classes
