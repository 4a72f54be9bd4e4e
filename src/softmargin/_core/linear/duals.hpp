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

// The non-zero variables of many examples as a CSR matrix, examples x classes, that others own.
struct FlatView {
  const std::int64_t* starts;
  const std::int32_t* cls;
  const double* beta;

  struct Iterator {
    const FlatView* of;
    std::int64_t at;
    DualVariable operator*() const { return {of->beta[at], of->cls[at]}; }
    void operator++() { ++at; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last.at - first.at); }
  };
  Range operator[](std::size_t i) const { return {{this, starts[i]}, {this, starts[i + 1]}}; }
};

// The same, with arrays of its own.
struct FlatVariables {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> cls;
  std::vector<double> beta;

  void add(double value, std::int32_t c) {
    if (value == 0) return;
    cls.push_back(c);
    beta.push_back(value);
  }
  void end_example() { starts.push_back(static_cast<std::int64_t>(beta.size())); }
};

inline std::size_t count_nonzero(const std::vector<Example>& examples) {
  std::size_t count = 0;
  for (const Example& x : examples) count += x.support.size();
  return count;
}

inline FlatVariables flatten(const std::vector<Example>& examples) {
  FlatVariables flat;
  const std::size_t entries = count_nonzero(examples);
  flat.starts.reserve(examples.size() + 1);
  flat.cls.reserve(entries);
  flat.beta.reserve(entries);
  for (const Example& example : examples) {
    for (const DualVariable& variable : example.support) flat.add(variable.beta, variable.cls);
    flat.end_example();
  }
  return flat;
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

// A change of a variable, by the extrapolation or by a step of a block.
struct Move {
  double from, to;
  std::int32_t cls;
};

// Moves the variables of one example away from earlier ones (or towards later ones, if t < 0).
class Combination {
 public:
  explicit Combination(std::int32_t classes) : seen_(classes), was_(classes) {}

  // Appends a move from `now` to now + sum over a < count of t[a] (now - past(a)) for each class in
  // any of them.
  template <class Range, class Past>
  void operator()(const Range& now, std::size_t count, Past past, const double* t,
                  std::vector<Move>& moves) {
    const std::size_t start = moves.size();
    for (const DualVariable variable : now) {
      seen_[variable.cls] = true;
      moves.push_back({variable.beta, variable.beta, variable.cls});
    }
    for (std::size_t a = 0; a < count; ++a) {
      for (const DualVariable variable : past(a)) {
        if (!seen_[variable.cls]) moves.push_back({0, 0, variable.cls});
        seen_[variable.cls] = true;
        was_[variable.cls] = variable.beta;
      }
      // The difference is computed first, so that a variable that has not changed, such as one at
      // its bound, keeps its exact value.
      for (std::size_t m = start; m < moves.size(); ++m) {
        moves[m].to += t[a] * (moves[m].from - was_[moves[m].cls]);
        was_[moves[m].cls] = 0;
      }
    }
    for (std::size_t m = start; m < moves.size(); ++m) seen_[moves[m].cls] = false;
  }

 private:
  std::vector<char> seen_;  // by class; cleared after use
  std::vector<double> was_;
};

}  // namespace softmargin::linear
