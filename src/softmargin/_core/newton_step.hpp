// The Newton step: the exact minimum of the dual over its free variables, the others held fixed,
//
//   minimise    1/2 d'Kd + r'd
//   subject to  lower <= beta + d <= upper,  and the sums of d that the dual keeps are zero,
//
// where beta are the free variables, d their changes, r their partial derivatives and K the kernel
// matrix on them. Pair steps could find the same minimum, but their number grows with the condition
// number of K; the work of a Newton step does not.
//
// Given: the dual, its free variables, and a function that fills in K. Returned: the new beta, set
// in the dual, and the changes, by which the caller brings the gradient up to date. The objective
// never rises.
//
// Without bounds d solves a linear system, by the Cholesky factor of K. The step moves from beta
// towards its solution; a variable that meets its bound stays there, and the others continue as
// long as the objective falls. Then the variables at bounds leave the factor, and so on until no
// bound is met. Every move lowers the objective, so the step may also end once it has done enough
// work.
//
// K may be singular: raised pivots keep the solution finite, which is then long along directions
// without curvature, and these lead to a bound. Where K is not positive semidefinite there is no
// step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "dual.hpp"
#include "factor.hpp"
#include "interruption.hpp"
#include "memory_left.hpp"

namespace softmargin {

// The smallest pivot, relative to the diagonal of K, that is more than rounding of kernel values.
template <class Real>
constexpr double pivot_floor = sizeof(Real) == 4 ? 1e-6 : 1e-10;

inline std::vector<Variable> free_variables(const Dual& dual) {
  std::vector<Variable> free;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s)
    for (Index k = 0; k < dual.active; ++k)
      if (dual.parts[s].is_free(k)) free.push_back({s, k});
  return free;
}

struct NewtonResult {
  double gain = 0;  // by how much the objective fell
  std::vector<Index> positions;
  std::vector<double> changes;  // of the sum of the parts, as rounded
  Index bounds = 0;             // how many bounds were met
  double work = 0;              // in the unit of the schedule

  bool moved() const { return !positions.empty(); }
};

// Variables, their bounds, and the partial derivatives of the objective.
struct BoundedVariables {
  std::vector<double> beta, lower, upper, slope;
};

class NewtonStep {
 public:
  // The work of a factor and of a solution or product, in the unit of the schedule.
  static double factor_work(double size) {
    return 0.2 * size * size * size + 12 * size * size + 3500 * size;
  }
  static double solve_work(double size) { return 4 * size * size + 100 * size; }

  // fill(positions, matrix) writes K(positions[i], positions[j]) to matrix.at(i, j) for j > i, and
  // the diagonal.
  template <class Fill>
  NewtonResult take(Dual& dual, std::vector<Variable>& free, double tolerance, double floor,
                    double most_work, Fill fill, Interruption& interruption) {
    sort_by_room(dual, free);
    load(dual, free);
    std::vector<Index> positions;
    for (Variable v : free) positions.push_back(v.position);
    minimise(
        tolerance, floor, most_work, [&](Factor& matrix) { fill(positions, matrix); },
        interruption);
    if (result_.gain > 0) write_back(dual, free);
    return std::move(result_);
  }

  // Minimises any quadratic function of variables within bounds, with no sum to keep. fill(matrix)
  // writes its second derivatives. Sets `beta` if the gain is positive, and returns the gain and
  // the work (no positions).
  template <class Fill>
  NewtonResult take(BoundedVariables& variables, double tolerance, double floor, double most_work,
                    Fill fill, Interruption& interruption) {
    beta_ = variables.beta, lower_ = variables.lower, upper_ = variables.upper;
    slope_ = variables.slope;
    group_.assign(beta_.size(), 0);
    groups_ = 0;
    shares_[0] = 0;
    begin();
    minimise(tolerance, floor, most_work, fill, interruption);
    if (result_.gain > 0)
      for (std::size_t i = 0; i < ends_.size(); ++i)
        variables.beta[i] = std::clamp(ends_[i], variables.lower[i], variables.upper[i]);
    return std::move(result_);
  }

 private:
  template <class Fill>
  void minimise(double tolerance, double floor, double most_work, Fill fill,
                Interruption& interruption) {
    most_work_ = most_work;
    result_ = {};
    try {
      matrix_.resize(size());
      fill(matrix_);
    } catch (const std::bad_alloc&) {
      return give_up();
    }
    if (!is_memory_left(headroom)) return give_up();
    set_scale(floor);
    if (factor(interruption) && (matrix_.is_exact() || is_bounded()))
      descend(std::max(0.1 * tolerance, rounding()), interruption);
    for (Index i = 0; i < size(); ++i) ends_[place_[i]] = beta_[i];
  }

