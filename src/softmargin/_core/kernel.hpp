// Kernel functions of inner products and squared norms:
//   linear <a,b>   polynomial (gamma <a,b> + coef0)^degree
//   rbf exp(-gamma |a - b|^2)   sigmoid tanh(gamma <a,b> + coef0)
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

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
          values[k] = fast_tanh(argument) + 0 * argument;  // NaN, not +-1, if it overflowed
        }
        return;
      case KernelFunction::rbf:
        // A distance below its own rounding error is set to zero. So the distance of a row to
        // itself is zero, and the errors of its largest kernel values differ in sign.
        constexpr Real noise = 2 * std::numeric_limits<Real>::epsilon();
        for (Index k = 0; k < size; ++k) {
          const Real norms = norm + column_norms[k], distance = norms - 2 * values[k];
          values[k] = exp_nonpositive(-g * (distance < noise * norms ? Real(0) : distance));
        }
    }
  }

  // An estimate of the rounding error of K(x, v) computed in Real, given |x|^2 and |v|^2; infinite
  // if an intermediate number may overflow Real.
  //
  // rbf: the squared distance has an error of unit (|x|^2 + |v|^2), and K(x, v) has gamma K(x, v)
  // times that error. If |x| is far from |v|, K is so small that |x| does not matter.
  template <class Real>
  double rounding(double x_norm, double v_norm) const {
    using Limits = std::numeric_limits<Real>;
    constexpr double unit = Limits::epsilon() / 2, largest = Limits::max() / 4;
    const double product = std::sqrt(x_norm) * std::sqrt(v_norm);
    const double argument = std::abs(gamma) * product + std::abs(coef0);
    const double value =
        function == KernelFunction::polynomial ? power(std::max(argument, 1.0), degree) : argument;
    // Rounding errors are relative, except below the smallest normal number: there, absolute.
    constexpr double least = Limits::min();
    if (!(std::max({x_norm, v_norm, value, std::abs(gamma)}) < largest))
      return std::numeric_limits<double>::infinity();
    switch (function) {
      case KernelFunction::linear:
        return unit * product + least;
      case KernelFunction::polynomial:
        return unit * std::max(degree, 1) * value + least * std::max(1.0, std::abs(gamma));
      case KernelFunction::sigmoid:
        return unit * (1 + argument) + least * std::abs(gamma);
      case KernelFunction::rbf:
        return unit * (1 + 2 * gamma * v_norm) + least * gamma;
    }
    return unit;
  }

  // Whether the estimated rounding error of K(x, v) depends on x.
  bool rounding_depends_on_x() const { return function != KernelFunction::rbf; }

  double diagonal(double squared_norm) const {
    double value = squared_norm;
    apply(&value, 1, squared_norm, &squared_norm);
    return value;
  }
};

// An estimate of the rounding error in a sum of kernel values, from the errors of its terms.
//
// The errors of many terms are random, so their sum stays within four standard deviations. But a
// single kernel value may make up most of the sum (that of a row with itself). Adding up the
// `terms` numbers of its inner product is a random walk: each addition is off by up to one unit,
// 0.6 units on average.
class RoundingOfSum {
 public:
  void add(double error) {
    squares_ += error * error;
    largest_ = std::max(largest_, std::abs(error));
  }

  double estimate(Index terms) const {
    constexpr double deviations = 4;
    const double walk = 1 + 0.6 * std::sqrt(static_cast<double>(terms));
    return deviations * std::max(std::sqrt(squares_), walk * largest_);
  }

 private:
  double squares_ = 0, largest_ = 0;
};

}  // namespace softmargin
