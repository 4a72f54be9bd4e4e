// Random sub-problems, solved both ways: for the long runs of the tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "../linear/shuffle.hpp"
#include "subproblem_newton.hpp"
#include "subproblem_sorted.hpp"

namespace softmargin::linear {

// Entries in units of C from -2 to 4, a third of them on a coarse grid, so that ties and entries at
// 0, C and 2 C are common; C between 2^-20 and 2^20; the start anywhere.
inline double random_subproblem(std::vector<double>& v, std::size_t max_size, Random& random) {
  const auto uniform = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  const double C = std::exp2(40 * uniform() - 20);
  const double spread = 6 * std::exp2(-8 * uniform());  // from far apart to close together
  const double centre = -2 + 6 * uniform();
  v.resize(1 + random.below(static_cast<std::uint32_t>(max_size)));
  for (double& value : v) {
    value = centre + spread * (uniform() - 0.5);
    if (random.below(3) == 0) value = std::round(2 * value) / 2;
    value *= C;
  }
  return C;
}

// The largest difference of b, relative to the largest entry of v; and the most passes of Newton.
inline std::pair<double, int> compare_subproblems(std::int64_t cases, std::size_t max_size,
                                                  std::uint64_t seed) {
  Random random(seed);
  SortedSubproblem sorted;
  std::vector<double> v;
  double worst = 0;
  int most = 0;
  for (std::int64_t n = 0; n < cases; ++n) {
    const double C = random_subproblem(v, max_size, random);
    const auto size = static_cast<std::int64_t>(v.size());
    const double start = C * static_cast<double>(random.below(8));
    int passes = 0;
    const double by_newton = newton_threshold(v.data(), size, C, start, passes);
    const double by_sorting = sorted.threshold(v.data(), size, C);
    const double v_max = largest(v.data(), size);
    most = std::max(most, passes);
    for (const double value : v) {
      const double difference =
          std::abs(std::clamp(value - by_newton, 0.0, C) - std::clamp(value - by_sorting, 0.0, C));
      if (difference > 0) worst = std::max(worst, difference / v_max);
    }
  }
  return {worst, most};
}

}  // namespace softmargin::linear
