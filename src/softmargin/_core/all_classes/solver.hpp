// Solves the problem of problem.hpp in the way in which decomposition.hpp solves a dual: choose
// examples, solve their problem, update the scores, until no variable violates the optimality
// conditions by more than the tolerance and the relative duality gap is at most the gap tolerance.
//
// Examples whose variables are settled are shrunk: taken out of the problem. When the others are
// optimal, they come back, their scores are brought up to date, and all examples and classes are
// checked. run() continues where it stopped; slices give the same steps, however long they take. (A
// limit on iterations ends a block early, and stop() ends a step.)
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../decomposition.hpp"
#include "growing_bounds.hpp"
#include "working_set.hpp"

namespace softmargin::all_classes {

struct Settings {
  Rule rule = Rule::block;
  Index block_size = 512, most_free = 0;
  double tolerance = 1e-3, gap_tolerance = infinity, most_rounding = infinity;
  bool shrinking = true;
  int threads = 1;
};

// A solver for either machine.
class AnySolver {
 public:
  virtual ~AnySolver() = default;
  virtual SolverState run(std::int64_t max_iterations, double max_seconds) = 0;
  virtual SolverState finish() = 0;
  virtual void stop() = 0;
  virtual const Problem& problem() const = 0;
  virtual const Order& order() const = 0;
};

template <class Real, class Machine>
class Solver final : public AnySolver {
 public:
  using Matrix = KernelMatrix<Real>;

  // The problem has labels, bounds and a feasible beta, by example.
  Solver(Problem problem, Matrix matrix, const Settings& settings)
      : problem_(std::move(problem)),
        matrix_(std::move(matrix)),
        settings_(settings),
        working_set_(settings.rule, settings.block_size, problem_.classes, settings.most_free),
        tolerance_(settings.tolerance),
        most_rounding_(settings.most_rounding),
        bounds_(problem_),
        progress_(problem_.size(), true) {
    matrix_.keep_last(working_set_.rows_in_use(), WorkingSet<Real, Machine>::values_per_pair);
    double largest = 0;
    for (Index k = 0; k < problem_.size(); ++k)
      largest = std::max(largest, std::abs(matrix_.diagonal()[k]));
    // Where K_ii is not positive, the computed gain of a step is below the true one, so steps are
    // safe.
    const double least = largest > 0 ? 1e-12 * largest : 1;
    for (Index k = 0; k < problem_.size(); ++k)
      problem_.curvature[k] = std::max(matrix_.diagonal()[k], least);
  }

  SolverState run(std::int64_t max_iterations, double max_seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    last_ = state_.iterations + max_iterations;
    if (!started_) start();
    while (state_.iterations < last_ && state_.outcome == Outcome::running) {
      iterate();
      if (Clock::now() >= end || matrix_.interruption().stopped()) break;
    }
    matrix_.leave_headroom();
    return state();
  }

  SolverState finish() override {
    if (!started_) start();
    unshrink();
    bounds_.end(problem_);
    state_.violation = look_at_all();
    state_.objective = -dual_objective(problem_);
    // The certificate needs memory, but no kernel values.
    matrix_.free_cache();
    working_set_.release_memory();
    return state();
  }

  void stop() override { matrix_.interruption().stop(); }
  const Problem& problem() const override { return problem_; }
  const Order& order() const override { return matrix_.order(); }

 private:
  void start() {
    std::vector<Index> used;
    Changes changes(problem_.classes);
    for (Index k = 0; k < problem_.size(); ++k)
      if (note_coefficients(k, nullptr, changes)) used.push_back(k);
    changes.finish();
    update_scores(problem_, matrix_, used, changes, 0, problem_.size(), {});
    state_.objective = -dual_objective(problem_);
    if (largest_rounding() <= most_rounding_) most_rounding_ = infinity;
    bounds_.start(problem_);
    until_shrink_ = period();
    started_ = true;
  }

  void iterate() {
    if (is_imprecise()) {
      state_.outcome = Outcome::imprecise;
      return;
    }
    double worst = look_at_all();
    if (worst <= present_tolerance() && check_all(worst)) return;
    if (bounds_.is_due(state_.iterations) && bounds_.helps(relative_gap())) {
      unshrink();
      if (bounds_.begin(problem_)) bounds_changed();
      worst = look_at_all();
    }
    if (settings_.shrinking && !all_to_the_end_ && until_shrink_ <= 0) {
      until_shrink_ = period();
      if (shrink(worst)) worst = look_at_all();
    }
    state_.violation = worst;
    const std::int64_t next = most_rounding_ < infinity ? std::min(last_, next_look_) : last_;
    const StepResult step = working_set_.step(problem_, matrix_, violations_, present_tolerance(),
                                              std::max<std::int64_t>(next - state_.iterations, 1));
    if (step.given_up) return;
    state_.iterations += step.iterations;
    until_shrink_ -= step.iterations;
    state_.objective -= step.gain;
    if (!step.moved) no_progress();
    if (progress_.has_stalled(state_.iterations, state_.violation, state_.objective)) no_progress();
  }

