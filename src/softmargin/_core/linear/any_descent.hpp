// A descent whatever its machine: what it can be asked, and what it tells of itself.
#pragma once

#include <cstdint>
#include <vector>

#include "block.hpp"
#include "weights.hpp"

namespace softmargin::linear {

struct LinearStatus {
  bool optimal = false, stuck = false;
  double primal = 0, dual = 0, gap = 0, violation = 0;  // of the last complete check
  double estimated_gap = 0;                             // relative, as added up during the pass
  std::int64_t passes = 0, visits = 0, narrow_visits = 0, checks = 0, entries = 0;
  std::int64_t active = 0;  // examples that do not rest
  bool checked = false;     // whether the last complete check was of where the descent stands
  double relative_gap() const { return primal == 0 ? 0 : gap / primal; }  // NaN stays NaN
};

template <class Real>
class AnyDescent {
 public:
  virtual ~AnyDescent() = default;
  virtual LinearStatus run(std::int64_t max_passes, double max_seconds) = 0;
  virtual LinearStatus finish(double max_seconds) = 0;
  virtual void start_from(const std::int64_t* starts, const std::int32_t* cls,
                          const double* beta) = 0;
  virtual Weights<Real>& weights() = 0;
  virtual const std::vector<Example>& examples() const = 0;
};

}  // namespace softmargin::linear
