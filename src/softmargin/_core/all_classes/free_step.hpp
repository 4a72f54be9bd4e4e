// The Newton step of newton_step.hpp for the machines of all classes: the maximum over the free
// variables of a block, the others held fixed. It is exact if a factor of their matrix takes not
// much more work than conjugate gradients, which approach it.
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

#include "../linear/machine.hpp"
#include "../newton_step.hpp"
#include "block_problem.hpp"

namespace softmargin::all_classes {

template <class Real, class Machine>
class FreeStep {
 public:
  using Block = BlockProblem<Real>;

  // A step that factors its matrix has at most `most_factored` variables.
  explicit FreeStep(Index most_factored) : most_factored_(most_factored) {}

  // Finds the free variables of a block.
  void find(const Block& block) {
    free_.clear();
    for (Index m = 0; m < block.size(); ++m) add_free_of(block, m);
    find_touched(block);
  }

  // Until the next call of find().
  void release_memory() {
    free_ = {}, by_room_ = {}, touched_ = {};
    step_ = {};
  }

  // The work that a step on them is expected to take, in the unit of the schedule.
  double work() const { return is_factored() ? factor_work() : product_work() * most_products; }

  std::size_t size() const { return free_.size(); }

  // The largest violation of their optimality conditions.
  double violation() const {
    double worst = 0;
    for (const Free& one : free_) worst = std::max(worst, std::abs(one.error));
    return worst;
  }

  // Sets the variables of the block and its scores.
  NewtonResult take(Block& block, double tolerance, Interruption& interruption) {
    return is_factored() ? take_by_factor(block, tolerance, interruption)
                         : take_by_products(block, interruption);
  }

 private:
  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;

  // A class and a place in its list.
  struct Place {
    Index cls, place;
  };
  struct Free {
    Index member;
    // Among those of the member: its number, and that of the variable that takes up its changes, or
    // the number of variables if there is none.
    std::size_t variable, reference;
    Place plus, minus;          // the coefficients that grow and fall with the variable
    double beta, upper, error;  // upper: in this step, C or its share of what the sum leaves
    Index number;               // among all free variables, in the order of the members
  };

  bool is_factored() const {
    return static_cast<Index>(free_.size()) <= most_factored_ &&
           factor_work() <= factor_share_ * product_work() * most_products;
  }
  double factor_work() const {
    const double size = static_cast<double>(free_.size());
    return NewtonStep::factor_work(size) + 12 * NewtonStep::solve_work(size);
  }
  double product_work() const { return product_work_; }

  NewtonResult take_by_factor(Block& block, double tolerance, Interruption& interruption) {
    sort_by_room();
    BoundedVariables variables;
    for (const Free& one : by_room_) {
      variables.beta.push_back(one.beta);
      variables.lower.push_back(0);
      variables.upper.push_back(one.upper);
      variables.slope.push_back(-one.error);
    }
    const auto fill = [&](Factor& matrix) { fill_in(block, matrix); };
    NewtonResult result =
        step_.take(variables, tolerance, pivot_floor<Real>, 3 * work(), fill, interruption);
    std::vector<double> ends(free_.size());
    for (std::size_t i = 0; i < by_room_.size(); ++i) ends[by_room_[i].number] = variables.beta[i];
    if (result.gain > 0) write_back(block, ends);
    return result;
  }

  void add_free_of(const Block& block, Index m) {
    const std::size_t begin = free_.size();
    const auto& member = block.member(m);
    const auto variables = block.variables(m);
    const double upper = member.upper;
    double total = 0, largest = 0;
    std::size_t reference = variables.size();
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const auto& one = variables[v];
      total += one.beta;
      if (!(one.beta > 0 && one.beta < upper)) continue;
      if (one.beta > largest) largest = one.beta, reference = v;
      free_.push_back({m,
                       v,
                       variables.size(),
                       {member.label, member.place},
                       {one.cls, one.place},
                       one.beta,
                       upper,
                       block.error(member, one.cls, one.place),
                       0});
    }
    if (capped && free_.size() > begin) {
      const bool tied = total >= upper * (1 - 1e-12);
      if (tied) tie_to(reference, begin);
      const double left = (tied ? largest : upper - total) / (free_.size() - begin);
      for (std::size_t f = begin; f < free_.size(); ++f)
        free_[f].upper = std::min(free_[f].beta + left, upper);
    }
    for (std::size_t f = begin; f < free_.size(); ++f) free_[f].number = static_cast<Index>(f);
  }

  // The variable `reference` takes up what the others of its member change.
  void tie_to(std::size_t reference, std::size_t begin) {
    const auto is_reference = [&](const Free& one) { return one.variable == reference; };
    const auto found = std::find_if(free_.begin() + begin, free_.end(), is_reference);
    const Free taken = *found;
    free_.erase(found);
    for (std::size_t f = begin; f < free_.size(); ++f) {
      free_[f].reference = reference;
      free_[f].plus = taken.minus;
      free_[f].error -= taken.error;
    }
  }

