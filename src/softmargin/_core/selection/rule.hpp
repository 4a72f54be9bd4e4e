// A working-set rule: "give me the pair to step on, and how far from optimal the problem is".
#pragma once

#include "../dual.hpp"
#include "../kernel_matrix.hpp"

namespace softmargin {

struct Selection {
  Pair pair;
  double violation = 0;  // of the optimality conditions, as far as the rule has looked
  double stop = 0;       // the rule's own stopping quantity, to be compared with the tolerance
  bool stuck = false;    // no pair that the rule may select can move
};

template <class Rows>
class Rule {
 public:
  virtual ~Rule() = default;
  virtual Selection select(const Dual& dual, Rows& rows) = 0;
  // Called after a step, which may differ from the selected one.
  virtual void stepped(const Pair&, const Dual&, const Rows&) {}
  // Called when another problem begins.
  virtual void restart() {}
};

}  // namespace softmargin
