// One of several blocks of examples that descend side by side, in threads or on other machines.
//
// All blocks start from the same W. Each makes a pass over its own examples with its own copy of W
// (step), and returns the change of W that its variables cause. The changes are added, and an exact
// line search of the dual objective decides how far all blocks move (accept). The blocks do not see
// each other's changes, so each counts its own `factor` times (CoCoA+, Ma et al., 2015): 1 is right
// if the blocks have no feature in common, the number of blocks if they are all alike.
//
// Along the step t in [0, 1], the dual objective is at least
//   dual + t (rise - cost + curved - W'change) - t^2 / 2 (|change|^2 + 2 curved)
// with the three sums of the step, and equal to it unless a variable changes its sign.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "descent.hpp"

namespace softmargin::linear {

struct BlockStep {
  std::vector<double> change;             // of W
  double rise = 0, cost = 0, curved = 0;  // changes of sum target beta and of the costs; see above
};

struct BlockMeasure {
  double loss = 0, gap = 0, violation = 0;
};

class AnyBlock {
 public:
  virtual ~AnyBlock() = default;
  virtual BlockStep step(const double* W, double factor) = 0;
  virtual void accept(double length) = 0;
  virtual BlockMeasure measure(const double* W) = 0;
  virtual std::vector<double> start_from(const std::int64_t* starts, const std::int32_t* cls,
                                         const double* beta) = 0;
  virtual const std::vector<Example>& examples() const = 0;
  virtual double estimated_gap() const = 0;
  virtual double dual() = 0;
};

template <class Machine>
class ExampleBlock final : public AnyBlock {
 public:
  ExampleBlock(const RowReader& rows, const Given& given, std::int32_t classes, Machine machine,
               bool shrinking, std::uint64_t seed)
      : descent_(rows, given, classes, machine, shrinking, seed) {}

  BlockStep step(const double* W, double factor) override {
    descent_.exaggerate(factor);
    set_weights(W);
    descent_.remember();
    descent_.begin_pass();
    descent_.advance_pass([] { return false; });
    descent_.end_pass();
    BlockStep found;
    const std::vector<double>& mine = descent_.weights().values();
    found.change.resize(mine.size() - padding);
    for (std::size_t j = 0; j < found.change.size(); ++j)
      found.change[j] = (mine[j] - W[j]) / factor;
    for (const auto& [i, before] : descent_.before()) add_sums(i, before, found);
    return found;
  }

  // Moves the variables this far (0 to 1) from where they were before the step.
  void accept(double length) override {
    if (length == 1) return;
    for (const auto& [i, before] : descent_.before()) {
      Support& support = descent_.examples()[i].support;
      for_pairs(before, support, [&](std::int32_t cls, double from, double to) {
        scratch_.push_back({std::lerp(from, to, length), cls});
      });
      support.clear();
      for (const DualVariable& variable : scratch_)
        if (variable.beta != 0) support.push_back(variable);
      scratch_.clear();
    }
  }

  // Loss, gap and largest KKT violation of all examples. Reactivates those that need more descent.
  BlockMeasure measure(const double* W) override {
    set_weights(W);
    BlockMeasure found;
    for (const std::int32_t i : descent_.order()) {
      const auto measured = descent_.measure(i);
      found.loss += measured.loss;
      found.violation = std::max(found.violation, measured.violation);
    }
    found.loss += descent_.constant();
    found.gap = descent_.add_up_gap();
    const double share =
        found.gap / static_cast<double>(std::max<std::size_t>(descent_.order().size(), 1));
    descent_.reactivate([&](std::int32_t i) { return descent_.examples()[i].gap > share / 2; });
    return found;
  }

  // Returns the part of W that the variables cause.
  std::vector<double> start_from(const std::int64_t* starts, const std::int32_t* cls,
                                 const double* beta) override {
    std::fill(descent_.weights().values().begin(), descent_.weights().values().end(), 0.0);
    descent_.start_from(starts, cls, beta);
    std::vector<double> W = descent_.weights().values();
    W.resize(W.size() - padding);
    return W;
  }

  const std::vector<Example>& examples() const override { return descent_.examples(); }
  double estimated_gap() const override { return descent_.gap(); }
  // The block's part of the dual objective, without |W|^2 / 2.
  double dual() override {
    double sum = descent_.constant();
    for (const Example& x : descent_.examples())
      for (const DualVariable& variable : x.support)
        sum += x.target * variable.beta - descent_.machine().cost(x, variable);
    return sum;
  }

 private:
  void set_weights(const double* W) {
    std::vector<double>& mine = descent_.weights().values();
    std::copy(W, W + (mine.size() - padding), mine.begin());
  }

  // Calls work(class, before, after) for the classes of either support. Supports are short.
  template <class Work>
  static void for_pairs(const Support& before, const Support& after, Work work) {
    const auto value = [](const Support& in, std::int32_t cls) {
      for (const DualVariable& variable : in)
        if (variable.cls == cls) return variable.beta;
      return 0.0;
    };
    for (const DualVariable& variable : after)
      work(variable.cls, value(before, variable.cls), variable.beta);
    for (const DualVariable& variable : before)
      if (value(after, variable.cls) == 0) work(variable.cls, variable.beta, 0.0);
  }

  void add_sums(std::int32_t i, const Support& before, BlockStep& found) {
    const Example& x = descent_.examples()[i];
    const Machine& machine = descent_.machine();
    for_pairs(before, x.support, [&](std::int32_t cls, double from, double to) {
      found.rise += x.target * (to - from);
      found.cost += machine.cost(x, {to, cls}) - machine.cost(x, {from, cls});
      found.curved += machine.curved_cost(x, {to - from, cls});
    });
  }

  Descent<double, Machine> descent_;
  Support scratch_;
};

}  // namespace softmargin::linear
