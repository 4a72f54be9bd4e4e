// One of several blocks of examples that descend side by side, in threads or on other machines.
//
// All blocks start from the same W. Each makes a pass over its own examples with its own copy of W
// (step), and returns its new variables and the change of W that they cause. The changes are added,
// and an exact line search of the dual objective decides how far all blocks move (between). The
// blocks do not see each other's changes, so each counts its own `factor` times (CoCoA+, Ma et al.,
// 2015): 1 is right if the blocks have no feature in common, the number of blocks if they are all
// alike.
//
// Along a step or jump, t in [0, 1], the dual objective is at least
//   dual + t (rise - cost + curved - W'change) - t^2 / 2 (|change|^2 + 2 curved)
// with its three sums, and equal to it unless a variable changes its sign.
//
// All results depend on the arguments alone, to the bit: a block keeps only what it would compute
// again each time (norms), and memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "descent.hpp"

namespace softmargin::linear {

struct BlockStep {
  FlatVariables variables;                // after it
  std::vector<double> change;             // of W
  double rise = 0, cost = 0, curved = 0;  // changes of sum target beta and of the costs; see above
  double gap = 0;                         // as of the last visit to each example
  std::vector<std::uint8_t> plans;        // of the examples' next visits (Descent::save)
  std::vector<double> gaps;
};

struct BlockMeasure {
  double loss = 0, gap = 0, violation = 0;
};

// How a pass begins.
struct BlockTask {
  double factor;
  std::uint64_t seed;
  std::int64_t passes;        // before this one
  const std::uint8_t* plans;  // of the step before; null: all examples and classes are visited
  const double* gaps;
};

// The variables at this share of the way from one point to another.
inline FlatVariables between(const FlatView& from, const FlatView& to, std::size_t examples,
                             std::int32_t classes, double share) {
  FlatVariables found;
  found.cls.reserve(std::max(from.starts[examples], to.starts[examples]));
  found.beta.reserve(found.cls.capacity());
  Combination combine(classes);
  std::vector<Move> moves;
  const double back = -share;
  for (std::size_t i = 0; i < examples; ++i) {
    moves.clear();
    combine(from[i], 1, [&](std::size_t) { return to[i]; }, &back, moves);
    for (const Move& move : moves) found.add(move.to, move.cls);
    found.end_example();
  }
  return found;
}

class AnyBlock {
 public:
  virtual ~AnyBlock() = default;
  virtual BlockStep step(const double* W, const FlatView& variables, const BlockTask& task) = 0;
  virtual BlockStep jump(const FlatView& now, const std::vector<FlatView>& past,
                         const double* ahead) = 0;
  virtual BlockMeasure measure(const double* W, const FlatView& variables) = 0;
  virtual std::pair<std::vector<double>, double> weigh(const FlatView& variables) = 0;
};

template <class Machine>
class ExampleBlock final : public AnyBlock {
 public:
  ExampleBlock(const RowReader& rows, const Given& given, std::int32_t classes, Machine machine,
               bool shrinking)
      : descent_(rows, given, classes, machine, shrinking, 0),
        combine_(classes),
        entries_(descent_.weights().values().size() - padding) {
    for (const Example& x : descent_.examples()) norms_.push_back(x.squared_norm);
    take_weights();
  }

  BlockStep step(const double* W, const FlatView& variables, const BlockTask& task) override {
    descent_.exaggerate(task.factor, norms_);
    descent_.set_variables(variables);
    descent_.load(task.seed, task.passes, task.plans, task.gaps);
    set_weights(W);
    descent_.begin_pass();
    descent_.advance_pass([] { return false; });
    descent_.end_pass();
    BlockStep found;
    found.change = take_weights();
    for (std::size_t j = 0; j < entries_; ++j)
      found.change[j] = (found.change[j] - W[j]) / task.factor;
    const double towards = -1;
    for (const std::int32_t i : descent_.order()) {
      const Support& after = descent_.examples()[i].support;
      if (same(variables[i], after)) continue;
      moves_.clear();
      combine_(
          variables[i], 1, [&](std::size_t) -> const Support& { return after; }, &towards, moves_);
      add_sums(i, found);
    }
    found.gap = descent_.add_up_gap();
    found.plans.resize(norms_.size() * descent_.plan_bytes);
    found.gaps.resize(norms_.size());
    descent_.save(found.plans.data(), found.gaps.data());
    found.variables = flatten(descent_.examples());
    return found;
  }

