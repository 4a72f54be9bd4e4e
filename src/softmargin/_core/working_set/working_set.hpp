// A working set: the variables that one step of the decomposition method changes. It does two
// things: it says how far from optimal the problem is (select), and it takes a step (step).
#pragma once

#include <cstdint>
#include <vector>

#include "../kernel_matrix.hpp"
#include "../selection/rule.hpp"
#include "../shrinking.hpp"

namespace softmargin {

struct Limits {
  double tolerance;         // of the violation on the whole problem
  std::int64_t iterations;  // pair steps that may still be taken
};

// What a step did.
struct Step {
  std::int64_t iterations = 0;  // in pair steps
  double gain = 0;              // by how much the objective fell
  double work = 0;              // in multiplications, roughly
  bool moved = false;           // false: rounding keeps every variable from moving
  bool given_up = false;        // the solver was asked to stop; nothing has changed
};

template <class Real>
class WorkingSet {
 public:
  using Matrix = KernelMatrix<Real>;

  virtual ~WorkingSet() = default;

  virtual Selection select(const Dual& dual, Matrix& matrix) = 0;

  // Solves the problem on the working set and brings the gradient of the active variables up to
  // date. `selection` is what select() returned, or the most violating pair in its place.
  virtual Step step(Dual& dual, Matrix& matrix, const Selection& selection,
                    const Limits& limits) = 0;

  // Called after the caller has changed variables while all variables were active: brings the
  // gradient up to date.
  virtual void update(Dual& dual, Matrix& matrix, const std::vector<Index>& positions,
                      const std::vector<double>& changes) {
    const std::vector<char> keep(positions.size(), 1);
    matrix.accumulate(positions, changes, 0, dual.active, dual.gradient.data(), keep);
  }

  // The way of shrinking that suits these steps; null: none.
  virtual Shrinking<Real>* shrinking() { return nullptr; }

  // How many rows are in use at a time and must stay in the cache.
  virtual Index rows_in_use() const = 0;
};

}  // namespace softmargin
