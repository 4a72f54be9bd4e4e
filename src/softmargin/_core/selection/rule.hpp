// A working-set rule: "give me the pair to step on, and how far from optimal the problem is".
#pragma once

#include "../dual.hpp"
#include "../kernel_matrix.hpp"

namespace softmargin {

template <class Real>
class Rule {
 public:
  virtual ~Rule() = default;
  // A pair with violation <= 0 means that the active problem is optimal.
  virtual Pair select(const Dual& dual, KernelMatrix<Real>& matrix) = 0;
};

}  // namespace softmargin
