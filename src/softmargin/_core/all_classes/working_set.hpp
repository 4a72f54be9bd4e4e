// The examples of a step, and the step. Each rule names one example, whose problem is solved
// exactly, or a block of examples. A block's problem is solved by passes over its examples, on
// kernel values that stay in the processor's cache; then the scores of all active examples are
// updated with the rows of those that changed, in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "../kernel_matrix.hpp"
#include "free_step.hpp"
#include "problem.hpp"
#include "scores.hpp"

namespace softmargin::all_classes {

enum class Rule {
  most_violating,  // the example with the largest KKT violation
  maximum_gain,    // the largest gain among examples with a cached row and the most violating one
  block            // many violating examples
};

struct StepResult {
  std::int64_t iterations = 0;  // problems of an example that were solved
  double gain = 0;              // of the dual objective
  double work = 0;              // in the unit of newton_schedule.hpp
  bool moved = false;
  bool given_up = false;  // stopped before anything changed
};

// Adds the rows of the `changed` examples to the scores of the examples [begin, end).
template <class Real>
void update_scores(Problem& problem, KernelMatrix<Real>& matrix, const std::vector<Index>& changed,
                   const Changes& changes, Index begin, Index end, const std::vector<char>& keep) {
  matrix.visit_rows(
      changed, begin, end, keep,
      [&](const Real* const* rows, const Index* which, Index count, Index start, Index size) {
        changes.add_rows(rows, which, count, size, start, problem.scores);
      });
}

// Lists of classes.
struct ClassLists {
  void clear() { classes.clear(), starts.clear(); }
  void begin_list() { starts.push_back(classes.size()); }
  std::span<const Index> list(std::size_t k) const {
    const std::size_t end = k + 1 < starts.size() ? starts[k + 1] : classes.size();
    return std::span(classes).subspan(starts[k], end - starts[k]);
  }

  std::vector<Index> classes;
  std::vector<std::size_t> starts;
};

template <class Real, class Machine>
class WorkingSet {
 public:
  using Matrix = KernelMatrix<Real>;

  // Newton steps are on at most `most_free` variables; 0: there are none.
  WorkingSet(Rule rule, Index size, Index classes, Index most_free)
      : rule_(rule),
        size_(rule == Rule::block ? std::max<Index>(size, 2) : 1),
        most_free_(most_free),
        visit_(classes),
        changes_(classes),
        step_(most_free) {}

  Index rows_in_use() const { return size_ + 2; }

  // `violations` has one for each active example, the largest of which is `worst`.
  StepResult step(Problem& problem, Matrix& matrix, const std::vector<double>& violations,
                  double worst, double tolerance, std::int64_t most_iterations) {
    if (rule_ == Rule::block) {
      if (const StepResult taken = free_step(problem, matrix, tolerance);
          taken.moved || taken.given_up)
        return taken;
      return block_step(problem, matrix, violations, std::max(0.1 * worst, 0.5 * tolerance),
                        most_iterations);
    }
    const Index first = static_cast<Index>(std::max_element(violations.begin(), violations.end()) -
                                           violations.begin());
    if (rule_ == Rule::most_violating) return single_step(problem, matrix, first);
    const StepResult result =
        single_step(problem, matrix, best_gain(problem, matrix, violations, first));
    // Where gains are as small as their rounding errors, the violation still tells which example to
    // take.
    return result.moved ? result : single_step(problem, matrix, first);
  }

 private:
  Index best_gain(const Problem& problem, Matrix& matrix, const std::vector<double>& violations,
                  Index most_violating) {
    Index best = most_violating;
    double most = -infinity;
    for (Index k = 0; k < problem.active; ++k) {
      const bool known = k == most_violating || matrix.held(k, problem.active);
      if (violations[k] <= 0 || !known) continue;
      visit_.look(problem, k);
      if (const double gain = visit_.solve(); gain > most) most = gain, best = k;
    }
    return best;
  }

