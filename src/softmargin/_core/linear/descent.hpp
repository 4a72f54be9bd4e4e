// Block coordinate descent on the dual of a linear multi-class machine: Algorithm 1 of Wang and
// Scott, 2021, for the machines of machine.hpp.
//
//   minimise 1/2 |W|^2 + sum_i C_i loss(W'x_i, y_i)
//
// Given: rows x_i, their classes y_i and their C_i. Kept: W and the non-zero dual variables.
//
//   1  beta = 0                                          constructor, or start_from()
//   2  W = 0
//   3  while not converged                               solver.hpp
//   4    for each i, in random order                     begin_pass(), advance_pass(), end_pass()
//   5      v = (1 - margins of i) / |x_i|^2 + (I + 11') beta_i      compute_errors(), compute_v()
//   6      b = the solution of the sub-problem (4) with v and C_i   Machine::solve()
//   7      W += the effect of b - beta_i                            update_weights()
//   8      beta_i = b                                               update_support()
//
// It differs from the paper in three points. Passes skip examples that seem settled, and visits
// skip such classes (shrinking.hpp). The variables of the sub-problem are in units of scores, that
// is, |x_i|^2 times the paper's (machine.hpp). And only the classes whose variable can end above
// zero take part in it:
//
// A class with beta_c = 0 has v_c = e_c + G, where G = |x|^2 1'beta, so it ends above zero only if
// e_c > g - G, with g the sum of the solution b. This g is the root of a decreasing function phi,
// whose slope below G is -1 or steeper: phi(g) = sum_c clip(v_c - g, 0, U) - g for Weston-Watkins.
// Compute phi(G) over the support and the classes with a loss (e_c > 0):
//   phi(G) >= 0: then g >= G, and no other class can end above zero;
//   phi(G) < 0: then g >= G + phi(G), so the classes with e_c > phi(G) take part too.
//
// The duality gap is a sum over examples, C_i loss_i + sum_c (cost(beta_ic) - beta_ic e_ic), whose
// terms are never negative. It is estimated at no cost by adding up each term as of the example's
// last visit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "duals.hpp"
#include "machine.hpp"
#include "rows.hpp"
#include "shrinking.hpp"
#include "shuffle.hpp"
#include "weights.hpp"

namespace softmargin::linear {

// What is given besides the rows, one value for each of them.
struct Given {
  const std::int32_t* labels;  // -1: a class without weights of its own (one-vs-rest only)
  const double* upper;         // C_i
  const double* own_upper;     // C_i in the column of the example's own class; null: the same
  const double* targets;       // of a regression; null in classification
};

template <class Real, class Machine>
class Descent {
 public:
  Descent(const RowReader& rows, const Given& given, std::int32_t classes, Machine machine,
          bool shrinking, std::uint64_t seed)
      : rows_(rows),
        machine_(machine),
        classes_(classes),
        shrinking_(shrinking),
        random_(seed),
        examples_(rows.count),
        weights_(rows.features, classes),
        score_(classes + padding),
        found_(classes + 1),
        candidates_(classes) {
    double entries = 0;
    for (std::int32_t i = 0; i < rows.count; ++i) {
      Example& x = examples_[i];
      x.label = given.labels[i];
      if (x.label < (Machine::coupled ? 0 : -1) || x.label >= classes)
        throw std::invalid_argument("a label is not the number of a class");
      x.upper = given.upper[i];
      x.own_upper = given.own_upper ? given.own_upper[i] : x.upper;
      if (given.targets) x.target = given.targets[i];
      if (x.upper <= 0) continue;  // weight zero: ignored
      rows_.read(i, row_);
      for (std::size_t e = 0; e < row_.size; ++e) x.squared_norm += row_.value[e] * row_.value[e];
      entries += static_cast<double>(row_.size);
      if (!std::isfinite(x.squared_norm))
        throw std::invalid_argument(
            "X or intercept_scaling is so large that a row's squared norm overflows; scale the "
            "data");
      if (x.squared_norm > 0)
        order_.push_back(i);
      else
        constant_ += machine_.constant_loss(x, classes);
    }
    dual_ = constant_;
    for (const std::int32_t i : order_) active_.add(i);
    const double visit = std::max(entries * classes / std::max(rows.count, 1), 1.0);
    visits_per_look_ = static_cast<int>(std::clamp(1e6 / visit, 1.0, 32.0));
  }