  struct Sums {
    double of[2] = {0, 0};
  };

  static constexpr std::size_t headroom = 8 << 20;  // bytes that are left to others

  // Leaves it to pair steps, which need less memory.
  void give_up() {
    matrix_ = {};
    result_ = {};
  }

  Index size() const { return static_cast<Index>(beta_.size()); }

  // Puts the variables closest to a bound last: they are likely to meet it, and the last variables
  // are the cheapest to remove from the factor.
  static void sort_by_room(const Dual& dual, std::vector<Variable>& free) {
    std::vector<std::pair<double, Variable>> by_room;
    for (Variable v : free) {
      const Part& part = dual.parts[v.part];
      const double beta = part.beta[v.position];
      by_room.push_back(
          {std::min(beta - part.lower[v.position], part.upper[v.position] - beta), v});
    }
    std::stable_sort(by_room.begin(), by_room.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < free.size(); ++i) free[i] = by_room[i].second;
  }

  void load(const Dual& dual, const std::vector<Variable>& free) {
    beta_.clear(), lower_.clear(), upper_.clear(), slope_.clear(), group_.clear();
    for (Variable v : free) {
      const Part& part = dual.parts[v.part];
      beta_.push_back(part.beta[v.position]);
      lower_.push_back(part.lower[v.position]);
      upper_.push_back(part.upper[v.position]);
      slope_.push_back(-dual.value(v));
      group_.push_back(dual.separate ? v.part : 0);
    }
    groups_ = dual.separate ? 2 : 1;
    begin();
  }

  void begin() {
    place_.resize(size());
    std::iota(place_.begin(), place_.end(), Index(0));
    on_bound_.assign(size(), 0);
    ends_ = beta_;
  }

  // Derivatives that differ by less are equal up to rounding.
  double rounding() const {
    double largest = 0;
    for (double slope : slope_) largest = std::max(largest, std::abs(slope));
    return 1e-11 * largest;
  }

  // Where there is neither curvature nor a bound, a step would never end.
  bool is_bounded() const {
    return std::all_of(lower_.begin(), lower_.end(), [](double l) { return l > -infinity; }) &&
           std::all_of(upper_.begin(), upper_.end(), [](double u) { return u < infinity; });
  }

  void set_scale(double floor) {
    scale_ = 0;
    for (Index i = 0; i < size(); ++i) scale_ += matrix_.diagonal(i) / size();
    floor_ = floor * scale_;
  }

  // Adding a multiple of A'A changes nothing where A d = 0, and gives the matrix curvature along A.
  bool factor(Interruption& interruption) {
    if (!(scale_ > 0)) return false;
    const double shift = groups_ > 0 ? scale_ : 0, least_pivot = -100 * floor_;
    result_.work += factor_work(size());
    if (matrix_.factor(group_, shift, floor_, least_pivot, interruption)) return true;
    if (groups_ > 0 || interruption.stopped()) return false;
    // Where the matrix has far more rows than its rank, rounding makes pivots negative.
    const double ridge = -least_pivot;
    result_.work += factor_work(size());
    return matrix_.factor(group_, shift, floor_, least_pivot, interruption, ridge);
  }

  Sums sums(const std::vector<double>& x) const {
    Sums sums;
    for (Index i = 0; i < size(); ++i) sums.of[group_[i]] += x[i];
    return sums;
  }

  void multiply(const std::vector<double>& x, std::vector<double>& out) {
    result_.work += solve_work(size());
    out.resize(size());
    matrix_.multiply(x, out);
  }

  // The solution of the linear system for the variables that are not on a bound.
  bool direct() {
    direction_.resize(size());
    for (Index i = 0; i < size(); ++i) direction_[i] = on_bound_[i] ? 0 : -slope_[i];
    std::vector<double*> vectors{direction_.data()};
    for (int g = 0; g < groups_; ++g) {
      normals_[g].resize(size());
      for (Index i = 0; i < size(); ++i) normals_[g][i] = group_[i] == g && !on_bound_[i];
      vectors.push_back(normals_[g].data());
    }
    result_.work += vectors.size() * solve_work(size());
    matrix_.solve(vectors);
    if (!keep_sums()) return false;
    length_ = longest();
    if (!matrix_.is_exact()) {
      multiply(direction_, bend_);
      return true;
    }
    // Where no pivot was raised, K d follows from the system that d solves.
    bend_.resize(size());
    for (Index i = 0; i < size(); ++i) bend_[i] = -slope_[i] - shares_[group_[i]];
    return true;
  }

