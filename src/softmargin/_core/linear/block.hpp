// The dual variables of one example: one for each class that may push it (every class but its own;
// in one-vs-rest its own as well). Nearly all of them are zero, so only the others are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rests.hpp"

namespace softmargin::linear {

struct Entry {
  double beta;
  std::int32_t cls;
};

using Block = std::vector<Entry>;

// Where a variable goes.
struct Goal {
  double from, to;
  std::int32_t cls;
};

// What the descent keeps about one example, together in memory because a visit needs all of it.
struct Example {
  double squared_norm = 0, upper = 0;  // |x|^2 and C_i
  double gap = 0;                      // its share of the duality gap, as of its last visit
  std::int32_t label = 0;
  Rest rest;
  Block block;
};

inline std::size_t count_entries(const std::vector<Example>& examples) {
  std::size_t entries = 0;
  for (const Example& x : examples) entries += x.block.size();
  return entries;
}

// What a visit considers of a block: the classes that are not zero before it or may not be after
// it. There is room for all classes; the first `size` places are in use.
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
  std::vector<double> error;  // 1 minus the margin: positive where there is loss
  std::vector<double> beta;   // before the visit
  std::vector<double> v;      // of the sub-problem, in units of scores: |x|^2 times the paper's
  std::vector<double> b;      // the answer, in the same units
};

}  // namespace softmargin::linear
