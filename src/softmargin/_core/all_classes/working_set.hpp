// The examples of a step, and the step. Each rule names one example, whose problem is solved
// exactly, or a block of examples (block_descent.hpp). Then the scores of all active examples are
// updated with the rows of those that changed, in batches. In between, Newton steps are taken on
// all free variables where they pay.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "../kernel_matrix.hpp"
#include "../working_set/block_rows.hpp"
#include "block_descent.hpp"
#include "problem.hpp"
#include "scores.hpp"

namespace softmargin::all_classes {

enum class Rule {
  most_violating,  // the example with the largest KKT violation
  maximum_gain,    // the largest gain among examples with a cached row and the most violating one
  block            // many violating examples
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

template <class Real, class Machine>
class WorkingSet {
 public:
  using Matrix = KernelMatrix<Real>;

  // Newton steps factor matrices of at most `most_factored` variables, and use conjugate gradients
  // with more; 0: there are none.
  WorkingSet(Rule rule, Index size, Index classes, Index most_factored)
      : rule_(rule),
        size_(rule == Rule::block ? std::max<Index>(size, 2) : 1),
        most_factored_(most_factored),
        visit_(classes),
        rows_(size_),
        block_(classes),
        step_(most_factored),
        descent_(classes, most_factored > 0) {}

  Index rows_in_use() const { return size_ + 2; }

  // About how many kernel values a block stores for each pair of its examples: at most eight in the
  // lists of classes, one in its matrix, one for newcomers.
  static constexpr std::size_t list_values_per_pair = 8;
  static constexpr std::size_t values_per_pair = list_values_per_pair + 2;
  static std::size_t bytes(Index size) { return values_per_pair * sizeof(Real) * size * size; }

  // Until the next step.
  void release_memory() {
    rows_.release_memory();
    block_.release_memory();
    step_.release_memory();
  }