  double present_tolerance() const {
    return bounds_.growing() ? std::max(tolerance_, bounds_.tolerance) : tolerance_;
  }

  void grow_bounds() {
    bounds_.grow(problem_);
    bounds_changed();
  }
  void bounds_changed() {
    state_.objective = -dual_objective(problem_);
    progress_.begin_at(state_.iterations);
  }

  std::int64_t period() const { return std::min<std::int64_t>(problem_.size(), 1000); }

  // The violation of each active example; returns the largest.
  double look_at_all() {
    violations_.resize(problem_.active);
    const bool many = static_cast<double>(problem_.active) * problem_.classes > 1e5;
    parallel_ranges(problem_.active, 256, many ? settings_.threads : 1,
                    [&](std::int64_t begin, std::int64_t end, int) {
                      find_violations<Machine>(problem_, static_cast<Index>(begin),
                                               static_cast<Index>(end), violations_.data());
                    });
    double worst = 0;
    for (double violation : violations_) worst = std::max(worst, violation);
    return worst;
  }

  // Called when no active example violates the conditions by more than the tolerance. Brings the
  // others back, and lets the bounds grow, or lowers the tolerance if the gap is too large. True:
  // nothing is left to do in this round; otherwise `worst` is the violation to continue with.
  bool check_all(double& worst) {
    if (problem_.active < problem_.size()) {
      // While the active examples alone have too large a gap, the others need not come back.
      if (!bounds_.growing() && !gap_is_small(worst) && lower_tolerance(worst)) return false;
      unshrink();
      until_shrink_ = 0;
      worst = look_at_all();
      if (worst > present_tolerance()) return false;
    }
    if (bounds_.growing()) {
      grow_bounds();
      worst = look_at_all();
      return worst <= present_tolerance() && check_all(worst);
    }
    state_.violation = worst;
    if (gap_is_small(worst)) {
      state_.outcome = Outcome::optimal;
    } else if (!lower_tolerance(worst)) {
      state_.outcome = Outcome::no_progress;
    }
    return state_.outcome != Outcome::running;
  }

  // Whether the gap of the active examples is small enough.
  bool gap_is_small(double violation) {
    if (settings_.gap_tolerance == infinity || violation <= 0) return true;
    gap_share_ = relative_gap() / settings_.gap_tolerance;
    return gap_share_ <= 1;
  }

  // Of the active examples, for the present bounds. No example's share of the gap is negative.
  double relative_gap() const {
    Visit<Machine> visit(problem_.classes);
    double gap = 0;
    for (Index k = 0; k < problem_.active; ++k) {
      visit.look(problem_, k);
      gap += visit.gap();
    }
    return gap > 0 ? gap / std::abs(state_.objective) : 0;
  }

  // Lowers the tolerance because the gap is too large: the gap falls about in proportion to the
  // violation. False if kernel values are too inexact for that, or if it was lowered too often.
  bool lower_tolerance(double violation) {
    const double next = violation * std::clamp(0.5 / gap_share_, 0.01, 0.5);
    if (next < 0.1 * present_rounding() || lowered_ == 10) return false;
    ++lowered_;
    tolerance_ = next;
    progress_.begin_at(state_.iterations);
    return true;
  }

  // --- shrinking ---------------------------------------------------------------------------

  // The examples shrunk together, at positions from `begin` to `end`, and the nonzero beta of all
  // that stayed active, by example. (The others do not change until this stage ends.)
  struct Stage {
    // To be called for c = 0, 1, ...; `next` begins at starts[example].
    double beta(Index example, Index c, std::size_t& next) const {
      const bool known = next < starts[example + 1] && classes[next] == c;
      return known ? values[next++] : 0;
    }

    Index begin, end;
    std::vector<std::size_t> starts = {0};
    std::vector<Index> classes = {};
    std::vector<double> values = {};
  };

  // Reordering moves all cached rows, so it pays only if much less work is left.
  bool shrink(double worst) {
    std::vector<Index> order, shrunk;
    Visit<Machine> visit(problem_.classes);
    for (Index k = 0; k < problem_.active; ++k) {
      visit.look(problem_, k);
      (visit.settled(worst) ? shrunk : order).push_back(k);
    }
    if (2 * shrunk.size() < static_cast<std::size_t>(problem_.active)) return false;
    const Index active = static_cast<Index>(order.size());
    order.insert(order.end(), shrunk.begin(), shrunk.end());
    for (Index k = problem_.active; k < problem_.size(); ++k) order.push_back(k);
    reorder(order);
    stages_.push_back(Stage{.begin = active, .end = problem_.active});
    note_variables(stages_.back());
    problem_.active = active;
    return true;
  }

  void note_variables(Stage& stage) const {
    for (Index k : order().position_of) {
      for (Index c = 0; k < stage.begin && c < problem_.classes; ++c) {
        if (problem_.beta.at(c, k) == 0) continue;
        stage.classes.push_back(c);
        stage.values.push_back(problem_.beta.at(c, k));
      }
      stage.starts.push_back(stage.values.size());
    }
  }

