// The dual variables of one example: one for each class that may push it (every class but its own;
// in one-vs-rest its own as well). Nearly all of them are zero, so only the others are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace softmargin {

struct Entry {
  double beta;
  std::int32_t cls;
};

using Block = std::vector<Entry>;

// What a visit considers of a block: the classes that are not zero before it or may not be after
// it.
struct Candidates {
  std::vector<std::int32_t> cls;
  std::vector<double> error;  // 1 minus the margin: positive where there is loss
  std::vector<double> beta;   // before the visit
  std::vector<double> v;      // of the sub-problem, in units of scores: |x|^2 times the paper's
  std::vector<double> b;      // the answer, in the same units

  void clear() {
    cls.clear();
    error.clear();
    beta.clear();
  }
  void add(std::int32_t c, double e, double value) {
    cls.push_back(c);
    error.push_back(e);
    beta.push_back(value);
  }
  std::size_t size() const { return cls.size(); }
};

}  // namespace softmargin
