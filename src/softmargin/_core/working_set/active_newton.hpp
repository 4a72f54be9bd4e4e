// Newton steps on all active free variables of a problem whose kernel matrix is not in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../kernel_matrix.hpp"
#include "../newton_schedule.hpp"
#include "../newton_step.hpp"

namespace softmargin {

template <class Real>
class ActiveNewton {
 public:
  using Matrix = KernelMatrix<Real>;

  // A Newton step has at most `most_free` variables; with 0, no Newton steps are taken. Every
  // `look_every` other steps, step_if_due() checks whether one is due.
  ActiveNewton(Index most_free, int look_every) : most_free_(most_free), look_every_(look_every) {}

  // Notes the work and gain of other steps.
  void worked(double work, double gain) {
    if (most_free_ > 0) schedule_.worked(work, gain);
  }

  // Takes a Newton step if one is due, and brings the gradient of the active variables up to date.
  // `free` returns the variables that the step may have moved.
  NewtonResult step_if_due(Dual& dual, Matrix& matrix, double tolerance,
                           std::vector<Variable>& free) {
    if (most_free_ == 0 || ++since_look_ < look_every_ ||
        !schedule_.is_due(std::max<Index>(last_free_ / 2, 2), dual.active))
      return {};
    since_look_ = 0;
    free = free_variables(dual);
    last_free_ = static_cast<Index>(free.size());
    if (last_free_ > most_free_ || !schedule_.is_due(last_free_, dual.active)) return {};
    const auto fill = [&](const std::vector<Index>& positions, Factor& on_free) {
      fill_in(dual, matrix, positions, on_free);
    };
    NewtonResult result =
        step_.take(dual, free, tolerance, pivot_floor<Real>,
                   schedule_.most_work(last_free_, dual.active), fill, matrix.interruption());
    const std::vector<char> keep(result.positions.size(), 1);
    matrix.accumulate(result.positions, result.changes, 0, dual.active, dual.gradient.data(), keep);
    const double work =
        result.work + NewtonSchedule::update_work(result.positions.size(), dual.active);
    schedule_.taken(work, result.gain);
    return result;
  }

 private:
  // Fills in the kernel matrix of the free variables: from cached rows if possible; the other rows
  // are computed in batches.
  static void fill_in(const Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
                      Factor& on_free) {
    const Index count = static_cast<Index>(positions.size());
    std::vector<Index> missing;
    const auto copy = [&](Index i, const Real* row, auto column) {
      for (Index j = i + 1; j < count; ++j) on_free.at(i, j) = row[column(j)];
    };
    for (Index i = 0; i < count; ++i) {
      on_free.diagonal(i) = matrix.diagonal()[positions[i]];
      if (const Real* row = matrix.held(positions[i], dual.active)) {
        copy(i, row, [&](Index j) { return positions[j]; });
      } else {
        missing.push_back(i);
      }
    }
    constexpr std::size_t batch = 256;
    std::vector<Real> values(std::min(batch, missing.size()) * positions.size());
    for (std::size_t first = 0; first < missing.size(); first += batch) {
      const std::size_t last = std::min(first + batch, missing.size());
      std::vector<Index> rows;
      for (std::size_t m = first; m < last; ++m) rows.push_back(positions[missing[m]]);
      matrix.submatrix(rows, positions, values.data());
      for (std::size_t m = first; m < last; ++m)
        copy(missing[m], &values[(m - first) * positions.size()], [](Index j) { return j; });
    }
    matrix.rows_computed += static_cast<std::int64_t>(missing.size());
  }

  const Index most_free_;
  const int look_every_;
  Index last_free_ = 0;
  int since_look_ = 0;
  NewtonSchedule schedule_;
  NewtonStep step_;
};

}  // namespace softmargin
