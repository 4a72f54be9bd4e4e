// Working sets of two variables, chosen by a rule; and now and then a Newton step.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../pair_step.hpp"
#include "active_newton.hpp"
#include "working_set.hpp"

namespace softmargin {

template <class Real>
class Pairs final : public WorkingSet<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  // Newton steps are on at most `most_free` variables; 0: none.
  Pairs(std::unique_ptr<Rule<Matrix>> rule, bool shrink, Index most_free)
      : rule_(std::move(rule)), newton_(most_free, 64) {
    if (shrink) shrinking_.emplace();
  }

  Selection select(const Dual& dual, Matrix& matrix) override {
    return rule_->select(dual, matrix);
  }

  Step step(Dual& dual, Matrix& matrix, const Selection& selection, const Limits& limits) override {
    if (const double gain = take_newton_step(dual, matrix, limits.tolerance); gain > 0)
      return {.iterations = 1, .gain = gain, .moved = true};
    const Pair& pair = selection.pair;
    const Part &up = dual.parts[pair.up.part], &down = dual.parts[pair.down.part];
    const double up_share = up.bounded(pair.up.position);
    const double down_share = down.bounded(pair.down.position);
    const StepTaken taken = pair_step(dual, matrix, pair);
    rule_->stepped(pair, dual, matrix);
    if (shrinking_) {
      shrinking_->update(dual, matrix, pair.up, up.bounded(pair.up.position) - up_share);
      shrinking_->update(dual, matrix, pair.down, down.bounded(pair.down.position) - down_share);
    }
    newton_.worked(NewtonSchedule::pair_work(dual.active, dual.parts.size()), taken.gain);
    return {.iterations = 1, .gain = taken.gain, .moved = taken.moved()};
  }

  void update(Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
              const std::vector<double>& changes) override {
    rule_->restart();
    if (!shrinking_) return WorkingSet<Real>::update(dual, matrix, positions, changes);
    shrinking_->start(dual, matrix);  // G-bar has changed too
  }

  Shrinking<Real>* shrinking() override { return shrinking_ ? &*shrinking_ : nullptr; }

  // A pair, and the previous pair of each class.
  Index rows_in_use() const override { return 6; }

 private:
  // By how much the objective falls; 0: no step is due, or it changed nothing.
  double take_newton_step(Dual& dual, Matrix& matrix, double tolerance) {
    std::vector<Variable> free;
    const NewtonResult result = newton_.step_if_due(dual, matrix, tolerance, free);
    if (result.moved() && shrinking_)
      for (Variable v : free)
        shrinking_->update(dual, matrix, v, dual.parts[v.part].bounded(v.position));
    return result.gain;
  }

  std::unique_ptr<Rule<Matrix>> rule_;
  std::optional<ShrinkingWithGBar<Real>> shrinking_;
  ActiveNewton<Real> newton_;
};

}  // namespace softmargin
