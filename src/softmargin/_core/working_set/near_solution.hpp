// All variables of a problem that starts near its solution and whose kernel matrix is in memory.
// Few variables change, and the free variables change much more than the others. So the first step
// is a Newton step, and every few pair steps the solver checks whether another one is due.
#pragma once

#include "active_newton.hpp"
#include "small_problem.hpp"

namespace softmargin {

template <class Real>
class NearSolution final : public WorkingSet<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  // `newton` is shared by the problems of a path: how much Newton steps pay is learnt only once.
  NearSolution(Index size, ActiveNewton<Real>& newton, Index most_free, bool is_near)
      : rows_(size), problem_(0), newton_(newton), most_free_(most_free), first_(is_near) {}

  Selection select(const Dual& dual, Matrix&) override { return most_violating_pair(dual); }

  Step step(Dual& dual, Matrix& matrix, const Selection&, const Limits& limits) override {
    if (rows_.diagonals.empty()) {
      rows_.given = matrix.stored();
      rows_.diagonals.assign(matrix.diagonal(), matrix.diagonal() + matrix.size());
    }
    std::vector<Variable> free;
    if (first_) make_due(dual);
    if (const NewtonResult taken = newton_.step_if_due(dual, matrix, limits.tolerance, free);
        taken.moved())
      return {.iterations = 1, .gain = taken.gain, .moved = true};
    const Limits few{limits.tolerance, std::min<std::int64_t>(16, limits.iterations)};
    Step step = problem_.solve(dual, rows_, few, matrix.interruption());
    step.given_up = matrix.interruption().stopped() && !step.moved;
    const double work = NewtonSchedule::pair_work(dual.active, dual.parts.size());
    newton_.worked(static_cast<double>(step.iterations) * work, step.gain);
    return step;
  }

  Index rows_in_use() const override { return 2; }

 private:
  // Makes a Newton step due at once, unless it costs more than the pair steps that it could save.
  void make_due(const Dual& dual) {
    first_ = false;
    const Index free = static_cast<Index>(free_variables(dual).size());
    if (free < 2 || free > most_free_) return;
    const double work = NewtonSchedule::newton_work(free, dual.active);
    if (work <= 200 * NewtonSchedule::pair_work(dual.active, dual.parts.size()))
      newton_.worked(4 * work, 0);
  }

  SmallMatrix<Real> rows_;
  SmallProblem<Real> problem_;
  ActiveNewton<Real>& newton_;
  const Index most_free_;
  bool first_;
};

}  // namespace softmargin
