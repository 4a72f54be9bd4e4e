// What a change of an example's variables does to the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "weights.hpp"

namespace softmargin::linear {

class Change {
 public:
  void clear() {
    cls_.clear();
    by_.clear();
    total_ = 0;
  }
  void add(std::int32_t cls, double by) {
    cls_.push_back(cls);
    by_.push_back(by);
    total_ += by;
  }

  double total() const { return total_; }

  // W += row * (change of each class; a class pushes down, the example's own goes up). Once: the
  // change is of no use afterwards.
  template <class Machine, class Real>
  void move(Weights<Real>& weights, const Row& row, std::int32_t own) {
    for (std::size_t j = 0; j < cls_.size(); ++j)
      if (cls_[j] != own) by_[j] = -by_[j];
    if (Machine::coupled) add(own, total_);
    weights.add_columns(row, cls_.data(), by_.data(), cls_.size());
  }

 private:
  std::vector<std::int32_t> cls_;
  std::vector<double> by_;
  double total_ = 0;
};

}  // namespace softmargin::linear
