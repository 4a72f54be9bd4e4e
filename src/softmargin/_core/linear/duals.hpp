// The dual variables of one example: the paper's block beta_i. There is one for each class except
// the example's own (in one-vs-rest one for each class). Nearly all are zero, and only the non-zero
// ones are stored; their classes are the example's support.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shrinking.hpp"

namespace softmargin::linear {

struct DualVariable {
  double beta;
  std::int32_t cls;
};

using Support = std::vector<DualVariable>;

// What the descent stores about one example, in one struct because a visit needs all of it.
struct Example {
  double squared_norm = 0, upper = 0;  // |x|^2 and C_i
  double own_upper = 0;                // C_i in the column of its own class (one-vs-rest)
  double target = 1;                   // the score that the example should have
  double gap = 0;                      // its share of the duality gap as of its last visit
  std::int32_t label = 0;
  VisitPlan plan;
  Support support;
};

inline std::size_t count_nonzero(const std::vector<Example>& examples) {
  std::size_t count = 0;
  for (const Example& x : examples) count += x.support.size();
  return count;
}

// The classes that take part in an example's sub-problem: its support, then those that may enter
// it. There is space for all classes; the first `size` places are in use.
struct Candidates {
  explicit Candidates(std::int32_t classes)
      : cls(classes + 1), error(classes + 1), beta(classes + 1), v(classes + 1), b(classes + 1) {}

  void add(std::int32_t c, double e, double value) {
    cls[size] = c;
    error[size] = e;
    beta[size] = value;
    ++size;
  }

  std::size_t size = 0;
  std::vector<std::int32_t> cls;
  std::vector<double> error;  // 1 minus the margin, or target minus score
  std::vector<double> beta;   // before the visit
  std::vector<double> v;      // of the sub-problem, in units of scores: |x|^2 times the paper's
  std::vector<double> b;      // its solution, in the same units
};

// A change of a variable by the extrapolation.
struct Move {
  double from, to;
  std::int32_t cls;
};

}  // namespace softmargin::linear
