// Solves the problem of a block. A pass sets the variables of one violating example after another
// to their exact optimum; Newton steps follow where they pay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../newton_schedule.hpp"
#include "free_step.hpp"
#include "problem.hpp"

namespace softmargin::all_classes {

struct StepResult {
  std::int64_t iterations = 0;  // problems of an example that were solved, and Newton steps
  double gain = 0;              // of the dual objective
  double work = 0;              // in the unit of newton_schedule.hpp
  int passes = 0;               // over the examples of a block
  bool moved = false;
  bool given_up = false;  // stopped before anything changed
};

template <class Real, class Machine>
class BlockDescent {
 public:
  using Block = BlockProblem<Real>;

  static constexpr int most_passes = 50;

  BlockDescent(Index classes, bool newton) : newton_(newton), visit_(classes) {}

  // Passes over the examples of a block, the most violating first, until none violates the
  // conditions by more than `enough`. A pass visits its examples twice if at least half of them had
  // to be solved. The work of earlier blocks counts when a Newton step may be due.
  StepResult solve(Block& block, FreeStep<Real, Machine>& step, double enough,
                   std::int64_t most_iterations, Interruption& interruption) {
    StepResult result;
    while (result.passes < most_passes && result.iterations < most_iterations) {
      const std::vector<Index> order = violating(block, enough, result);
      if (order.empty()) break;
      ++result.passes;
      for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        interruption.ask(0);
        if (interruption.stopped()) return {.given_up = true};
        const std::int64_t before = result.iterations;
        for (Index m : order) {
          if (result.iterations >= most_iterations) break;
          move(block, m, enough, result);
        }
        if (2 * (result.iterations - before) < static_cast<std::int64_t>(order.size())) break;
      }
      if (result.iterations < most_iterations)
        newton_step(block, step, enough, interruption, result);
    }
    return result;
  }

 private:
  // The members that violate the conditions by more than `enough`, the most violating first.
  std::vector<Index> violating(const Block& block, double enough, StepResult& result) {
    std::vector<std::pair<double, Index>> found;
    for (Index m = 0; m < block.size(); ++m) {
      visit_.look_at_member(block, m);
      if (const double violation = visit_.violation(); violation > enough)
        found.push_back({-violation, m});
    }
    std::sort(found.begin(), found.end());
    std::vector<Index> members;
    for (const auto& one : found) members.push_back(one.second);
    note_work(200.0 * block.size(), 0, result);
    return members;
  }

  void newton_step(Block& block, FreeStep<Real, Machine>& step, double enough,
                   Interruption& interruption, StepResult& result) {
    if (!newton_ || !schedule_.is_due(0.5 * last_work_)) return;
    step.find(block);
    last_work_ = step.work();
    if (step.violation() <= enough || !schedule_.is_due(last_work_)) return;
    const NewtonResult taken = step.take(block, enough, interruption);
    schedule_.taken(taken.work, taken.gain);
    result.gain += taken.gain;
    result.work += taken.work;
    ++result.iterations;
  }

  void note_work(double work, double gain, StepResult& result) {
    schedule_.worked(work, gain);
    result.gain += gain;
    result.work += work;
  }

  // The work is measured time, in the unit of newton_schedule.hpp.
  void move(Block& block, Index m, double enough, StepResult& result) {
    visit_.look_at_member(block, m);
    // From half of the limit on, so that the next steps do not soon lead beyond it.
    if (visit_.violation() <= 0.5 * enough) return;
    const double gain = visit_.solve();
    ++result.iterations;
    const auto variables = block.variables(m);
    double sum = 0, work = 500;
    for (Index j = 0; j < visit_.size(); ++j) {
      const double change = visit_.change(j);
      if (change == 0) continue;
      variables[j].beta = visit_.to(j);
      block.add(variables[j].cls, variables[j].place, -change);
      sum += change;
      work += 100 + 1.5 * block.size_of(variables[j].cls);
    }
    const auto& member = block.member(m);
    if (sum != 0) block.add(member.label, member.place, sum);
    note_work(work + 1.5 * block.size_of(member.label), gain, result);
  }

  static constexpr int most_sweeps = 2;
  const bool newton_;
  Visit<Machine> visit_;
  NewtonSchedule schedule_;
  double last_work_ = 0;  // of the last Newton step
};

}  // namespace softmargin::all_classes