  // Lines 1 and 2, but with given variables (those of example i are starts[i] to starts[i + 1]); W
  // is computed from them.
  void start_from(const std::int64_t* starts, const std::int32_t* cls, const double* beta) {
    set_variables({starts, cls, beta});
    double total = 0;
    for (const std::int32_t i : order_) {
      const Example& x = examples_[i];
      for (const DualVariable& variable : x.support)
        total += x.target * variable.beta - machine_.cost(x, variable);
      if (!x.support.empty()) add_to_weights(i, x);
    }
    dual_ = constant_ + total - weights_.squared_norm() / 2;
  }

  // --- line 4: a pass over the active examples ------------------------------------------------

  bool in_pass() const { return active_.in_pass(); }

  void begin_pass() {
    active_.begin_pass(random_);
    shortcuts_ = static_cast<std::int64_t>(active_.skipped());
    movement_ = 0;
  }

  // False if it ran out of time and must be called again.
  template <class OutOfTime>
  bool advance_pass(OutOfTime out_of_time) {
    while (active_.more()) {
      for (int n = 0; n < visits_per_look_ && active_.more(); ++n) {
        prefetch_next();
        const std::int32_t i = active_.next();
        active_.skip(i, visit(i));
      }
      if (active_.more() && out_of_time()) return false;
    }
    return true;
  }

  void end_pass() {
    ++passes_;
    active_.end_pass();
    if (passes_ % 64 == 0) add_up_gap();  // rounding errors accumulate in the running sum
    negligible_ = 0.2 * gap_ / static_cast<double>(order_.size());
  }

  // --- for descents on several blocks of examples (block.hpp) ----------------------------------

  // Makes every change count `factor` times in W, so that steps allow for the steps of other
  // blocks; `norms` are the squared norms of the rows.
  void exaggerate(double factor, const std::vector<double>& norms) {
    for (const std::int32_t i : order_) examples_[i].squared_norm = factor * norms[i];
    exaggeration_ = factor;
  }
  // Sets the variables, but not W.
  void set_variables(const FlatView& flat) {
    for (const std::int32_t i : order_) {
      Support& support = examples_[i].support;
      support.clear();
      for (const DualVariable variable : flat[i])
        if (variable.beta != 0) support.push_back(variable);
    }
  }
  // What the next pass depends on, besides the variables and W: the seed of its order, how many
  // passes there were, and what `save` told after the last one (null: nothing is skipped).
  void load(std::uint64_t seed, std::int64_t passes, const std::uint8_t* plans,
            const double* gaps) {
    random_ = Random(seed);
    passes_ = passes;
    active_.clear();
    for (const std::int32_t i : order_) {
      Example& x = examples_[i];
      x.plan = {};
      x.gap = gaps ? gaps[i] : 0;
      const std::uint8_t* plan = plans ? plans + i * plan_bytes : nullptr;
      if (plan) x.plan.load(plan);
      active_.add(i, plan ? std::min<int>(plan[VisitPlan::bytes], VisitPlan::longest) : 0);
    }
    negligible_ = 0.2 * add_up_gap() / static_cast<double>(order_.size());
  }
  // After a pass: the plans of the examples, each with the number of passes to skip, and their
  // gaps. A plan counts the passes that are left, so the next one loads it as it is.
  void save(std::uint8_t* plans, double* gaps) {
    for (const std::int32_t i : order_) {
      examples_[i].plan.save(plans + i * plan_bytes);
      gaps[i] = examples_[i].gap;
    }
    active_.for_skipped(
        [&](std::int32_t i, int passes) { plans[i * plan_bytes + VisitPlan::bytes] = passes; });
  }
  // Adds the effect of an example's moves to W.
  void add_moves(std::int32_t i, std::span<const Move> moves) {
    rows_.read(i, row_);
    change_.clear();
    for (const Move& move : moves)
      if (move.to != move.from) change_.add(move.cls, move.to - move.from);
    change_.template apply<Machine>(weights_, row_, examples_[i].label);
  }
  static constexpr std::size_t plan_bytes = VisitPlan::bytes + 1;
  const Machine& machine() const { return machine_; }