  void reorder(const std::vector<Index>& old_position) {
    permute(problem_.label, old_position);
    permute(problem_.upper, old_position);
    permute(problem_.curvature, old_position);
    bounds_.reorder(old_position);
    std::vector<double> moved(problem_.size());
    for (Table* table : {&problem_.beta, &problem_.scores})
      for (Index c = 0; c < problem_.classes; ++c) {
        for (Index k = 0; k < problem_.size(); ++k) moved[k] = table->at(c, old_position[k]);
        std::copy(moved.begin(), moved.end(), table->row(c));
      }
    matrix_.reorder(old_position);
  }

  // Brings the scores of shrunk examples up to date, from what changed since they were shrunk.
  void unshrink() {
    for (; !stages_.empty(); stages_.pop_back()) {
      const Stage& stage = stages_.back();
      std::vector<Index> changed;
      Changes changes(problem_.classes);
      for (Index k = 0; k < stage.begin; ++k)
        if (note_coefficients(k, &stage, changes)) changed.push_back(k);
      changes.finish();
      update_scores(problem_, matrix_, changed, changes, stage.begin, stage.end, {});
    }
    problem_.active = problem_.size();
  }

  // The coefficients of an example, minus those of the stage `before` if given, as a row of
  // changes; false if there is no difference.
  bool note_coefficients(Index k, const Stage* before, Changes& changes) const {
    const Index example = order().example_at[k];
    std::size_t next = before ? before->starts[example] : 0;
    double sum = 0;
    bool any = false;
    for (Index c = 0; c < problem_.classes; ++c) {
      const double change = problem_.beta.at(c, k) - (before ? before->beta(example, c, next) : 0);
      if (change == 0) continue;
      if (!any) changes.begin_row();
      any = true;
      changes.add(c, -change);
      sum += change;
    }
    if (any) changes.add(problem_.label[k], sum);
    return any;
  }

  // --- rounding and progress ---------------------------------------------------------------

  bool is_imprecise() {
    if (most_rounding_ == infinity || state_.iterations < next_look_) return false;
    next_look_ *= 4;
    return present_rounding() > most_rounding_;
  }

  // An estimate of the error in a margin, the difference of two scores, from rounded kernel values.
  double present_rounding() const {
    std::vector<double> by_example(problem_.size()), own(problem_.size());
    for (Index c = 0; c < problem_.classes; ++c)
      for (Index k = 0; k < problem_.size(); ++k) own[k] += problem_.beta.at(c, k);
    double most = 0;
    for (Index c = 0; c < problem_.classes; ++c) {
      for (Index k = 0; k < problem_.size(); ++k)
        by_example[order().example_at[k]] =
            problem_.label[k] == c ? own[k] : -problem_.beta.at(c, k);
      most = std::max(most, matrix_.rounding(by_example));
    }
    return std::sqrt(2.0) * most;
  }

  double largest_rounding() const {
    std::vector<double> by_example(problem_.size());
    for (Index k = 0; k < problem_.size(); ++k)
      by_example[order().example_at[k]] =
          problem_.upper[k] * (std::is_same_v<Machine, linear::CrammerSinger>
                                   ? 1
                                   : std::max<Index>(problem_.classes - 1, 1));
    return std::sqrt(2.0) * matrix_.rounding(by_example);
  }

  // Rounding keeps the chosen examples from moving; the shrunk ones may still move.
  void no_progress() {
    if (problem_.active == problem_.size()) {
      if (bounds_.growing()) return grow_bounds();
      state_.outcome = Outcome::no_progress;
      return;
    }
    unshrink();
    all_to_the_end_ = true;
    progress_.begin_at(state_.iterations);
  }

  SolverState state() {
    state_.active = problem_.active;
    state_.to_rebuild = 0;
    for (const Stage& stage : stages_) {
      std::vector<char> changed(stage.begin, 0);
      std::vector<std::size_t> next = stage.starts;
      for (Index c = 0; c < problem_.classes; ++c)
        for (Index k = 0; k < stage.begin; ++k) {
          const Index example = order().example_at[k];
          changed[k] |= problem_.beta.at(c, k) != stage.beta(example, c, next[example]);
        }
      state_.to_rebuild +=
          std::count(changed.begin(), changed.end(), 1) * (stage.end - stage.begin);
    }
    state_.tolerance = tolerance_;
    state_.kernel_rows = matrix_.rows_computed;
    state_.kernel_evaluations = matrix_.evaluations;
    state_.cache_hits = matrix_.hits;
    return state_;
  }

  Problem problem_;
  Matrix matrix_;
  const Settings settings_;
  WorkingSet<Real, Machine> working_set_;
  double tolerance_, most_rounding_, gap_share_ = 0;
  int lowered_ = 0;
  std::vector<double> violations_;  // of the active examples
  std::vector<Stage> stages_;
  GrowingBounds<Machine> bounds_;
  std::int64_t until_shrink_ = 0, last_ = 0, next_look_ = 128;
  Progress progress_;
  bool started_ = false, all_to_the_end_ = false;
  SolverState state_;
};

}  // namespace softmargin::all_classes
