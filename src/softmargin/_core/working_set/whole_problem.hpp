// All variables of a small problem at a time. Its kernel matrix is in memory; rows are computed
// when they are first needed, in batches, because a problem with few support vectors needs few of
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "../selection/most_violating_pair.hpp"
#include "small_problem.hpp"

namespace softmargin {

// The kernel matrix of all variables, as rows for rules and steps.
template <class Real>
class WholeMatrix {
 public:
  WholeMatrix(const Dual& dual, KernelMatrix<Real>& matrix)
      : dual_(dual), matrix_(matrix), rows_(matrix.size()) {
    rows_.given = matrix.stored();
    known_.assign(matrix.size(), rows_.given != nullptr);
    if (!rows_.given) rows_.allocate();
    rows_.diagonals.assign(matrix.diagonal(), matrix.diagonal() + matrix.size());
  }

  const Real* row(Index row, Index length) {
    if (!known_[row]) compute(row);
    return rows_.row(row, length);
  }
  const double* diagonal() const { return rows_.diagonal(); }

 private:
  static constexpr Index few = 128;         // up to this size, all rows are computed at once
  static constexpr Index batch = 16;        // rows per batch: together, each costs less
  static constexpr std::size_t strip = 32;  // rows that are computed before symmetry is used again

  // Also computes the rows that are likely to be needed next; and all rows, once half of them are
  // known.
  void compute(Index row) {
    const Index size = matrix_.size();
    const bool all = size <= few || 2 * count_ >= size;
    const std::vector<Index> wanted = all ? unknown() : most_violating(row);
    for (std::size_t begin = 0; begin < wanted.size(); begin += strip)
      fill({wanted.begin() + begin, wanted.begin() + std::min(begin + strip, wanted.size())});
  }

  // Computes these rows in the columns whose rows are not known; the others are known by symmetry.
  void fill(const std::vector<Index>& wanted) {
    const std::vector<Index> columns = unknown();
    values_.resize(wanted.size() * columns.size());
    matrix_.submatrix(wanted, columns, values_.data());
    matrix_.rows_computed += static_cast<std::int64_t>(wanted.size());
    count_ += static_cast<Index>(wanted.size());
    for (std::size_t r = 0; r < wanted.size(); ++r) {
      const Real* computed = &values_[r * columns.size()];
      Real* target = rows_.at(wanted[r]);
      for (std::size_t c = 0; c < columns.size(); ++c) target[columns[c]] = computed[c];
    }
    for (Index k = 0; k < matrix_.size(); ++k) {
      if (!known_[k]) continue;
      const Real* row = rows_.at(k);
      for (Index position : wanted) rows_.at(position)[k] = row[position];
    }
    for (Index position : wanted) known_[position] = 1;
  }

  std::vector<Index> unknown() const {
    std::vector<Index> positions;
    for (Index k = 0; k < matrix_.size(); ++k)
      if (!known_[k]) positions.push_back(k);
    return positions;
  }

  // The row and those that are likely to be needed next, ranked by how far their derivatives could
  // lie on the wrong side of the middle of their group.
  std::vector<Index> most_violating(Index row) const {
    const std::vector<Extremes> groups = extremes_by_group(dual_);
    std::vector<std::pair<double, Index>> ranked;
    for (Index k : unknown()) {
      if (k == row) continue;
      double rank = -infinity;
      for (int s = 0; s < static_cast<int>(dual_.parts.size()); ++s) {
        const Extremes& group = groups[dual_.separate ? s : 0];
        const double value = dual_.value({s, k}), middle = 0.5 * (group.highest + group.lowest);
        if (dual_.parts[s].can_rise(k)) rank = std::max(rank, value - middle);
        if (dual_.parts[s].can_fall(k)) rank = std::max(rank, middle - value);
      }
      if (rank > 0) ranked.push_back({-rank, k});
    }
    const auto end = ranked.begin() + std::min<std::size_t>(ranked.size(), batch - 1);
    std::partial_sort(ranked.begin(), end, ranked.end());
    std::vector<Index> positions{row};
    for (auto one = ranked.begin(); one != end; ++one) positions.push_back(one->second);
    return positions;
  }

  const Dual& dual_;
  KernelMatrix<Real>& matrix_;
  SmallMatrix<Real> rows_;
  std::vector<char> known_;
  Index count_ = 0;  // of known rows
  std::vector<Real> values_;
};

template <class Real>
class WholeProblem final : public WorkingSet<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  // Newton steps are on at most `most_free` variables; 0: none.
  WholeProblem(Index size, Index most_free) : size_(size), problem_(most_free) {}

  Selection select(const Dual& dual, Matrix&) override { return most_violating_pair(dual); }

  Step step(Dual& dual, Matrix& matrix, const Selection&, const Limits& limits) override {
    if (!rows_) rows_.emplace(dual, matrix);
    constexpr std::int64_t slice = 1 << 14;  // the caller looks at its clock between two slices
    const Limits slice_limits{limits.tolerance, std::min(slice, limits.iterations)};
    Step step = problem_.solve(dual, *rows_, slice_limits, matrix.interruption());
    step.given_up = matrix.interruption().stopped() && !step.moved;
    return step;
  }

  void update(Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
              const std::vector<double>& changes) override {
    if (!rows_) rows_.emplace(dual, matrix);
    for (std::size_t r = 0; r < positions.size(); ++r) {
      const Real* row = rows_->row(positions[r], dual.active);
      for (Index k = 0; k < dual.active; ++k) dual.gradient[k] += changes[r] * row[k];
    }
  }

  Index rows_in_use() const override { return size_ + 2; }

 private:
  const Index size_;
  std::optional<WholeMatrix<Real>> rows_;  // of the problem of the first step
  SmallProblem<Real> problem_;
};

}  // namespace softmargin