  StepResult single_step(Problem& problem, Matrix& matrix, Index k) {
    visit_.look(problem, k);
    StepResult result{.iterations = 1, .gain = visit_.solve()};
    Changes changes(problem.classes);
    note_changes(problem.label[k], changes, result);
    write_back(problem, k);
    changes.finish();
    if (result.moved) update_scores(problem, matrix, {k}, changes, 0, problem.active, {1});
    return result;
  }

  // The solved problem as a row of changes of coefficients.
  void note_changes(Index label, Changes& changes, StepResult& result) {
    changes.begin_row();
    double sum = 0;
    for (Index j = 0; j < visit_.size(); ++j) {
      if (visit_.change(j) == 0) continue;
      changes.add(visit_.cls(j), -visit_.change(j));
      sum += visit_.change(j);
      result.moved = true;
    }
    if (result.moved) changes.add(label, sum);
  }

  void write_back(Problem& problem, Index k) const {
    for (Index j = 0; j < visit_.size(); ++j)
      if (visit_.change(j) != 0) problem.beta.at(visit_.cls(j), k) = visit_.to(j);
  }

  StepResult block_step(Problem& problem, Matrix& matrix, const std::vector<double>& violations,
                        double enough, std::int64_t most_iterations) {
    const std::vector<Index> members = choose(problem, matrix.order(), violations);
    const Index count = static_cast<Index>(members.size());
    load_values(matrix, members, problem.active);
    Problem inner(count, problem.classes);
    for (Index m = 0; m < count; ++m) {
      const Index k = members[m];
      inner.label[m] = problem.label[k];
      inner.upper[m] = problem.upper[k];
      inner.curvature[m] = problem.curvature[k];
    }
    for (Index c = 0; c < problem.classes; ++c)
      for (Index m = 0; m < count; ++m) {
        inner.beta.at(c, m) = problem.beta.at(c, members[m]);
        inner.scores.at(c, m) = problem.scores.at(c, members[m]);
      }
    StepResult result = solve(inner, enough, most_iterations, matrix.interruption());
    if (result.given_up) return result;
    std::vector<Index> changed;
    std::vector<char> keep;
    Changes changes(problem.classes);
    for (Index m = 0; m < count; ++m) {
      if (!write_difference(problem, inner, members[m], m, changes)) continue;
      changed.push_back(members[m]);
      keep.push_back(1);
    }
    changes.finish();
    result.moved = !changed.empty();
    update_scores(problem, matrix, changed, changes, 0, problem.active, keep);
    result.work += update_work(changes, problem.active);
    schedule_.worked(result.work, result.gain);
    return result;
  }

  // A Newton step on all free variables of active examples, if it is due and their kernel values
  // are there.
  StepResult free_step(Problem& problem, Matrix& matrix, double tolerance) {
    if (most_free_ == 0 || !schedule_.is_due(0.5 * last_work_)) return {};
    step_.find(problem);
    last_work_ = step_.work();
    if (step_.violation() <= tolerance || !schedule_.is_due(last_work_)) return {};
    const std::vector<Index> members = step_.examples();
    const KernelRows<Real> rows = rows_of(matrix, members, problem.active);
    if (rows.rows.empty()) {
      schedule_.restart();
      return {};
    }
    Changes changes(problem.classes);
    const NewtonResult taken = step_.take(problem, rows, tolerance, changes, matrix.interruption());
    const std::vector<char> keep(taken.positions.size(), 1);
    if (taken.moved())
      update_scores(problem, matrix, taken.positions, changes, 0, problem.active, keep);
    const double work = taken.work + update_work(changes, problem.active);
    schedule_.taken(work, taken.gain);
    return {.iterations = 1, .gain = taken.gain, .work = work, .moved = taken.moved()};
  }