  // --- what the solver needs to decide on convergence -----------------------------------------

  struct Measure {
    double loss, violation;
  };
  // Recomputes the example's gap over all classes, and returns C times its loss, and its KKT
  // violation.
  Measure measure(std::int32_t i) {
    Example& x = examples_[i];
    compute_errors(i, x, false);
    x.gap = example_gap(x);
    return {machine_.loss(x, candidates_), machine_.violation(x, candidates_)};
  }

  double add_up_gap() {
    gap_ = 0;
    for (const std::int32_t i : order_) gap_ += examples_[i].gap;
    return gap_;
  }

  // Makes skipped examples active again; their next visit looks at all classes.
  template <class Wanted>
  void reactivate(Wanted wanted) {
    active_.reactivate([&](std::int32_t i) {
      if (!wanted(i)) return false;
      examples_[i].plan = {};
      return true;
    });
  }

  // Whether the changes of the last pass were only rounding errors: 1e-15 relative to the
  // variables, so 1e-30 for movement_, a sum of squares.
  bool exhausted() const { return movement_ <= 1e-30 * std::abs(dual_); }
  // Whether the last pass visited all examples and all their classes.
  bool complete() const { return shortcuts_ == 0; }

  // The examples with a positive weight that are not all zeros.
  const std::vector<std::int32_t>& order() const { return order_; }
  std::vector<Example>& examples() { return examples_; }
  const std::vector<Example>& examples() const { return examples_; }
  Weights<Real>& weights() { return weights_; }
  double gap() const { return gap_; }  // each example's share is as of its last visit
  double& dual() { return dual_; }     // the dual objective
  double constant() const { return constant_; }
  int visits_per_look() const { return visits_per_look_; }
  std::int64_t passes() const { return passes_; }
  std::int64_t visits() const { return visits_; }
  std::int64_t support_visits() const { return support_visits_; }
  std::size_t active() const { return order_.size() - active_.skipped(); }

 private:
  struct Step {
    bool changed = false, entered = false;  // any variable; any that was zero
    double gain = 0, movement = 0;          // of the dual objective; |x|^2 times the squared change
  };

  // --- lines 5 to 8: a visit to one example ---------------------------------------------------

  // Returns the number of passes to skip the example.
  int visit(std::int32_t i) {
    Example& x = examples_[i];
    const bool support_only = x.plan.support_only();
    ++visits_;
    support_visits_ += support_only;
    shortcuts_ += support_only;
    gap_ -= x.gap;
    x.gap = 0;
    Step step;
    if (!support_only || !x.support.empty()) {
      compute_errors(i, x, support_only);  // line 5: 1 - margins
      x.gap = example_gap(x);
      if (x.gap > 0) step = step_from(x, support_only);
    }
    gap_ += x.gap;
    dual_ += step.gain;
    movement_ += step.movement;
    if (!shrinking_) return 0;
    // Reading single entries of W costs more than reading a contiguous row.
    const bool small = 16 * (x.support.size() + 1) < static_cast<std::size_t>(classes_);
    return x.plan.visited(step.changed && x.gap > negligible_, step.entered, small, longest_skip());
  }

  Step step_from(Example& x, bool support_only) {
    const std::size_t before = x.support.size();
    const bool all_seen = limit_entering(before) && !support_only;
    const double G = compute_v(x, all_seen);  // line 5: v
    machine_.solve(x, candidates_, G);        // line 6
    Step step = update_weights(x);            // line 7
    if (!step.changed) return step;
    for (std::size_t j = before; j < candidates_.size; ++j) step.entered |= candidates_.b[j] != 0;
    update_support(x.support);  // line 8
    return step;
  }

