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
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "../newton_schedule.hpp"
#include "../newton_step.hpp"
#include "problem.hpp"
#include "scores.hpp"

namespace softmargin::all_classes {

// A row of kernel values for each example that has free variables, of `size` examples: of all
// examples by position, or of those that have free variables.
template <class Real>
struct KernelRows {
  std::vector<const Real*> rows;
  Index size;
  bool among_themselves;
};

template <class Machine>
class FreeStep {
 public:
  // A step that factors its matrix has at most `most_factored` variables.
  explicit FreeStep(Index most_factored) : most_factored_(most_factored) {}

  // Finds the free variables of the active examples.
  void find(const Problem& problem) {
    free_.clear();
    std::vector<char> any(problem.active, 0);
    for (Index c = 0; c < problem.classes; ++c) {
      const double* beta = problem.beta.row(c);
      for (Index k = 0; k < problem.active; ++k)
        any[k] |= (beta[k] > 0) & (beta[k] < problem.upper[k]);
    }
    for (Index k = 0; k < problem.active; ++k)
      if (any[k]) find_of(problem, k);
  }

  // The work that a step on them is expected to take, in the unit of the schedule.
  double work() const { return is_factored() ? factor_work() : product_work() * most_products; }

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

  // Sets the variables, and the changes of the coefficients of result.positions; the caller updates
  // the scores.
  template <class Real>
  NewtonResult take(Problem& problem, const KernelRows<Real>& rows, double tolerance,
                    Changes& changes, Interruption& interruption) {
    number_rows(rows.among_themselves);
    if (!is_factored()) return take_by_products(problem, rows, changes, interruption);
    sort_by_room();
    BoundedVariables variables;
    for (const Free& one : by_room_) {
      variables.beta.push_back(one.beta);
      variables.lower.push_back(0);
      variables.upper.push_back(one.upper);
      variables.slope.push_back(-one.error);
    }
    const auto fill = [&](Factor& matrix) { fill_in(problem, rows, matrix); };
    NewtonResult result =
        step_.take(variables, tolerance, pivot_floor<Real>, 3 * work(), fill, interruption);
    std::vector<double> ends(free_.size());
    for (std::size_t i = 0; i < by_room_.size(); ++i) ends[by_room_[i].place] = variables.beta[i];
    if (result.gain > 0) write_back(problem, ends, changes, result.positions);
    return result;
  }

 private:
  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;

  struct Free {
    Index example, plus, minus;
    double beta, upper, error;
    Index place;        // among all free variables, in the order of the examples
    Index row, column;  // of the kernel values
  };

  // A factor is exact and takes many variables to their bounds, so it may take four times the work;
  // with many variables, products take far less.
  bool is_factored() const {
    return static_cast<Index>(free_.size()) <= most_factored_ &&
           factor_work() <= 4 * product_work() * most_products;
  }
  double factor_work() const {
    const double size = static_cast<double>(free_.size());
    return NewtonStep::factor_work(size) + 12 * NewtonStep::solve_work(size);
  }
  double product_work() const {
    const double examples = static_cast<double>(count_examples());
    return 4 * (static_cast<double>(free_.size()) + examples) * examples;
  }
  Index count_examples() const {
    Index count = 0;
    for (std::size_t f = 0; f < free_.size(); ++f)
      count += f == 0 || free_[f].example != free_[f - 1].example;
    return count;
  }

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
      free_.push_back({k, own, c, beta, upper, error(problem, k, c), 0, 0, k});
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