  // The kernel rows of the members: their values with each other, collected if there are not too
  // many; else rows in the cache, if all are there. Empty: neither.
  KernelRows<Real> rows_of(Matrix& matrix, const std::vector<Index>& members, Index active) {
    const Index count = static_cast<Index>(members.size());
    KernelRows<Real> found{{}, count, count <= most_free_};
    if (found.among_themselves) {
      load_values(matrix, members, active);
      for (Index m = 0; m < count; ++m) found.rows.push_back(value_row(m, count));
      return found;
    }
    found.size = active;
    for (Index k : members) {
      const Real* row = matrix.held(k, active);
      if (!row) return {};
      found.rows.push_back(row);
    }
    return found;
  }

  const Real* value_row(Index m, Index size) const {
    return &values_[static_cast<std::size_t>(m) * size];
  }

  static double update_work(const Changes& changes, Index active) {
    return 4.0 * static_cast<double>(changes.entries()) * active;
  }

  // Writes the variables of an example in a block back, and notes the change of its coefficients;
  // false: there is none.
  static bool write_difference(Problem& problem, const Problem& inner, Index k, Index m,
                               Changes& changes) {
    double sum = 0;
    bool any = false;
    for (Index c = 0; c < problem.classes; ++c) {
      double& from = problem.beta.at(c, k);
      const double change = inner.beta.at(c, m) - from;
      if (change == 0) continue;
      if (!any) changes.begin_row();
      any = true;
      changes.add(c, -change);
      from = inner.beta.at(c, m);
      sum += change;
    }
    if (any) changes.add(problem.label[k], sum);
    return any;
  }

  // The most violating examples, and those of the last block that still violate the conditions:
  // they fill up to three quarters of the block.
  std::vector<Index> choose(const Problem& problem, const Order& order,
                            const std::vector<double>& violations) {
    std::vector<Index> members, others;
    std::vector<char> taken(problem.active, 0);
    for (Index example : last_) {
      const Index k = order.position_of[example];
      if (k >= problem.active || violations[k] <= 0 ||
          static_cast<Index>(members.size()) >= size_ - size_ / 4)
        continue;
      members.push_back(k);
      taken[k] = 1;
    }
    for (Index k = 0; k < problem.active; ++k)
      if (!taken[k] && violations[k] > 0) others.push_back(k);
    const auto more = [&](Index a, Index b) {
      return violations[a] != violations[b] ? violations[a] > violations[b] : a < b;
    };
    const std::size_t room = std::min<std::size_t>(others.size(), size_ - members.size());
    std::nth_element(others.begin(), others.begin() + room, others.end(), more);
    std::sort(others.begin(), others.begin() + room, more);
    members.insert(members.begin(), others.begin(), others.begin() + room);
    last_.clear();
    for (Index k : members) last_.push_back(order.example_at[k]);
    return members;
  }

  // The kernel values of the members of a block with each other, from cached rows where there are
  // any.
  void load_values(Matrix& matrix, const std::vector<Index>& members, Index active) {
    const std::size_t count = members.size();
    values_.resize(count * count);
    std::vector<Index> missing, slots;
    for (std::size_t m = 0; m < count; ++m) {
      if (const Real* row = matrix.held(members[m], active)) {
        for (std::size_t j = 0; j < count; ++j) values_[m * count + j] = row[members[j]];
      } else {
        missing.push_back(members[m]);
        slots.push_back(static_cast<Index>(m));
      }
    }
    if (missing.empty()) return;
    std::vector<Real> rows(missing.size() * count);
    matrix.submatrix(missing, members, rows.data());
    for (std::size_t r = 0; r < missing.size(); ++r)
      std::copy_n(&rows[r * count], count, &values_[slots[r] * count]);
  }

