// Shrinking for the linear machines: which examples a pass leaves out, and for which examples a
// visit looks only at the classes whose variables are not zero.
//
// A visit that changes nothing earns the example a rest of 1, then 3, 7, 15 passes; a complete
// visit in which no new class comes in earns it as many narrow visits. Whatever proves wrong ends
// the rest at once, and the complete check before stopping wakes everything that still has a gap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace softmargin {

class Rests {
 public:
  Rests(std::size_t count, std::int32_t classes, bool enabled)
      : enabled_(enabled), classes_(classes), state_(count) {}

  // Whether the example sits this pass out.
  bool resting(std::int32_t i) {
    if (state_[i].rest == 0) return false;
    --state_[i].rest;
    return true;
  }
  bool narrow(std::int32_t i) const { return state_[i].narrow > 0; }

  void visited(std::int32_t i, bool changed, bool entered, std::size_t block_size) {
    if (!enabled_) return;
    State& s = state_[i];
    s.still = changed ? 0 : std::min(s.still + 1, longest);
    s.rest = (1 << s.still) - 1;
    if (s.narrow > 0) {
      --s.narrow;
      return;
    }
    s.calm = entered ? 0 : std::min(s.calm + 1, longest);
    // Single entries of W cost more than those of a contiguous row.
    const bool pays = 16 * (block_size + 1) < static_cast<std::size_t>(classes_);
    s.narrow = pays ? (1 << s.calm) - 1 : 0;
  }

  void wake(std::int32_t i) { state_[i] = {}; }

 private:
  static constexpr int longest = 4;
  struct State {
    std::uint8_t rest = 0, narrow = 0;  // how many more of each
    std::uint8_t still = 0, calm = 0;   // how many in a row changed nothing, brought nothing in
  };

  bool enabled_;
  std::int32_t classes_;
  std::vector<State> state_;
};

}  // namespace softmargin