  void number_rows(bool among_themselves) {
    Index row = -1;
    for (std::size_t f = 0; f < free_.size(); ++f) {
      row += f == 0 || free_[f].example != free_[f - 1].example;
      free_[f].row = row;
      free_[f].column = among_themselves ? row : free_[f].example;
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
  void fill_in(const Problem& problem, const KernelRows<Real>& rows, Factor& matrix) const {
    const Index count = static_cast<Index>(by_room_.size());
    for (Index i = 0; i < count; ++i) {
      const Free& a = by_room_[i];
      const Real* row = rows.rows[a.row];
      matrix.diagonal(i) = 2 * problem.curvature[a.example];
      double* to = &matrix.at(i, 0);
      for (Index j = i + 1; j < count; ++j) {
        const Free& b = by_room_[j];
        const int sign =
            (a.plus == b.plus) - (a.plus == b.minus) - (a.minus == b.plus) + (a.minus == b.minus);
        to[j] = sign * static_cast<double>(row[b.column]);
      }
    }
  }

  // By conjugate gradients, as if there were no bounds; then the variables are clipped to their
  // bounds, and the step is halved until the objective rises enough (Moré and Toraldo, 1991).
  template <class Real>
  NewtonResult take_by_products(Problem& problem, const KernelRows<Real>& rows, Changes& changes,
                                Interruption& interruption) {
    NewtonResult result;
    const auto times = [&]<class Sum>(const std::vector<double>& x, TableOf<Sum>& scores) {
      result.work += product_work();
      return multiply(problem, rows, x, scores);
    };
    // The direction need not be exact, so it is found in the arithmetic of the kernel values.
    std::vector<double> direction;
    {
      TableOf<Real> scores(problem.classes, rows.size);
      const auto rough = [&](const std::vector<double>& x) { return times(x, scores); };
      direction = conjugate_gradients(problem, rough, interruption);
    }
    if (interruption.stopped()) return result;
    Table scores(problem.classes, rows.size);
    for (int halvings = 0; halvings < 4; ++halvings) {
      std::vector<double> change(free_.size()), ends(free_.size());
      for (std::size_t f = 0; f < free_.size(); ++f) {
        ends[f] = std::clamp(free_[f].beta + direction[f], 0.0, free_[f].upper);
        change[f] = ends[f] - free_[f].beta;
        direction[f] *= 0.5;
      }
      double slope = 0;
      for (std::size_t f = 0; f < free_.size(); ++f) slope += free_[f].error * change[f];
      const double gain = slope - 0.5 * dot(change, times(change, scores));
      if (!(slope > 0 && gain >= 0.1 * slope)) continue;
      result.gain = gain;
      write_back(problem, ends, changes, result.positions);
      break;
    }
    return result;
  }

  template <class Times>
  std::vector<double> conjugate_gradients(const Problem& problem, Times times,
                                          Interruption& interruption) const {
    std::vector<double> x(free_.size(), 0.0), r(free_.size());
    for (std::size_t f = 0; f < free_.size(); ++f) r[f] = free_[f].error;
    std::vector<double> z = precondition(problem, r), p = z;
    double length = dot(r, z);
    const double enough = 1e-4 * length;
    for (int k = 0; k < most_products && length > enough; ++k) {
      interruption.ask(0);
      if (interruption.stopped()) break;
      const std::vector<double> product = times(p);
      const double curvature = dot(p, product);
      if (!(curvature > 1e-14 * dot(p, p))) break;
      const double step = length / curvature, before = length;
      for (std::size_t f = 0; f < x.size(); ++f) x[f] += step * p[f], r[f] -= step * product[f];
      z = precondition(problem, r);
      length = dot(r, z);
      for (std::size_t f = 0; f < p.size(); ++f) p[f] = z[f] + length / before * p[f];
    }
    return x;
  }

  // Solves the problem of each example on its own: its matrix is K_ii (I + 11').
  std::vector<double> precondition(const Problem& problem, const std::vector<double>& r) const {
    std::vector<double> z(r.size());
    for (std::size_t begin = 0, end; begin < r.size(); begin = end) {
      const Index k = free_[begin].example;
      double sum = 0;
      for (end = begin; end < r.size() && free_[end].example == k; ++end) sum += r[end];
      sum /= static_cast<double>(end - begin + 1);
      for (std::size_t f = begin; f < end; ++f) z[f] = (r[f] - sum) / problem.curvature[k];
    }
    return z;
  }

  // The second derivatives times x.
  template <class Real, class Sum>
  std::vector<double> multiply(const Problem& problem, const KernelRows<Real>& rows,
                               const std::vector<double>& x, TableOf<Sum>& scores) const {
    Changes changes(problem.classes);
    for (std::size_t begin = 0, end; begin < x.size(); begin = end) {
      changes.begin_row();
      double sum = 0;
      for (end = begin; end < x.size() && free_[end].row == free_[begin].row; ++end) {
        changes.add(free_[end].minus, -x[end]);
        sum += x[end];
      }
      changes.add(free_[begin].plus, sum);
    }
    changes.finish();
    std::fill(scores.values.begin(), scores.values.end(), Sum(0));
    changes.add_rows(rows.rows, rows.size, scores);
    std::vector<double> product(x.size());
    for (std::size_t f = 0; f < x.size(); ++f)
      product[f] =
          scores.at(free_[f].plus, free_[f].column) - scores.at(free_[f].minus, free_[f].column);
    return product;
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  // `ends` are the new values of the free variables.
  void write_back(Problem& problem, const std::vector<double>& ends, Changes& changes,
                  std::vector<Index>& positions) const {
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

  static constexpr int most_products = 25;
  const Index most_factored_;
  std::vector<Free> free_, by_room_;
  NewtonStep step_;
};

}  // namespace softmargin::all_classes