  // Passes over the examples of a block, the most violating first, until none violates the
  // conditions by more than `enough`; and Newton steps where they pay. A pass looks at all classes
  // once; then it visits the examples again, as long as most of them move, and looks only at the
  // classes that can soon matter.
  StepResult solve(Problem& inner, double enough, std::int64_t most_iterations,
                   Interruption& interruption) {
    StepResult result;
    std::vector<Index> order(inner.size());
    std::vector<double> violations(inner.size());
    inner_schedule_.restart();
    for (int pass = 0; pass < most_passes && result.iterations < most_iterations; ++pass) {
      order.clear();
      find_violations<Machine>(inner, 0, inner.size(), violations.data());
      for (Index m = 0; m < inner.size(); ++m)
        if (violations[m] > enough) order.push_back(m);
      const double work = 40.0 * inner.classes * inner.size();
      inner_schedule_.worked(work, 0);
      result.work += work;
      if (order.empty()) break;
      std::sort(order.begin(), order.end(), [&](Index a, Index b) {
        return violations[a] != violations[b] ? violations[a] > violations[b] : a < b;
      });
      const double margin = violations[order.front()];
      near_.clear();
      for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        const std::int64_t before = result.iterations;
        for (std::size_t place = 0; place < order.size(); ++place) {
          interruption.ask(0);
          if (interruption.stopped()) return {.given_up = true};
          if (result.iterations >= most_iterations) break;
          if (sweep == 0) {
            look_for_near(inner, order[place], margin);
          } else {
            look_at_near(inner, order[place], place);
          }
          move(inner, order[place], enough, result);
        }
        if (2 * (result.iterations - before) < static_cast<std::int64_t>(order.size())) break;
      }
      if (result.iterations < most_iterations) inner_free_step(inner, enough, interruption, result);
    }
    return result;
  }

  void inner_free_step(Problem& inner, double enough, Interruption& interruption,
                       StepResult& result) {
    if (most_free_ == 0 || !inner_schedule_.is_due(0.5 * last_inner_work_)) return;
    step_.find(inner);
    last_inner_work_ = step_.work();
    if (step_.violation() <= enough || !inner_schedule_.is_due(last_inner_work_)) return;
    changes_.clear();
    KernelRows<Real> of_free{{}, inner.size(), false};
    for (Index m : step_.examples()) of_free.rows.push_back(value_row(m, inner.size()));
    const NewtonResult taken = step_.take(inner, of_free, enough, changes_, interruption);
    if (taken.moved()) {
      std::vector<const Real*> rows;
      for (Index m : taken.positions) rows.push_back(value_row(m, inner.size()));
      changes_.add_rows(rows, inner.size(), inner.scores);
    }
    const double work = taken.work + update_work(changes_, inner.size());
    inner_schedule_.taken(work, taken.gain);
    result.gain += taken.gain;
    result.work += work;
    ++result.iterations;
  }

  // Notes the classes of the example that can soon matter, as the last of near_.
  void look_for_near(const Problem& inner, Index m, double margin) {
    visit_.look(inner, m);
    visit_.leave_out(margin);
    near_.begin_list();
    for (Index j = 0; j < visit_.size(); ++j) near_.classes.push_back(visit_.cls(j));
  }

  void look_at_near(const Problem& inner, Index m, std::size_t place) {
    visit_.look(inner, m, near_.list(place));
  }

  void move(Problem& inner, Index m, double enough, StepResult& result) {
    if (visit_.violation() <= 0.5 * enough) return;
    const double gain = visit_.solve();
    ++result.iterations;
    changes_.clear();
    StepResult own;
    note_changes(inner.label[m], changes_, own);
    if (!own.moved) return;
    write_back(inner, m);
    changes_.finish();
    changes_.add_row(value_row(m, inner.size()), inner.size(), inner.scores);
    const double work = 100.0 * inner.classes + 1000 + update_work(changes_, inner.size());
    inner_schedule_.worked(work, gain);
    result.gain += gain;
    result.work += work;
  }

  static constexpr int most_passes = 50, most_sweeps = 2;
  const Rule rule_;
  const Index size_, most_free_;
  Visit<Machine> visit_;
  Changes changes_;  // in a block
  FreeStep<Machine> step_;
  NewtonSchedule schedule_, inner_schedule_;
  double last_work_ = 0;        // of the last step on all free variables
  double last_inner_work_ = 0;  // of the last one in a block
  ClassLists near_;             // of the examples that a pass visits
  std::vector<Index> last_;     // the examples of the last block
  std::vector<Real> values_;    // of a block, row after row
};

}  // namespace softmargin::all_classes
