// Kernel functions of inner products and squared norms:
//   linear <a,b>   polynomial (gamma <a,b> + coef0)^degree
//   rbf exp(-gamma |a - b|^2)   sigmoid tanh(gamma <a,b> + coef0)
#pragma once

#include <algorithm>

#include "elementary.hpp"
#include "examples.hpp"

namespace softmargin {

enum class KernelFunction { linear, polynomial, rbf, sigmoid };

template <class Real>
Real power(Real base, int exponent) {
  Real result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

struct Kernel {
  KernelFunction function = KernelFunction::linear;
  double gamma = 1, coef0 = 0;
  int degree = 3;

  // Turns the products of one row with `size` columns into kernel values, in place.
  template <class Real>
  void apply(Real* values, Index size, double row_norm, const Real* column_norms) const {
    const Real g = static_cast<Real>(gamma), c = static_cast<Real>(coef0);
    const Real norm = static_cast<Real>(row_norm);
    switch (function) {
      case KernelFunction::linear:
        return;
      case KernelFunction::polynomial:
        for (Index k = 0; k < size; ++k) values[k] = power(g * values[k] + c, degree);
        return;
      case KernelFunction::sigmoid:
        for (Index k = 0; k < size; ++k) {
          const Real argument = g * values[k] + c;
          values[k] = fast_tanh(argument) + 0 * argument;  // an overflow must not pass for +-1
        }
        return;
      case KernelFunction::rbf:
        for (Index k = 0; k < size; ++k) {
          const Real distance = (norm + column_norms[k]) - 2 * values[k];
          values[k] = exp_nonpositive(-g * (distance < 0 ? Real(0) : distance));
        }
    }
  }

  // How far a value may be off when products and norms up to `norm` are rounded to relative `unit`.
  double rounding(double norm, double unit) const {
    const double argument = std::abs(gamma) * norm + std::abs(coef0);
    switch (function) {
      case KernelFunction::linear:
        return unit * norm;
      case KernelFunction::polynomial:
        return unit * std::max(degree, 1) * power(std::max(argument, 1.0), degree);
      case KernelFunction::sigmoid:
        return unit * (1 + argument);
      case KernelFunction::rbf:
        return unit * (1 + 2 * gamma * norm);
    }
    return unit;
  }

  double diagonal(double squared_norm) const {
    double value = squared_norm;
    apply(&value, 1, squared_norm, &squared_norm);
    return value;
  }
};

}  // namespace softmargin
