// exp and tanh as plain arithmetic, so that loops over them vectorise.
//
// exp of x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, then exp(r) by its Taylor polynomial and 2^n
// by setting the exponent. The error is below 2 units in the last place (checked by tests).
// Arguments below `lowest`, whose exponential is not a normal number, give 0. NaN gives NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace softmargin {

inline float exp_nonpositive(float x) {
  constexpr float lowest = -87.33654f;
  const float clipped = x < lowest ? lowest : x;
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float shifted = clipped * 1.44269504f + shift;
  const float n = shifted - shift;
  const float r = (clipped - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float scale = std::bit_cast<float>(exponent + 0x3f800000);
  const float value = p * scale + scale;
  return x < lowest ? 0.0f : value;
}

inline double exp_nonpositive(double x) {
  constexpr double lowest = -708.396;
  const double clipped = x < lowest ? lowest : x;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = clipped * 1.4426950408889634 + shift;
  const double n = shifted - shift;
  const double r = (clipped - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = (p * r) * r + r;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  const double scale = std::bit_cast<double>(exponent + 0x3ff0000000000000);
  const double value = p * scale + scale;
  return x < lowest ? 0.0 : value;
}

// tanh |x| = (1 - e) / (1 + e) with e = exp(-2 |x|); for small x, where digits would cancel, the
// continued fraction of tanh.
template <class Real>
Real fast_tanh(Real x) {
  const Real magnitude = std::abs(x), square = x * x;
  const Real e = exp_nonpositive(-2 * magnitude);
  const Real large = std::copysign((1 - e) / (1 + e), x);
  Real fraction = 17;
  for (int odd = 15; odd >= 1; odd -= 2) fraction = odd + square / fraction;
  return magnitude < 1 ? x / fraction : large;
}

}  // namespace softmargin