  // K times the normals, in the same way.
  void bend_normals() {
    for (int g = 0; g < groups_; ++g) {
      if (!matrix_.is_exact()) {
        multiply(normals_[g], normal_bends_[g]);
        continue;
      }
      const Sums own = sums(normals_[g]);
      normal_bends_[g].resize(size());
      for (Index i = 0; i < size(); ++i)
        normal_bends_[g][i] = (group_[i] == g) - scale_ * own.of[group_[i]];
    }
  }

  // Subtracts multiples of the normals from the direction so that the sums are kept; if `bent`,
  // also the same multiples of K times the normals from K times the direction. False: the direction
  // is lost in rounding.
  bool keep_sums(bool bent = false) {
    if (groups_ == 0) return std::isfinite(dot(direction_, direction_));
    const Sums own = sums(direction_), first = sums(normals_[0]),
               second = groups_ == 2 ? sums(normals_[1]) : Sums{};
    // A group without variables has the normal zero and nothing to keep.
    const double a = first.of[0] > 0 ? first.of[0] : 1, b = first.of[1],
                 c = second.of[1] > 0 ? second.of[1] : 1, determinant = a * c - b * b;
    shares_[0] = (c * own.of[0] - b * own.of[1]) / determinant;
    shares_[1] = (a * own.of[1] - b * own.of[0]) / determinant;
    for (int g = 0; g < groups_; ++g) {
      add(-shares_[g], normals_[g], direction_);
      if (bent) add(-shares_[g], normal_bends_[g], bend_);
    }
    double length = 0;
    for (double d : direction_) length += std::abs(d);
    const Sums left = sums(direction_);
    return std::isfinite(length) &&
           std::max(std::abs(left.of[0]), std::abs(left.of[1])) <= 1e-11 * length;
  }

  static void add(double scale, const std::vector<double>& x, std::vector<double>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * x[i];
  }

  double longest() const {
    double longest = 0;
    for (double d : direction_) longest = std::max(longest, std::abs(d));
    return longest;
  }

  // How far the derivatives of the free variables differ, or, where no sum is kept, how far they
  // are from zero.
  double violation() const {
    double worst = 0;
    for (Index i = 0; groups_ == 0 && i < size(); ++i)
      if (!on_bound_[i]) worst = std::max(worst, std::abs(slope_[i]));
    for (int g = 0; g < groups_; ++g) {
      double low = infinity, high = -infinity;
      for (Index i = 0; i < size(); ++i)
        if (group_[i] == g && !on_bound_[i])
          low = std::min(low, slope_[i]), high = std::max(high, slope_[i]);
      if (high > low) worst = std::max(worst, high - low);
    }
    return worst;
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  // Repeats until the derivatives differ by no more than the target. That may take several
  // solutions even if no bound is met, because raised pivots make a solution fall short of the
  // minimum.
  void descend(double target, Interruption& interruption) {
    for (int inside = 0; inside < 10 && result_.work < most_work_ && violation() > target;) {
      interruption.ask(0);
      if (interruption.stopped() || !direct()) return;
      const double before = result_.gain;
      const std::vector<Index> met = search();
      if (met.empty() && ++inside && !(result_.gain > before)) return;
      if (!met.empty() && !take_out(met, interruption)) return;
    }
  }

  // Goes along the direction as long as the objective falls. A variable that meets its bound stays
  // there, and the direction is corrected for the sums; in this way many variables may meet their
  // bounds before the next solution. Returns them.
  std::vector<Index> search() {
    std::vector<Index> met;
    for (;;) {
      const double slope = dot(slope_, direction_), curvature = dot(direction_, bend_);
      if (!(slope < 0)) return met;
      const double minimum = curvature > 0 ? -slope / curvature : infinity, bound = first_bound();
      const double length = std::min(minimum, bound);
      if (!(length < infinity)) return met;
      result_.gain -= length * (slope + 0.5 * length * curvature);
      advance(length);
      if (minimum < bound) return met;
      if (met.empty()) bend_normals();
      stay_on_bounds(met);
      if (!keep_sums(true)) return met;
      result_.work += 60.0 * size();
      if (const double now = longest(); now < 1e-2 * length_) {
        multiply(direction_, bend_);  // what is left of it is mostly rounding error
        length_ = now;
      }
    }
  }

  // Where the first variable meets its bound, in steps of the direction.
  double first_bound() const {
    double first = infinity;
    for (Index i = 0; i < size(); ++i) {
      const double d = direction_[i], room = (d > 0 ? upper_[i] : lower_[i]) - beta_[i];
      if (d != 0) first = std::min(first, room / d);
    }
    return first;
  }

  void advance(double length) {
    for (Index i = 0; i < size(); ++i) {
      const double to = direction_[i] > 0 ? upper_[i] : lower_[i];
      const bool hits = direction_[i] != 0 && (to - beta_[i]) / direction_[i] <= length;
      beta_[i] = hits ? to : beta_[i] + length * direction_[i];
      slope_[i] += length * bend_[i];
    }
  }

  // Takes the variables that have met a bound out of the direction.
  void stay_on_bounds(std::vector<Index>& met) {
    for (Index j = 0; j < size(); ++j) {
      if (on_bound_[j] || (beta_[j] > lower_[j] && beta_[j] < upper_[j])) continue;
      on_bound_[j] = 1;
      met.push_back(j);
      ++result_.bounds;
      matrix_.add_column(j, -direction_[j], bend_);
      direction_[j] = 0;
      for (int g = 0; g < groups_; ++g) {
        matrix_.add_column(j, -normals_[g][j], normal_bends_[g]);
        normals_[g][j] = 0;
      }
    }
  }

  // Takes these variables out of the linear system: one by one, or by a new factorisation if there
  // are many.
  bool take_out(const std::vector<Index>& met, Interruption& interruption) {
    const Index left = static_cast<Index>(std::count(on_bound_.begin(), on_bound_.end(), 0));
    if (12 * static_cast<Index>(met.size()) <= left) {
      for (Index j : met) {
        const double below = size() - j;
        result_.work += 8 * below * below + 50 * below;
        matrix_.remove(j);
      }
      return true;
    }
    if (left < 2) return false;
    std::vector<Index> kept;
    for (Index i = 0; i < size(); ++i) {
      ends_[place_[i]] = beta_[i];
      if (!on_bound_[i]) kept.push_back(i);
    }
    matrix_.keep(kept);
    for (std::vector<double>* values : {&beta_, &lower_, &upper_, &slope_}) pick(*values, kept);
    pick(group_, kept), pick(place_, kept), pick(on_bound_, kept);
    return factor(interruption);
  }

  template <class T>
  static void pick(std::vector<T>& values, const std::vector<Index>& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) values[i] = values[kept[i]];
    values.resize(kept.size());
  }

