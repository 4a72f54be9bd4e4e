// A problem whose kernel matrix is in memory: that of a block, or a whole problem of few examples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "../interruption.hpp"
#include "../newton_schedule.hpp"
#include "../newton_step.hpp"
#include "../pair_step.hpp"
#include "../selection/second_order.hpp"
#include "working_set.hpp"

namespace softmargin {

// The kernel matrix, as rows for rules and steps.
template <class Real>
struct SmallMatrix {
  std::size_t stride = 0;
  std::unique_ptr<Real[]> values;
  const Real* given = nullptr;  // replaces `values`
  std::vector<double> diagonals;

  explicit SmallMatrix(Index rows) : stride(rows) {}

  // The values are whatever was in memory: writing zeros first would take a noticeable time.
  void allocate() { values.reset(new Real[stride * stride]); }

  Real* at(Index row) { return &values[static_cast<std::size_t>(row) * stride]; }
  const Real* row(Index row, Index) const {
    return (given ? given : values.get()) + static_cast<std::size_t>(row) * stride;
  }
  const double* diagonal() const { return diagonals.data(); }

  // Row and column `from` take the place of `to`, among the first `rows` of each.
  void move(Index from, Index to, Index rows) {
    std::copy_n(at(from), rows, at(to));
    for (Index r = 0; r < rows; ++r) at(r)[to] = at(r)[from];
  }
};

// Solves such problems, by second-order pair steps and, where they pay, Newton steps.
template <class Real>
class SmallProblem {
 public:
  explicit SmallProblem(Index most_free) : most_free_(most_free) {}

  // Another problem begins.
  void restart() { schedule_.restart(); }

  // Until the violation is at most the tolerance. `matrix` has rows, as SmallMatrix has them.
  template <class Rows>
  Step solve(Dual& dual, Rows& matrix, const Limits& limits, Interruption& interruption) {
    Step step;
    const double work = NewtonSchedule::pair_work(dual.active, dual.parts.size());
    while (step.iterations < limits.iterations) {
      if (step.iterations % 256 == 0) {
        interruption.ask(0);
        if (interruption.stopped()) break;
      }
      const Selection selection = second_order(dual, matrix);
      if (selection.stop <= limits.tolerance) break;
      const StepTaken taken = pair_step(dual, matrix, selection.pair);
      if (!taken.moved()) break;
      step.moved = true;
      step.gain += taken.gain;
      ++step.iterations;
      if (most_free_ == 0) continue;
      step.work += work;
      schedule_.worked(work, taken.gain);
      if (++since_look_ == look_every)
        take_newton_step(dual, matrix, limits.tolerance, interruption, step);
    }
    return step;
  }

 private:
  static constexpr int look_every = 64;

  template <class Rows>
  void take_newton_step(Dual& dual, Rows& matrix, double tolerance, Interruption& interruption,
                        Step& step) {
    since_look_ = 0;
    std::vector<Variable> free = free_variables(dual);
    const Index count = static_cast<Index>(free.size());
    if (count > most_free_ || !schedule_.is_due(count, dual.active)) return;
    const auto fill = [&](const std::vector<Index>& positions, Factor& on_free) {
      const Index count = static_cast<Index>(positions.size());
      for (Index i = 0; i < count; ++i) {
        const Real* row = matrix.row(positions[i], dual.active);
        on_free.diagonal(i) = matrix.diagonal()[positions[i]];
        for (Index j = i + 1; j < count; ++j) on_free.at(i, j) = row[positions[j]];
      }
    };
    const NewtonResult result =
        newton_step_.take(dual, free, tolerance, pivot_floor<Real>,
                          schedule_.most_work(count, dual.active), fill, interruption);
    double* gradient = dual.gradient.data();
    for (std::size_t r = 0; r < result.positions.size(); ++r) {
      const Real* row = matrix.row(result.positions[r], dual.active);
      for (Index k = 0; k < dual.active; ++k) gradient[k] += result.changes[r] * row[k];
    }
    const double work =
        result.work + NewtonSchedule::update_work(result.positions.size(), dual.active);
    schedule_.taken(work, result.gain);
    step.gain += result.gain;
    step.work += work;
  }

  const Index most_free_;
  int since_look_ = 0;
  NewtonSchedule schedule_;
  NewtonStep newton_step_;
};

}  // namespace softmargin
