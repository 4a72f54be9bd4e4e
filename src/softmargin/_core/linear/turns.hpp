// Whose turn it is: the examples that a pass visits, in random order, and those that rest until a
// later pass. An example that rests costs nothing, not even a look.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rests.hpp"
#include "shuffle.hpp"

namespace softmargin::linear {

class Turns {
 public:
  void add(std::int32_t i) { awake_.push_back(i); }

  void begin_pass(Random& random) {
    ++pass_;
    auto& waking = wakes_at(pass_);
    awake_.insert(awake_.end(), waking.begin(), waking.end());
    waking.clear();
    shuffle(awake_, random);
    position_ = kept_ = 0;
    passing_ = true;
  }

  bool passing() const { return passing_; }
  bool more() const { return position_ < awake_.size(); }
  std::int32_t next() { return awake_[position_++]; }
  // The example whose turn comes so many turns after the next; -1 if there is none.
  std::int32_t ahead(std::size_t turns) const {
    return position_ + turns < awake_.size() ? awake_[position_ + turns] : -1;
  }
  // The example just visited comes again after a rest of so many passes.
  void again(std::int32_t i, int rest) {
    if (rest == 0)
      awake_[kept_++] = i;
    else
      wakes_at(pass_ + 1 + rest).push_back(i);
  }

  void end_pass() {
    awake_.resize(kept_);
    passing_ = false;
  }

  // Between two passes: ends the rests of some.
  template <class Wanted>
  void wake(Wanted wanted) {
    for (auto& waking : wakes_) {
      std::size_t kept = 0;
      for (const std::int32_t i : waking) {
        if (wanted(i))
          awake_.push_back(i);
        else
          waking[kept++] = i;
      }
      waking.resize(kept);
    }
  }

  std::size_t resting() const {
    std::size_t sum = 0;
    for (const auto& waking : wakes_) sum += waking.size();
    return sum;
  }

 private:
  std::vector<std::int32_t>& wakes_at(std::int64_t pass) { return wakes_[pass % wakes_.size()]; }

  // By the pass in which they wake, up to a turn of the ring after this one.
  std::array<std::vector<std::int32_t>, Rest::longest + 1> wakes_;
  std::vector<std::int32_t> awake_;
  std::size_t position_ = 0, kept_ = 0;  // in awake_: the next turn; those that stay awake
  std::int64_t pass_ = 0;
  bool passing_ = false;
};

}  // namespace softmargin::linear