  // Rounding must not change the sums: the difference is subtracted from the variable that is
  // farthest from its bounds. If the difference is too large to be rounding, there is no step.
  void write_back(Dual& dual, const std::vector<Variable>& free) {
    double drift[2] = {0, 0}, room[2] = {0, 0}, total = 0;
    Index roomiest[2] = {-1, -1};
    for (std::size_t i = 0; i < free.size(); ++i) {
      const Part& part = dual.parts[free[i].part];
      const Index k = free[i].position;
      const int g = dual.separate ? free[i].part : 0;
      ends_[i] = std::clamp(ends_[i], part.lower[k], part.upper[k]);
      drift[g] += ends_[i] - part.beta[k];
      total += std::abs(ends_[i]) + std::abs(part.beta[k]);
      const double own = std::min(ends_[i] - part.lower[k], part.upper[k] - ends_[i]);
      if (own > room[g]) room[g] = own, roomiest[g] = static_cast<Index>(i);
    }
    for (int g = 0; g < 2; ++g) {
      const bool can_correct = roomiest[g] >= 0 && std::abs(drift[g]) < room[g];
      if (std::abs(drift[g]) > (can_correct ? 1e-9 : 1e-15) * total) {
        result_ = {};
        return;
      }
      if (can_correct) ends_[roomiest[g]] -= drift[g];
    }
    set_all(dual, free);
  }

  // The changes are those of the sum of the parts, because the gradient depends on this sum only,
  // and two parts may move far in opposite directions.
  void set_all(Dual& dual, const std::vector<Variable>& free) {
    std::vector<Index>& positions = result_.positions;
    for (Variable v : free) positions.push_back(v.position);
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    for (Index k : positions) result_.changes.push_back(-dual.total_beta(k));
    for (std::size_t i = 0; i < free.size(); ++i)
      dual.parts[free[i].part].set(free[i].position, ends_[i]);
    for (std::size_t r = 0; r < positions.size(); ++r)
      result_.changes[r] += dual.total_beta(positions[r]);
  }

  Factor matrix_;
  std::vector<double> beta_, lower_, upper_, slope_;
  std::vector<int> group_;
  std::vector<char> on_bound_;
  std::vector<Index> place_;                    // among the given variables
  std::vector<double> ends_;                    // the new beta of all given variables
  int groups_ = 1;                              // sums that are kept; 0: variables have bounds only
  std::vector<double> direction_, normals_[2];  // solutions for -r and for the rows of A
  std::vector<double> bend_, normal_bends_[2];  // K times these
  double length_ = 0;                           // of the direction that bend_ was computed for
  double shares_[2] = {0, 0};                   // of the normals in the direction
  double scale_ = 1, floor_ = 0, most_work_ = 0;
  NewtonResult result_;
};

}  // namespace softmargin
