// Shrinking (LIBSVM paper, Section 4): variables at a bound that are not expected to leave it are
// taken out of the problem. Later their gradient must be rebuilt, in one of two ways:
// - as in the paper, from G-bar, the part of the gradient that comes from variables at a bound
// other
//   than zero, and the free variables. G-bar is kept for all examples, which costs a full row
//   whenever a variable reaches or leaves such a bound: right for single pairs;
// - from the gradient at the time of shrinking and the variables that changed since: right for
//   blocks, which compute rows of active columns only.
#pragma once

#include <vector>

#include "dual.hpp"
#include "kernel_matrix.hpp"
#include "selection/extremes.hpp"

namespace softmargin {

// A variable at its upper bound is expected to stay there when its -derivative is at least as high
// as that of all that can rise, one at its lower bound when it is at least as low as of all that
// can fall.
inline bool expected_to_stay(const Dual& dual, Variable v, const Extremes& limits) {
  const Part& part = dual.parts[v.part];
  if (part.is_free(v.position)) return false;
  if (part.can_rise(v.position)) return dual.value(v) <= limits.lowest;
  if (part.can_fall(v.position)) return dual.value(v) >= limits.highest;
  return true;
}

template <class T>
void permute(std::vector<T>& values, const std::vector<Index>& old_position) {
  std::vector<T> moved(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) moved[k] = values[old_position[k]];
  values = std::move(moved);
}

template <class Real>
void reorder(Dual& dual, KernelMatrix<Real>& matrix, const std::vector<Index>& old_position) {
  permute(dual.p, old_position);
  permute(dual.gradient, old_position);
  for (Part& part : dual.parts) {
    permute(part.beta, old_position);
    permute(part.lower, old_position);
    permute(part.upper, old_position);
    permute(part.rise_gate, old_position);
    permute(part.fall_gate, old_position);
  }
  matrix.reorder(old_position);
}

// target[t] += sum_k weight(k) K(k, t) for t in [begin, end).
template <class Real, class Weight>
void accumulate(const Dual& dual, KernelMatrix<Real>& matrix, Index begin, Index end,
                double* target, Weight weight) {
  std::vector<Index> positions;
  std::vector<double> coefficients;
  for (Index k = 0; k < dual.size(); ++k)
    if (const double w = weight(k); w != 0) positions.push_back(k), coefficients.push_back(w);
  matrix.accumulate(positions, coefficients, begin, end, target);
}

template <class Real>
void start_gradient(Dual& dual, KernelMatrix<Real>& matrix) {
  accumulate(dual, matrix, 0, dual.size(), dual.gradient.data(),
             [&](Index k) { return dual.total_beta(k); });
}

template <class Real>
class Shrinking {
 public:
  // With G-bar, or by the changes since each shrinking. Shrinks only where at least `least_share`
  // of the active variables can go.
  Shrinking(bool keep_g_bar, double least_share)
      : keep_g_bar_(keep_g_bar), least_share_(least_share) {}

  // The gradient of the start, which may already rest on bounds: then as the sum of G-bar and the
  // rest, so that no row is computed twice.
  void start(Dual& dual, KernelMatrix<Real>& matrix) {
    if (!keep_g_bar_) return start_gradient(dual, matrix);
    g_bar_.assign(dual.size(), 0.0);
    accumulate(dual, matrix, 0, dual.size(), g_bar_.data(), [&](Index k) {
      double sum = 0;
      for (const Part& part : dual.parts) sum += part.bounded(k);
      return sum;
    });
    rebuild(dual, matrix, 0);
  }

  // `change` is by how much the variable's share of G-bar changed in the last step.
  void update(const Dual& dual, KernelMatrix<Real>& matrix, Variable v, double change) {
    if (change == 0) return;
    const Real* row = matrix.row(v.position, dual.size());
    for (Index k = 0; k < dual.size(); ++k) g_bar_[k] += change * row[k];
  }

  void shrink(Dual& dual, KernelMatrix<Real>& matrix) {
    const std::vector<Extremes> limits = extremes_by_group(dual);
    std::vector<Index> order, shrunk;
    order.reserve(dual.size());
    for (Index k = 0; k < dual.active; ++k) {
      bool stays = true;
      for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s)
        stays = stays && expected_to_stay(dual, {s, k}, limits[dual.separate ? s : 0]);
      (stays ? shrunk : order).push_back(k);
    }
    if (shrunk.empty() || static_cast<double>(shrunk.size()) < least_share_ * dual.active) return;
    const Index active = static_cast<Index>(order.size());
    order.insert(order.end(), shrunk.begin(), shrunk.end());
    for (Index k = dual.active; k < dual.size(); ++k) order.push_back(k);
    reorder(dual, matrix, order);
    if (keep_g_bar_)
      permute(g_bar_, order);
    else
      stages_.push_back({active, dual.active, beta_by_example(dual, matrix.order())});
    dual.active = active;
  }

  // Rebuilds the gradient of the shrunk variables and takes all of them back.
  void unshrink(Dual& dual, KernelMatrix<Real>& matrix) {
    if (dual.active == dual.size()) return;
    if (keep_g_bar_) rebuild(dual, matrix, dual.active);
    for (; !stages_.empty(); stages_.pop_back()) {
      const Stage& stage = stages_.back();
      accumulate(dual, matrix, stage.begin, stage.end, dual.gradient.data(), [&](Index k) {
        return dual.total_beta(k) - stage.beta[matrix.order().example_at[k]];
      });
    }
    dual.active = dual.size();
  }

 private:
  struct Stage {  // variables shrunk together, and beta as it was then
    Index begin, end;
    std::vector<double> beta;  // by example
  };

  // The gradient from `begin` on: G-bar and the rows of free variables.
  void rebuild(Dual& dual, KernelMatrix<Real>& matrix, Index begin) const {
    for (Index k = begin; k < dual.size(); ++k) dual.gradient[k] = dual.p[k] + g_bar_[k];
    accumulate(dual, matrix, begin, dual.size(), dual.gradient.data(), [&](Index k) {
      double sum = 0;
      for (const Part& part : dual.parts)
        if (part.is_free(k)) sum += part.beta[k];
      return sum;
    });
  }

  static std::vector<double> beta_by_example(const Dual& dual, const Order& order) {
    std::vector<double> beta(dual.size());
    for (Index k = 0; k < dual.size(); ++k) beta[order.example_at[k]] = dual.total_beta(k);
    return beta;
  }

  const bool keep_g_bar_;
  const double least_share_;
  std::vector<double> g_bar_;
  std::vector<Stage> stages_;
};

}  // namespace softmargin