  // The places of each class's list whose coefficients the free variables change.
  void find_touched(const Block& block) {
    touched_.resize(block.classes());
    for (auto& places : touched_) places.clear();
    for (std::size_t f = 0; f < free_.size(); ++f) {
      const Place plus = free_[f].plus;
      touched_[free_[f].minus.cls].push_back(free_[f].minus.place);
      if (f == 0 || free_[f - 1].member != free_[f].member)
        touched_[plus.cls].push_back(plus.place);
    }
    product_work_ = 40.0 * static_cast<double>(free_.size());
    for (Index c = 0; c < block.classes(); ++c) {
      std::sort(touched_[c].begin(), touched_[c].end());
      product_work_ += 1.5 * static_cast<double>(touched_[c].size()) * (block.size_of(c) + 20.0);
    }
  }

  // Those closest to a bound last, as they are likely to meet it.
  void sort_by_room() {
    by_room_ = free_;
    const auto room = [](const Free& one) { return std::min(one.beta, one.upper - one.beta); };
    std::stable_sort(by_room_.begin(), by_room_.end(),
                     [&](const Free& a, const Free& b) { return room(a) > room(b); });
  }

  // Class after class, because most pairs of variables have no class in common.
  void fill_in(const Block& block, Factor& matrix) const {
    const Index count = static_cast<Index>(by_room_.size());
    struct Entry {
      Index number, place;
      double sign;
    };
    std::vector<std::vector<Entry>> entries(block.classes());
    for (Index i = 0; i < count; ++i) {
      const Free& one = by_room_[i];
      matrix.diagonal(i) = 2 * block.member(one.member).curvature;
      std::fill_n(&matrix.at(i, 0) + i + 1, count - i - 1, 0.0);
      entries[one.plus.cls].push_back({i, one.plus.place, 1});
      entries[one.minus.cls].push_back({i, one.minus.place, -1});
    }
    for (Index c = 0; c < block.classes(); ++c)
      for (std::size_t a = 0; a < entries[c].size(); ++a) {
        const Entry& one = entries[c][a];
        const Real* row = block.row(c, one.place);
        double* to = &matrix.at(one.number, 0);
        for (std::size_t b = a + 1; b < entries[c].size(); ++b)
          to[entries[c][b].number] += one.sign * entries[c][b].sign * row[entries[c][b].place];
      }
  }

  // By conjugate gradients, as if there were no bounds; then the variables are clipped to their
  // bounds, and the step is halved until the objective rises enough (Moré and Toraldo, 1991).
  NewtonResult take_by_products(Block& block, Interruption& interruption) {
    NewtonResult result;
    const auto times = [&](const std::vector<double>& x, auto& sums) {
      result.work += product_work();
      return multiply(block, x, sums);
    };
    // The direction need not be exact, so it is found in the arithmetic of the kernel values.
    std::vector<Real> rough_sums;
    std::vector<double> sums;
    const auto rough = [&](const std::vector<double>& x) { return times(x, rough_sums); };
    std::vector<double> direction = conjugate_gradients(block, rough, interruption);
    if (interruption.stopped()) return result;
    for (int halvings = 0; halvings < 4; ++halvings) {
      std::vector<double> change(free_.size()), ends(free_.size());
      for (std::size_t f = 0; f < free_.size(); ++f) {
        ends[f] = std::clamp(free_[f].beta + direction[f], 0.0, free_[f].upper);
        change[f] = ends[f] - free_[f].beta;
        direction[f] *= 0.5;
      }
      double slope = 0;
      for (std::size_t f = 0; f < free_.size(); ++f) slope += free_[f].error * change[f];
      const double gain = slope - 0.5 * dot(change, times(change, sums));
      if (!(slope > 0 && gain >= 0.1 * slope)) continue;
      result.gain = gain;
      write_back(block, ends);
      break;
    }
    factor_share_ = result.gain > 0 ? usual_share : std::min(4 * factor_share_, 256 * usual_share);
    return result;
  }

