// Shrinking (LIBSVM paper, Section 4): variables at a bound that are not expected to leave it are
// taken out of the problem. When they come back, their gradient is rebuilt, in one of two ways:
// - ShrinkingWithGBar, as in the paper: from the free variables and G-bar, the part of the gradient
//   that comes from variables at a bound other than zero. G-bar covers all examples, so every
//   variable that reaches or leaves such a bound costs a full row. This suits single pairs.
// - ShrinkingByChanges: from the gradient as it was when the variables were taken out, and the
//   variables that have changed since. This suits blocks, which compute only the active columns of
//   a row.
#pragma once

#include <cstdint>
#include <vector>

#include "dual.hpp"
#include "kernel_matrix.hpp"
#include "selection/extremes.hpp"

namespace softmargin {

// A variable at its upper bound is expected to stay there if its -derivative is at least as high as
// that of every variable that can rise; a variable at its lower bound, if it is at least as low as
// that of every variable that can fall.
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
  using Matrix = KernelMatrix<Real>;

  virtual ~Shrinking() = default;

  // The gradient of the starting point.
  virtual void start(Dual& dual, Matrix& matrix) = 0;

  // Whether all variables should come back once when the violation is close to the tolerance, to
  // be shrunk again by a better gradient, as in the paper.
  virtual bool again_near_optimum() const = 0;

  void shrink(Dual& dual, Matrix& matrix) {
    const std::vector<Extremes> limits = extremes_by_group(dual);
    std::vector<Index> order, shrunk;
    order.reserve(dual.size());
    for (Index k = 0; k < dual.active; ++k) {
      bool stays = true;
      for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s)
        stays = stays && expected_to_stay(dual, {s, k}, limits[dual.separate ? s : 0]);
      (stays ? shrunk : order).push_back(k);
    }
    if (shrunk.empty() || !pays(static_cast<Index>(shrunk.size()), dual.active)) return;
    const Index active = static_cast<Index>(order.size());
    order.insert(order.end(), shrunk.begin(), shrunk.end());
    for (Index k = dual.active; k < dual.size(); ++k) order.push_back(k);
    reorder(dual, matrix, order);
    reordered(dual, matrix, order, active);
    dual.active = active;
  }

  // How many kernel values it takes to rebuild the gradient now, if no row is cached.
  virtual std::int64_t values_to_rebuild(const Dual& dual, const Matrix& matrix) const = 0;

  // Rebuilds the gradient of the shrunk variables and makes all of them active again.
  void unshrink(Dual& dual, Matrix& matrix) {
    if (dual.active == dual.size()) return;
    rebuild(dual, matrix);
    dual.active = dual.size();
  }

 private:
  // Whether it pays to take `shrunk` of `active` variables out.
  virtual bool pays(Index shrunk, Index active) const = 0;

  // Called after the variables were reordered, and before those from `active` on are taken out.
  virtual void reordered(const Dual& dual, const Matrix& matrix,
                         const std::vector<Index>& old_position, Index active) = 0;

  // Brings the gradient of the shrunk variables up to date.
  virtual void rebuild(Dual& dual, Matrix& matrix) = 0;
};

template <class Real>
class ShrinkingWithGBar final : public Shrinking<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  // Variables may already be at bounds at the start. So the gradient is computed as G-bar plus the
  // contribution of the free variables, and no row is computed twice.
  void start(Dual& dual, Matrix& matrix) override {
    g_bar_.assign(dual.size(), 0.0);
    accumulate(dual, matrix, 0, dual.size(), g_bar_.data(), [&](Index k) {
      double sum = 0;
      for (const Part& part : dual.parts) sum += part.bounded(k);
      return sum;
    });
    rebuild_from(dual, matrix, 0);
  }

  bool again_near_optimum() const override { return true; }

  std::int64_t values_to_rebuild(const Dual& dual, const Matrix&) const override {
    std::int64_t free = 0;
    for (Index k = 0; k < dual.size(); ++k) free += free_beta(dual, k) != 0;
    return free * (dual.size() - dual.active);
  }

  // `change` is the change of the variable's share of G-bar in the last step.
  void update(const Dual& dual, Matrix& matrix, Variable v, double change) {
    if (change == 0) return;
    const Real* row = matrix.row(v.position, dual.size());
    for (Index k = 0; k < dual.size(); ++k) g_bar_[k] += change * row[k];
  }

 private:
  bool pays(Index, Index) const override { return true; }

  void reordered(const Dual&, const Matrix&, const std::vector<Index>& old_position,
                 Index) override {
    permute(g_bar_, old_position);
  }

  void rebuild(Dual& dual, Matrix& matrix) override { rebuild_from(dual, matrix, dual.active); }

  void rebuild_from(Dual& dual, Matrix& matrix, Index begin) const {
    for (Index k = begin; k < dual.size(); ++k) dual.gradient[k] = dual.p[k] + g_bar_[k];
    accumulate(dual, matrix, begin, dual.size(), dual.gradient.data(),
               [&](Index k) { return free_beta(dual, k); });
  }

  // The sum of the parts of beta that are not in G-bar.
  static double free_beta(const Dual& dual, Index k) {
    double sum = 0;
    for (const Part& part : dual.parts)
      if (part.is_free(k)) sum += part.beta[k];
    return sum;
  }

  std::vector<double> g_bar_;
};

template <class Real>
class ShrinkingByChanges final : public Shrinking<Real> {
 public:
  using Matrix = KernelMatrix<Real>;

  void start(Dual& dual, Matrix& matrix) override { start_gradient(dual, matrix); }

  bool again_near_optimum() const override { return false; }

  std::int64_t values_to_rebuild(const Dual& dual, const Matrix& matrix) const override {
    std::int64_t values = 0;
    for (const Stage& stage : stages_) {
      std::int64_t changed = 0;
      for (Index k = 0; k < dual.size(); ++k)
        changed += change_since(stage, dual, matrix.order(), k) != 0;
      values += changed * (stage.end - stage.begin);
    }
    return values;
  }

 private:
  struct Stage {  // variables shrunk together, and beta as it was then
    Index begin, end;
    std::vector<double> beta;  // by example
  };

  // Reordering moves all cached rows of a block: it pays only if much less work is left.
  bool pays(Index shrunk, Index active) const override { return shrunk >= 0.5 * active; }

  void reordered(const Dual& dual, const Matrix& matrix, const std::vector<Index>&,
                 Index active) override {
    stages_.push_back({active, dual.active, beta_by_example(dual, matrix.order())});
  }

  void rebuild(Dual& dual, Matrix& matrix) override {
    for (; !stages_.empty(); stages_.pop_back()) {
      const Stage& stage = stages_.back();
      accumulate(dual, matrix, stage.begin, stage.end, dual.gradient.data(),
                 [&](Index k) { return change_since(stage, dual, matrix.order(), k); });
    }
  }

  static double change_since(const Stage& stage, const Dual& dual, const Order& order, Index k) {
    return dual.total_beta(k) - stage.beta[order.example_at[k]];
  }

  static std::vector<double> beta_by_example(const Dual& dual, const Order& order) {
    std::vector<double> beta(dual.size());
    for (Index k = 0; k < dual.size(); ++k) beta[order.example_at[k]] = dual.total_beta(k);
    return beta;
  }

  std::vector<Stage> stages_;
};

}  // namespace softmargin
