// Shrinking (LIBSVM paper, Section 4): variables at a bound that are not expected to leave it are
// taken out of the problem. G-bar, the part of the gradient that comes from variables at a bound
// other than zero, is kept for all examples, so the gradient of the shrunk ones can be rebuilt from
// the free variables alone.
#pragma once

#include <vector>

#include "dual.hpp"
#include "kernel_matrix.hpp"
#include "selection/extremes.hpp"

namespace softmargin {

// A variable at its upper bound is expected to stay when its -derivative is at least `highest`, one
// at its lower bound when it is at most `lowest`.
inline bool expected_to_stay(const Dual& dual, Variable v, const Extremes& limits) {
  const Part& part = dual.parts[v.part];
  if (part.is_free(v.position)) return false;
  if (part.can_rise(v.position)) return dual.value(v) <= limits.lowest + limits.slack;
  if (part.can_fall(v.position)) return dual.value(v) >= limits.highest - limits.slack;
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

template <class Real>
class Shrinking {
 public:
  explicit Shrinking(const Dual& dual) : g_bar_(dual.size(), 0.0) {}

  // The start may already rest on bounds.
  void start(const Dual& dual, KernelMatrix<Real>& matrix) {
    std::vector<Index> positions;
    std::vector<double> coefficients;
    for (Index k = 0; k < dual.size(); ++k) {
      double sum = 0;
      for (const Part& part : dual.parts) sum += part.bounded(k);
      if (sum != 0) positions.push_back(k), coefficients.push_back(sum);
    }
    matrix.accumulate(positions, coefficients, 0, dual.size(), g_bar_.data());
  }

  // `change` is by how much the variable's share of G-bar changed in the last step.
  void update(const Dual& dual, KernelMatrix<Real>& matrix, Variable v, double change) {
    if (change == 0) return;
    const Real* row = matrix.row(v.position, dual.size());
    for (Index k = 0; k < dual.size(); ++k) g_bar_[k] += change * row[k];
  }

  void shrink(Dual& dual, KernelMatrix<Real>& matrix) {
    const std::vector<Extremes> limits = extremes(dual);
    std::vector<Index> order, shrunk;
    order.reserve(dual.size());
    for (Index k = 0; k < dual.active; ++k) {
      bool stays = true;
      for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s)
        stays = stays && expected_to_stay(dual, {s, k}, limits[dual.separate ? s : 0]);
      (stays ? shrunk : order).push_back(k);
    }
    if (shrunk.empty()) return;
    const Index active = static_cast<Index>(order.size());
    order.insert(order.end(), shrunk.begin(), shrunk.end());
    for (Index k = dual.active; k < dual.size(); ++k) order.push_back(k);
    reorder(dual, matrix, order);
    permute(g_bar_, order);
    dual.active = active;
  }

  // Rebuilds the gradient of the shrunk variables and takes all of them back.
  void unshrink(Dual& dual, KernelMatrix<Real>& matrix) {
    if (dual.active == dual.size()) return;
    std::vector<Index> positions;
    std::vector<double> coefficients;
    for (Index k = 0; k < dual.size(); ++k) {
      double sum = 0;
      for (const Part& part : dual.parts)
        if (part.is_free(k)) sum += part.beta[k];
      if (sum != 0) positions.push_back(k), coefficients.push_back(sum);
    }
    for (Index k = dual.active; k < dual.size(); ++k) dual.gradient[k] = dual.p[k] + g_bar_[k];
    matrix.accumulate(positions, coefficients, dual.active, dual.size(), dual.gradient.data());
    dual.active = dual.size();
  }

 private:
  std::vector<double> g_bar_;
};

}  // namespace softmargin