  // Extrapolates: now + sum of ahead[a] (now - past[a]), within the bounds. See extrapolation.hpp.
  BlockStep jump(const FlatView& now, const std::vector<FlatView>& past,
                 const double* ahead) override {
    descent_.set_variables(now);
    set_weights(nullptr);
    BlockStep found;
    for (const std::int32_t i : descent_.order()) {
      const auto past_of = [&](std::size_t a) { return past[a][i]; };
      Support& support = descent_.examples()[i].support;
      if (std::all_of(past.begin(), past.end(),
                      [&](const FlatView& p) { return same(p[i], support); }))
        continue;
      moves_.clear();
      combine_(support, past.size(), past_of, ahead, moves_);
      Machine::make_feasible(descent_.examples()[i], moves_);
      add_sums(i, found);
      descent_.add_moves(i, moves_);
      support.clear();
      for (const Move& move : moves_)
        if (move.to != 0) support.push_back({move.to, move.cls});
    }
    found.change = take_weights();
    found.variables = flatten(descent_.examples());
    return found;
  }

  // Loss, gap and largest KKT violation of all examples.
  BlockMeasure measure(const double* W, const FlatView& variables) override {
    descent_.set_variables(variables);
    set_weights(W);
    BlockMeasure found;
    for (const std::int32_t i : descent_.order()) {
      const auto measured = descent_.measure(i);
      found.loss += measured.loss;
      found.violation = std::max(found.violation, measured.violation);
    }
    found.loss += descent_.constant();
    found.gap = descent_.add_up_gap();
    take_weights();
    return found;
  }

  // The block's parts of W and of the dual objective without |W|^2 / 2.
  std::pair<std::vector<double>, double> weigh(const FlatView& variables) override {
    set_weights(nullptr);
    descent_.start_from(variables.starts, variables.cls, variables.beta);
    double sum = descent_.constant();
    for (const Example& x : descent_.examples())
      for (const DualVariable& variable : x.support)
        sum += x.target * variable.beta - descent_.machine().cost(x, variable);
    return {take_weights(), sum};
  }

 private:
  // Between two calls a block holds no W: there may be many blocks.
  void set_weights(const double* W) {
    std::vector<double>& mine = descent_.weights().values();
    mine.reserve(entries_ + padding);
    if (W) mine.assign(W, W + entries_);
    mine.resize(entries_ + padding);
  }
  std::vector<double> take_weights() {
    std::vector<double> W = std::exchange(descent_.weights().values(), {});
    W.resize(entries_);
    return W;
  }

  static bool same(const FlatView::Range& a, const Support& b) {
    if (a.size() != b.size()) return false;
    std::size_t j = 0;
    for (const DualVariable variable : a) {
      if (variable.beta != b[j].beta || variable.cls != b[j].cls) return false;
      ++j;
    }
    return true;
  }

  void add_sums(std::int32_t i, BlockStep& found) {
    const Example& x = descent_.examples()[i];
    const Machine& machine = descent_.machine();
    for (const auto& [from, to, cls] : moves_) {
      found.rise += x.target * (to - from);
      found.cost += machine.cost(x, {to, cls}) - machine.cost(x, {from, cls});
      found.curved += machine.curved_cost(x, {to - from, cls});
    }
  }

  Descent<double, Machine> descent_;
  std::vector<double> norms_;
  Combination combine_;
  std::vector<Move> moves_;
  std::size_t entries_;  // of W
};

}  // namespace softmargin::linear
