// The losses of one column of W for all examples at once, as Newton's method needs them
// (fitting/newton.py).
//
// Given: a loss of loss.hpp, the errors e and each C_i. The dual variables that answer the errors,
//
//   beta_i = argmax_b  b e_i - cost(b) - r_i / 2 (b - anchor_i)^2,   r_i = width / C_i,
//
// are the derivatives of the losses, smoothed around `anchor`: the sub-problem of loss.hpp with
// q = r_i. Squared losses need no smoothing, so for them r_i = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "loss.hpp"

namespace softmargin::linear {

// How a loss is smoothed; not used by squared losses.
struct Smoothing {
  const double* anchor;
  double width;
};

template <class Loss>
class SmoothedLoss {
 public:
  SmoothedLoss(Loss loss, const double* C, std::size_t size) : loss_(loss), C_(C), size_(size) {}

  struct Response {
    std::vector<double> beta;
    std::vector<double> curved;  // C_i where beta_i changes with e_i, 0 where it does not
    double loss = 0;             // sum of C_i L(e_i)
    double gap = 0;              // sum of C_i L(e_i) + cost(beta_i) - beta_i e_i
  };

  Response respond(const double* e, Smoothing at) const {
    Response out;
    out.beta.resize(size_);
    out.curved.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (C_[i] <= 0) continue;
      const double beta = variable(i, e[i], at);
      const double loss = loss_.priced(e[i], C_[i]);
      const bool moves = beta != 0 && (!Loss::bounded || std::abs(beta) < C_[i]);
      out.beta[i] = beta;
      out.curved[i] = moves ? C_[i] : 0;
      out.loss += loss;
      out.gap += std::max(loss + loss_.cost(beta, C_[i]) - beta * e[i], 0.0);
    }
    return out;
  }

  // sum_i change_i beta_i, where the errors are e - length * change: how the smoothed losses fall
  // along a line.
  double slope(const double* e, const double* change, double length, Smoothing at) const {
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i)
      if (C_[i] > 0) sum += change[i] * variable(i, e[i] - length * change[i], at);
    return sum;
  }

 private:
  double variable(std::size_t i, double e, Smoothing at) const {
    const double C = C_[i];
    if constexpr (!Loss::bounded) return 2 * C * loss_.excess(e);
    const double b = loss_.step(e + at.width * at.anchor[i] / C, at.width);
    return std::abs(b) == at.width ? std::copysign(C, b) : b * (C / at.width);
  }

  Loss loss_;
  const double* C_;
  std::size_t size_;
};

}  // namespace softmargin::linear
