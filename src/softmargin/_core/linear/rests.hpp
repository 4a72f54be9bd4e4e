// Shrinking for the linear machines: which examples a pass leaves out, and for which examples a
// visit looks only at the classes whose variables are not zero.
//
// A visit that changes nothing of note earns the example a rest of 1, then 3, 7, 15 passes; a
// complete visit in which no new class comes in earns it as many narrow visits. Whatever proves
// wrong ends the rest at once, and the complete check before stopping wakes everything that still
// has a gap.
#pragma once

#include <algorithm>
#include <cstdint>

namespace softmargin::linear {

class Rest {
 public:
  bool narrow() const { return narrow_ > 0; }

  static constexpr int longest = 15;  // passes, or narrow visits

  // Returns how many passes the example sits out. narrow_pays: whether the classes are many enough
  // for a narrow visit to cost less.
  int visited(bool changed, bool entered, bool narrow_pays, int longest_rest) {
    still_ = changed ? 0 : std::min(still_ + 1, steps);
    if (narrow_ > 0) {
      --narrow_;
    } else {
      calm_ = entered ? 0 : std::min(calm_ + 1, steps);
      narrow_ = static_cast<std::uint8_t>(narrow_pays ? (1 << calm_) - 1 : 0);
    }
    return std::min((1 << still_) - 1, longest_rest);
  }

 private:
  static constexpr int steps = 4;      // from 1 to the longest
  std::uint8_t narrow_ = 0;            // how many more of them
  std::uint8_t still_ = 0, calm_ = 0;  // how many in a row changed nothing, brought nothing in
};

}  // namespace softmargin::linear