  // `violations` has one for each active example.
  StepResult step(Problem& problem, Matrix& matrix, const std::vector<double>& violations,
                  double tolerance, std::int64_t most_iterations) {
    if (rule_ == Rule::block) {
      if (const StepResult taken = free_step(problem, matrix, tolerance);
          taken.moved || taken.given_up)
        return taken;
      return block_step(problem, matrix, violations, tolerance, most_iterations);
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
  // A class of an example that its variable, which is zero, may enter; equal scores take turns.
  struct Other {
    double score;
    Index tie_break, cls;
  };

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
                        double tolerance, std::int64_t most_iterations) {
    const std::vector<Index> positions = choose(problem, matrix.order(), violations);
    rows_.update(matrix, positions, problem.active);
    const std::vector<Index> slots = most_violating_first(positions, violations);
    // What only a twentieth of the block exceeds. A few examples may violate the conditions far
    // more.
    const double typical = violations[positions[slots[slots.size() / 20]]];
    std::vector<Index> members;
    block_.clear();
    for (Index slot : slots) {
      if (block_.values_needed() > most_values()) break;
      members.push_back(positions[slot]);
      add_to_block(problem, members.back(), typical);
    }
    block_.fill([&](const std::vector<Index>& list, std::size_t stride, Real* out) {
      for (std::size_t r = 0; r < list.size(); ++r, out += stride) {
        const Real* row = rows_.matrix().at(slots[list[r]]);
        for (std::size_t t = 0; t < list.size(); ++t) out[t] = row[slots[list[t]]];
      }
    });
    const double enough = std::max(0.2 * typical, 0.5 * tolerance);
    StepResult result =
        descent_.solve(block_, step_, enough, most_iterations, matrix.interruption());
    if (result.given_up) return result;
    adapt_size(result.passes);
    write_back(problem, matrix, members, result);
    schedule_.worked(result.work, result.gain);
    return result;
  }

  // A block that is not solved after all passes has a nearly singular matrix. Then smaller blocks
  // are better: Newton steps on their variables are cheap. They need not be smaller than a few
  // examples whose variables fit into a factor.
  void adapt_size(int passes) {
    const Index least = std::clamp<Index>(most_factored_ / 4, 2, 16);
    constexpr int most = BlockDescent<Real, Machine>::most_passes;
    if (passes == most) present_size_ = std::max(present_size_ / 2, std::min(size_, least));
    if (passes < 3 * most / 5) present_size_ = std::min(2 * present_size_, size_);
  }

  static std::vector<Index> most_violating_first(const std::vector<Index>& positions,
                                                 const std::vector<double>& violations) {
    std::vector<Index> slots(positions.size());
    std::iota(slots.begin(), slots.end(), Index(0));
    std::sort(slots.begin(), slots.end(), [&](Index a, Index b) {
      return comes_first(positions[a], positions[b], violations);
    });
    return slots;
  }

  // By violation. Those with equal violations are in a scattered order: at the start all are equal,
  // and examples are sorted by class.
  static bool comes_first(Index k, Index l, const std::vector<double>& violations) {
    const auto scattered = [](Index m) { return static_cast<std::uint32_t>(m) * 2654435769u; };
    return violations[k] != violations[l] ? violations[k] > violations[l]
                                          : scattered(k) < scattered(l);
  }

  // Where examples have very many variables, a block has fewer examples.
  std::size_t most_values() const { return list_values_per_pair * size_ * size_; }

  void add_member(const Problem& problem, Index k) {
    const std::int32_t label = problem.label[k];
    block_.add_member(label, problem.upper[k], problem.curvature[k], problem.scores.at(label, k));
  }

  // With the variables that are free or whose errors are not far from zero; those at C with a large
  // error will stay there. Of those at zero, only the ones with the largest errors, so that the
  // lists of a block have about as many kernel values as the block.
  void add_to_block(const Problem& problem, Index k, double margin) {
    const std::int32_t label = problem.label[k];
    const double base = 1 - problem.scores.at(label, k);
    add_member(problem, k);
    others_.clear();
    for (Index c = 0; c < problem.classes; ++c) {
      const double beta = problem.beta.at(c, k), score = problem.scores.at(c, k);
      if (!capped && beta == problem.upper[k] && base + score > margin) continue;
      if (beta > 0) {
        block_.add_variable(c, beta, score);
      } else if (c != label && base + score > -margin) {
        others_.push_back({score, (c + k) % problem.classes, c});
      }
    }
    const std::size_t most = std::max<std::size_t>(3, 0.4 * std::sqrt(problem.classes));
    if (others_.size() > most)
      std::nth_element(others_.begin(), others_.begin() + most, others_.end(),
                       [](const Other& a, const Other& b) {
                         return a.score != b.score ? a.score > b.score : a.tie_break < b.tie_break;
                       });
    for (std::size_t j = 0; j < std::min(most, others_.size()); ++j)
      block_.add_variable(others_[j].cls, 0, others_[j].score);
  }

  // A Newton step on all free variables of active examples, if it is due and their kernel values
  // fit into memory. Listing the variables takes time too, so first a guess whether it may be due.
  StepResult free_step(Problem& problem, Matrix& matrix, double tolerance) {
    if (most_factored_ == 0 || !schedule_.is_due(0.5 * last_work_)) return {};
    const std::vector<Index> members = put_free_into_block(problem);
    step_.find(block_);
    last_work_ = step_.work() + update_work(step_.size() + members.size(), problem.active);
    if (step_.violation() <= tolerance || !schedule_.is_due(last_work_)) return {};
    if (!fits(block_.values_needed())) {
      schedule_.restart();
      return {};
    }
    try {
      block_.fill([&](const std::vector<Index>& list, std::size_t stride, Real* out) {
        std::vector<Index> positions;
        for (Index m : list) positions.push_back(members[m]);
        load_values(matrix, positions, problem.active, stride, out);
      });
    } catch (const std::bad_alloc&) {
      block_.release_memory();
      schedule_.restart();
      return {};
    }
    const NewtonResult taken = step_.take(block_, tolerance, matrix.interruption());
    StepResult result{.iterations = 1, .gain = taken.gain, .work = taken.work};
    write_back(problem, matrix, members, result);
    schedule_.taken(result.work, result.gain);
    if (block_.values_needed() > most_values()) block_.release_memory();
    return result;
  }

  // Returns the examples that have free variables. Crammer-Singer limits the sum of an example's
  // variables, so all that are above zero count there.
  std::vector<Index> put_free_into_block(const Problem& problem) {
    std::vector<char> any(problem.active, 0);
    for (Index c = 0; c < problem.classes; ++c) {
      const double* beta = problem.beta.row(c);
      for (Index k = 0; k < problem.active; ++k)
        any[k] |= (beta[k] > 0) & (beta[k] < problem.upper[k]);
    }
    std::vector<Index> members;
    block_.clear();
    for (Index k = 0; k < problem.active; ++k) {
      if (!any[k]) continue;
      members.push_back(k);
      add_member(problem, k);
      for (Index c = 0; c < problem.classes; ++c)
        if (const double beta = problem.beta.at(c, k);
            beta > 0 && (capped || beta < problem.upper[k]))
          block_.add_variable(c, beta, problem.scores.at(c, k));
    }
    return members;
  }

  // Whether that many kernel values take no more memory than the matrix of the largest step.
  bool fits(std::size_t values) const {
    return static_cast<double>(values) * sizeof(Real) <=
           static_cast<double>(most_factored_) * most_factored_ * sizeof(double);
  }

  static double update_work(std::size_t entries, Index active) {
    return 4.0 * static_cast<double>(entries) * active;
  }

  // Writes the variables of a solved block back, and updates the scores.
  void write_back(Problem& problem, Matrix& matrix, const std::vector<Index>& members,
                  StepResult& result) {
    std::vector<Index> changed;
    Changes changes(problem.classes);
    for (Index m = 0; m < block_.size(); ++m) {
      double sum = 0;
      bool any = false;
      for (const auto& one : block_.variables(m)) {
        if (one.beta == one.from) continue;
        if (!any) changes.begin_row(), changed.push_back(members[m]);
        any = true;
        changes.add(one.cls, one.from - one.beta);
        sum += one.beta - one.from;
        problem.beta.at(one.cls, members[m]) = one.beta;
      }
      if (any) changes.add(block_.member(m).label, sum);
    }
    changes.finish();
    const std::vector<char> keep(changed.size(), 1);
    result.moved = !changed.empty();
    update_scores(problem, matrix, changed, changes, 0, problem.active, keep);
    result.work += update_work(changes.entries(), problem.active);
  }

  // The positions of the members of a new block, by slot: those of the last block that still
  // violate the conditions, which fill up to half of it, and the most violating others.
  std::vector<Index> choose(const Problem& problem, const Order& order,
                            const std::vector<double>& violations) {
    const auto more = [&](Index a, Index b) { return comes_first(a, b, violations); };
    const auto keep_most = [&](std::vector<Index>& some, Index most) {
      if (static_cast<Index>(some.size()) <= most) return;
      std::nth_element(some.begin(), some.begin() + most, some.end(), more);
      some.resize(most);
    };
    std::vector<Index> positions(rows_.members().size(), nobody), kept, others;
    for (const BlockMember& member : rows_.members())
      if (const Index k = order.position_of[member.example];
          k < problem.active && violations[k] > 0)
        kept.push_back(k);
    keep_most(kept, present_size_ - std::max<Index>(present_size_ / 2, 1));
    std::vector<char> taken(problem.active, 0);
    for (Index k : kept) taken[k] = 1;
    for (std::size_t slot = 0; slot < positions.size(); ++slot)
      if (const Index k = order.position_of[rows_.members()[slot].example];
          k < problem.active && taken[k])
        positions[slot] = k;
    for (Index k = 0; k < problem.active; ++k)
      if (!taken[k] && violations[k] > 0) others.push_back(k);
    keep_most(others, present_size_ - static_cast<Index>(kept.size()));
    rows_.enter(others, positions, order);
    return positions;
  }

  // The kernel values of some examples with each other, from cached rows where there are any, as
  // rows of this stride.
  void load_values(Matrix& matrix, const std::vector<Index>& positions, Index active,
                   std::size_t stride, Real* out) {
    const std::size_t count = positions.size();
    std::vector<Index> missing, places;
    for (std::size_t m = 0; m < count; ++m) {
      if (const Real* row = matrix.held(positions[m], active)) {
        for (std::size_t j = 0; j < count; ++j) out[m * stride + j] = row[positions[j]];
      } else {
        missing.push_back(positions[m]);
        places.push_back(static_cast<Index>(m));
      }
    }
    constexpr std::size_t at_once = 256;
    std::vector<Real> rows(std::min(missing.size(), at_once) * count);
    for (std::size_t first = 0; first < missing.size(); first += at_once) {
      const std::size_t last = std::min(first + at_once, missing.size());
      matrix.submatrix({missing.begin() + first, missing.begin() + last}, positions, rows.data());
      for (std::size_t r = first; r < last; ++r)
        std::copy_n(&rows[(r - first) * count], count, out + places[r] * stride);
    }
  }

  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;
  const Rule rule_;
  const Index size_, most_factored_;
  Index present_size_ = size_;  // of the next block, at most size_
  Visit<Machine> visit_;
  BlockRows<Real> rows_;
  BlockProblem<Real> block_;
  FreeStep<Real, Machine> step_;
  BlockDescent<Real, Machine> descent_;
  NewtonSchedule schedule_;
  double last_work_ = 0;       // of the last step on all free variables
  std::vector<Other> others_;  // classes of an example whose variable is zero
};

}  // namespace softmargin::all_classes