  // Line 5, first half. Fills the candidates: the support with its errors 1 - margin, then, unless
  // support_only, the other classes with a loss.
  void compute_errors(std::int32_t i, const Example& x, bool support_only) {
    rows_.read(i, row_);
    offset_ = support_only ? errors_of_support(x) : errors_of_all(x);
  }

  // Both functions return the offset: an error is offset + score (separate columns: offset - score
  // for the example's own class).
  double errors_of_all(const Example& x) {
    weights_.scores(row_, score_.data());
    const std::int32_t y = x.label;
    const double own = y >= 0 ? score_[y] : 0;
    const double offset = Machine::coupled ? 1 - own : x.target;
    const Real excluded = -std::numeric_limits<Real>::infinity();
    if (y >= 0) score_[y] = Machine::coupled ? excluded : static_cast<Real>(-own);
    candidates_.size = 0;
    for (const DualVariable& variable : x.support) {
      candidates_.add(variable.cls, offset + score_[variable.cls], variable.beta);
      score_[variable.cls] = excluded;
    }
    add_candidates(offset, Machine::needs_all_classes ? -infinity : 0, infinity);
    return offset;
  }

  double errors_of_support(const Example& x) {
    const Support& support = x.support;
    const std::int32_t y = x.label;
    candidates_.size = 0;
    for (const DualVariable& variable : support) candidates_.add(variable.cls, 0, variable.beta);
    if (Machine::coupled) candidates_.add(y, 0, 0);
    double* error = candidates_.error.data();
    weights_.scores(row_, candidates_.cls.data(), candidates_.size, error);
    candidates_.size = support.size();
    const double offset = Machine::coupled ? 1 - error[support.size()] : x.target;
    for (std::size_t j = 0; j < candidates_.size; ++j)
      error[j] = offset + (candidates_.cls[j] == y ? -error[j] : error[j]);
    return offset;
  }

  // Adds the classes outside the support with low < error <= high.
  void add_candidates(double offset, double low, double high) {
    const std::size_t size =
        find_between(score_.data(), weights_.classes(), static_cast<Real>(low - offset),
                     static_cast<Real>(high - offset), found_.data());
    for (std::size_t j = 0; j < size; ++j)
      candidates_.add(found_[j], offset + score_[found_[j]], 0);
  }

  double example_gap(const Example& x) const { return std::max(0.0, machine_.gap(x, candidates_)); }

  // In the first passes nearly all classes have a loss, and storing all their variables would take
  // as much memory as the scores of all examples; most would be zero again a pass later. So only
  // some enter, those with the largest errors. Returns false if any were left out.
  bool limit_entering(std::size_t before) {
    const std::size_t most = most_entering();
    if (candidates_.size - before <= most) return true;
    std::vector<std::pair<double, std::int32_t>> largest;
    for (std::size_t j = before; j < candidates_.size; ++j)
      largest.emplace_back(-candidates_.error[j], candidates_.cls[j]);
    const auto end = largest.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(largest.begin(), end, largest.end());
    candidates_.size = before;
    std::for_each(largest.begin(), end,
                  [&](const auto& l) { candidates_.add(l.second, -l.first, 0); });
    return false;
  }

  std::size_t most_entering() const {
    constexpr int first = 64, longest_growth = 25;  // to 2^31
    if (Machine::needs_all_classes || !Machine::coupled) return static_cast<std::size_t>(classes_);
    return static_cast<std::size_t>(first) << std::min<std::int64_t>(passes_, longest_growth);
  }

  // Line 5, second half. Computes v, and adds the classes without loss that may end above zero (see
  // the top of this file). Returns G.
  double compute_v(const Example& x, bool all_seen) {
    const double q = x.squared_norm, U = q * x.upper;
    double G = 0;
    if (Machine::coupled)
      for (std::size_t j = 0; j < candidates_.size; ++j) G += q * candidates_.beta[j];
    fill_v(q, G);
    if (all_seen && !Machine::needs_all_classes) {
      const double phi = machine_.phi(candidates_, U, G);
      if (phi < 0) add_candidates(offset_, phi, 0);
      if (phi < 0) fill_v(q, G);
    }
    return G;
  }

