// The Weston-Watkins sub-problem by sorting: Algorithm 2 of Wang and Scott, 2021, with its three
// subroutines, O(k log k).
//
//   minimise 1/2 b'(I + 11')b - v'b  subject to  0 <= b <= C      (4)
//
// Given v and C > 0; returns g with b = clip(v - g, 0, C). It differs from the paper in one point:
// because of rounding, perhaps no candidate meets the conditions of Subroutine 5 exactly. Then the
// candidate that violates them least is returned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace softmargin::linear {

class SortedSubproblem {
 public:
  double threshold(const double* v, std::int64_t size, double C) {
    v_.assign(v, v + size);
    std::sort(v_.begin(), v_.end(), std::greater<>());
    if (v_.empty() || v_[0] <= 0) return 0;
    up_down_sequence(C);
    above_ = inside_ = 0;
    sum_ = 0;
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (const auto& [value, direction] : sequence_) {
      update(direction);
      const double g = (C * static_cast<double>(above_) + sum_) / static_cast<double>(inside_ + 1);
      const double missed = violation(C, g);
      if (missed < least) {
        least = missed;
        best = g;
      }
      if (missed <= 0) break;
    }
    return best;
  }

 private:
  enum Direction { up, down };  // at equal values, up comes first

  // Subroutine 3: as g decreases, the values of g at which entries of b become positive (down) and
  // at which they reach C (up).
  void up_down_sequence(double C) {
    sequence_.clear();
    for (const double value : v_) {
      if (value > 0) sequence_.emplace_back(value, down);
      if (value > C) sequence_.emplace_back(value - C, up);
    }
    std::sort(sequence_.begin(), sequence_.end(), [](const auto& a, const auto& b) {
      return a.first > b.first || (a.first == b.first && a.second < b.second);
    });
  }

  // Subroutine 4.
  void update(Direction direction) {
    if (direction == up) {
      ++above_;
      --inside_;
      sum_ -= v_[above_ - 1];
    } else {
      ++inside_;
      sum_ += v_[above_ + inside_ - 1];
    }
  }

  // Subroutine 5: the candidate's KKT violation; the conditions hold if it is 0 or less.
  double violation(double C, double g) const {
    double worst = -std::numeric_limits<double>::infinity();
    if (above_ > 0) worst = std::max(worst, C + g - v_[above_ - 1]);
    if (inside_ > 0) {
      worst = std::max(worst, v_[above_] - (C + g));
      worst = std::max(worst, g - v_[above_ + inside_ - 1]);
    }
    const std::size_t below = above_ + inside_;
    if (below < v_.size()) worst = std::max(worst, v_[below] - g);
    return worst;
  }

  std::vector<double> v_;
  std::vector<std::pair<double, Direction>> sequence_;
  std::size_t above_ = 0, inside_ = 0;
  double sum_ = 0;
};

}  // namespace softmargin::linear