  template <class Times>
  std::vector<double> conjugate_gradients(const Block& block, Times times,
                                          Interruption& interruption) const {
    std::vector<double> x(free_.size(), 0.0), r(free_.size());
    for (std::size_t f = 0; f < free_.size(); ++f) r[f] = free_[f].error;
    std::vector<double> z = precondition(block, r), p = z;
    double length = dot(r, z);
    const double enough = 1e-4 * length;
    for (int k = 0; k < most_products && length > enough; ++k) {
      interruption.ask(0);
      if (interruption.stopped() || (k % 8 == 7 && leaves_bounds(x))) break;
      const std::vector<double> product = times(p);
      const double curvature = dot(p, product);
      if (!(curvature > 1e-14 * dot(p, p))) break;
      const double step = length / curvature, before = length;
      for (std::size_t f = 0; f < x.size(); ++f) x[f] += step * p[f], r[f] -= step * product[f];
      z = precondition(block, r);
      length = dot(r, z);
      for (std::size_t f = 0; f < p.size(); ++f) p[f] = z[f] + length / before * p[f];
    }
    return x;
  }

  // Whether so many variables would meet their bounds that a more exact direction is no better.
  bool leaves_bounds(const std::vector<double>& direction) const {
    std::size_t count = 0;
    for (std::size_t f = 0; f < direction.size(); ++f) {
      const double to = free_[f].beta + direction[f];
      count += to < 0 || to > free_[f].upper;
    }
    return 20 * count > direction.size();
  }

  // Solves the problem of each example on its own: its matrix is K_ii (I + 11').
  std::vector<double> precondition(const Block& block, const std::vector<double>& r) const {
    std::vector<double> z(r.size());
    for (std::size_t begin = 0, end; begin < r.size(); begin = end) {
      const Index m = free_[begin].member;
      double sum = 0;
      for (end = begin; end < r.size() && free_[end].member == m; ++end) sum += r[end];
      sum /= static_cast<double>(end - begin + 1);
      for (std::size_t f = begin; f < end; ++f) z[f] = (r[f] - sum) / block.member(m).curvature;
    }
    return z;
  }

  // The second derivatives times x. `sums` are the scores that x as coefficients would give.
  template <class Sum>
  std::vector<double> multiply(const Block& block, const std::vector<double>& x,
                               std::vector<Sum>& sums) const {
    std::vector<std::size_t> starts(block.classes() + 1, 0);
    for (Index c = 0; c < block.classes(); ++c) starts[c + 1] = starts[c] + block.size_of(c);
    std::vector<Sum> coefficients(starts.back(), Sum(0)), of_touched;
    for (std::size_t f = 0; f < x.size(); ++f) {
      const Free& one = free_[f];
      coefficients[starts[one.minus.cls] + one.minus.place] -= static_cast<Sum>(x[f]);
      coefficients[starts[one.plus.cls] + one.plus.place] += static_cast<Sum>(x[f]);
    }
    sums.assign(starts.back(), Sum(0));
    for (Index c = 0; c < block.classes(); ++c) {
      of_touched.clear();
      for (Index place : touched_[c]) of_touched.push_back(coefficients[starts[c] + place]);
      block.add_rows(c, touched_[c], of_touched.data(), sums.data() + starts[c]);
    }
    std::vector<double> product(x.size());
    for (std::size_t f = 0; f < x.size(); ++f) {
      const Free& one = free_[f];
      product[f] = sums[starts[one.plus.cls] + one.plus.place] -
                   sums[starts[one.minus.cls] + one.minus.place];
    }
    return product;
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  // `ends` are the new values of the free variables.
  void write_back(Block& block, const std::vector<double>& ends) {
    // A sum of changes may be a rounding error away from a bound.
    constexpr double rounding = 1e-14;
    std::vector<double> changes(free_.size());
    for (std::size_t f = 0; f < free_.size(); ++f) {
      const Free& one = free_[f];
      const auto variables = block.variables(one.member);
      const double upper = block.member(one.member).upper, most = (1 - rounding) * upper;
      changes[f] = ends[f] - one.beta;
      variables[one.variable].beta = ends[f] >= most ? upper : ends[f];
      if (one.reference == variables.size()) continue;
      // Its member's variables sum to `upper`. (Without that, they may all be this small.)
      double& reference = variables[one.reference].beta;
      reference -= changes[f];
      if (reference <= rounding * upper) reference = 0;
      if (reference >= most) reference = upper;
    }
    std::vector<double> sums;
    multiply(block, changes, sums);
    const double* sum = sums.data();
    for (Index c = 0; c < block.classes(); ++c) {
      double* scores = block.scores(c);
      for (Index place = 0; place < block.size_of(c); ++place) scores[place] += *sum++;
    }
  }

  static constexpr int most_products = 50;
  static constexpr double usual_share = 4;
  const Index most_factored_;
  // A factor may take this many times the work of products, because it is exact and takes many
  // variables to their bounds. It may take more after products that found no ascent, as they do
  // where the matrix is nearly singular.
  double factor_share_ = usual_share;
  std::vector<Free> free_, by_room_;
  std::vector<std::vector<Index>> touched_;  // a list of places for each class
  double product_work_ = 0;
  NewtonStep step_;
};

}  // namespace softmargin::all_classes