  void fill_v(double q, double G) {
    Candidates& set = candidates_;
    for (std::size_t j = 0; j < set.size; ++j) set.v[j] = set.error[j] + q * set.beta[j] + G;
  }

  // Line 7. Replaces the solution b, in units of scores, by the new variables, and updates W.
  Step update_weights(const Example& x) {
    const double q = x.squared_norm;
    Candidates& set = candidates_;
    double squares = 0, gain = 0;
    Step step;
    change_.clear();
    for (std::size_t j = 0; j < set.size; ++j) {
      const double C = machine_.price(x, set.cls[j]), before = set.beta[j];
      const double moved = machine_.variable(set.b[j], q, C);
      set.b[j] = before;
      if (machine_.negligible(before, moved, C)) continue;
      set.b[j] = moved;
      const double change = moved - before;
      change_.add(set.cls[j], exaggeration_ * change);
      step.changed = true;
      squares += q * change * change;
      gain += change * set.error[j] + machine_.cost(x, {before, set.cls[j]}) -
              machine_.cost(x, {moved, set.cls[j]});
    }
    if (!step.changed) return step;
    const double total = Machine::coupled ? change_.total() / exaggeration_ : 0;
    step.movement = squares;
    step.gain = gain - (squares + q * total * total) / 2;
    change_.template apply<Machine>(weights_, row_, x.label);
    return step;
  }

  // Line 8. The support comes first among the candidates, in its own order.
  void update_support(Support& support) {
    const Candidates& set = candidates_;
    const std::size_t before = support.size();
    std::size_t kept = 0;
    for (std::size_t j = 0; j < before; ++j)
      if (set.b[j] != 0) support[kept++] = {set.b[j], set.cls[j]};
    support.resize(kept);
    for (std::size_t j = before; j < set.size; ++j)
      if (set.b[j] != 0) support.push_back({set.b[j], set.cls[j]});
    if (support.capacity() > 4 && 2 * support.size() < support.capacity()) support.shrink_to_fit();
  }

  // --- details --------------------------------------------------------------------------------

  // Adds an example's variables to W, which does not contain them yet.
  void add_to_weights(std::int32_t i, const Example& x) {
    rows_.read(i, row_);
    change_.clear();
    for (const DualVariable& variable : x.support) change_.add(variable.cls, variable.beta);
    change_.template apply<Machine>(weights_, row_, x.label);
  }

  // Short in the first passes, in which W changes fast and nothing stays settled for long.
  int longest_skip() const {
    constexpr std::int64_t divisor = 6;  // a sixth of the passes so far
    return static_cast<int>(std::clamp<std::int64_t>(passes_ / divisor, 1, VisitPlan::longest));
  }

  // The order is random, so the processor cannot predict which memory comes next.
  void prefetch_next() const {
    if (const std::int32_t i = active_.ahead(8); i >= 0) prefetch(&examples_[i]);
    if (const std::int32_t i = active_.ahead(3); i >= 0) {
      prefetch(examples_[i].support.data());
      rows_.prefetch_row(i);
    }
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();

  const RowReader& rows_;
  Machine machine_;
  const std::int32_t classes_;
  const bool shrinking_;
  double constant_ = 0;  // what rows of zeros add to both objectives
  int visits_per_look_;  // visits between two looks at the clock
  Random random_;
  std::vector<Example> examples_;
  std::vector<std::int32_t> order_;
  ActiveSet active_;
  Weights<Real> weights_;
  double dual_ = 0, gap_ = 0;
  double negligible_ = 0;       // gap of an example that counts as zero: a fifth of the average
  double movement_ = 0;         // of the variables in this pass
  std::int64_t shortcuts_ = 0;  // examples skipped, and visits to the support only, in this pass
  std::int64_t passes_ = 0, visits_ = 0, support_visits_ = 0;
  double exaggeration_ = 1;

  // Scratch for the visit of one example.
  Row row_;
  double offset_ = 0;
  std::vector<Real> score_;
  std::vector<std::int32_t> found_;
  WeightChange change_;
  Candidates candidates_;
};

}  // namespace softmargin::linear
