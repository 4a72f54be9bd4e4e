// Shrinking: which examples a pass skips, and for which examples a visit looks only at the classes
// of their support.
//
// After a visit with no significant change, the example is skipped for 1 pass; after the second
// such visit in a row for 3, then 7, then 15. Likewise, after a full visit in which no class enters
// the support, the next 1 (3, 7, 15) visits look only at the support. A visit with a significant
// change, or a full visit in which a class enters, resets the count. The result does not depend on
// these guesses: the fit stops only after a complete check of all examples and classes, which
// reactivates the skipped examples that still have a significant duality gap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shuffle.hpp"

namespace softmargin::linear {

// The next visits of one example.
class VisitPlan {
 public:
  static constexpr int longest = 15;  // passes skipped, or visits that look only at the support

  static constexpr std::size_t bytes = 3;  // of save() and load()

  void save(std::uint8_t* out) const {
    out[0] = support_only_;
    out[1] = unchanged_;
    out[2] = none_entered_;
  }
  void load(const std::uint8_t* in) {
    support_only_ = in[0];
    unchanged_ = std::min<std::uint8_t>(in[1], doublings);
    none_entered_ = std::min<std::uint8_t>(in[2], doublings);
  }

  bool support_only() const { return support_only_ > 0; }

  // Called after a visit; returns the number of passes to skip the example. `restriction_pays`: the
  // support is so small that looking only at its classes is cheaper.
  int visited(bool changed, bool entered, bool restriction_pays, int longest_skip) {
    unchanged_ = changed ? 0 : std::min(unchanged_ + 1, doublings);
    if (support_only_ > 0) {
      --support_only_;
    } else {
      none_entered_ = entered ? 0 : std::min(none_entered_ + 1, doublings);
      support_only_ = static_cast<std::uint8_t>(restriction_pays ? (1 << none_entered_) - 1 : 0);
    }
    return std::min((1 << unchanged_) - 1, longest_skip);
  }

 private:
  static constexpr int doublings = 4;  // 2^4 - 1 is the longest
  std::uint8_t support_only_ = 0;      // how many of the next visits look only at the support
  std::uint8_t unchanged_ = 0;         // visits in a row without a significant change
  std::uint8_t none_entered_ = 0;      // full visits in a row in which no class entered
};

// The examples of the current pass, in random order, and the examples that are skipped until a
// later pass. Skipped examples take no time.
class ActiveSet {
 public:
  // To visit in the next pass, or after skipping this many passes.
  void add(std::int32_t i, int passes = 0) {
    (passes == 0 ? active_ : due_in(pass_ + 1 + passes)).push_back(i);
  }
  void clear() {
    active_.clear();
    for (auto& due : due_) due.clear();
  }
  // Between two passes: calls work(i, passes) for the examples to be skipped that many passes.
  template <class Work>
  void for_skipped(Work work) {
    for (int passes = 1; passes <= VisitPlan::longest; ++passes)
      for (const std::int32_t i : due_in(pass_ + 1 + passes)) work(i, passes);
  }

  void begin_pass(Random& random) {
    ++pass_;
    auto& due = due_in(pass_);
    active_.insert(active_.end(), due.begin(), due.end());
    due.clear();
    shuffle(active_, random);
    position_ = kept_ = 0;
    in_pass_ = true;
  }

  bool in_pass() const { return in_pass_; }
  bool more() const { return position_ < active_.size(); }
  std::int32_t next() { return active_[position_++]; }
  // The example that is visited `visits` visits after the next one; -1 if there is none.
  std::int32_t ahead(std::size_t visits) const {
    return position_ + visits < active_.size() ? active_[position_ + visits] : -1;
  }
  // Skips the example that was just visited for this many passes.
  void skip(std::int32_t i, int passes) {
    if (passes == 0)
      active_[kept_++] = i;
    else
      due_in(pass_ + 1 + passes).push_back(i);
  }

  void end_pass() {
    active_.resize(kept_);
    in_pass_ = false;
  }

  // Between two passes: makes skipped examples active again if wanted(i).
  template <class Wanted>
  void reactivate(Wanted wanted) {
    for (auto& due : due_) {
      std::size_t kept = 0;
      for (const std::int32_t i : due) {
        if (wanted(i))
          active_.push_back(i);
        else
          due[kept++] = i;
      }
      due.resize(kept);
    }
  }

  std::size_t skipped() const {
    std::size_t sum = 0;
    for (const auto& due : due_) sum += due.size();
    return sum;
  }

 private:
  std::vector<std::int32_t>& due_in(std::int64_t pass) { return due_[pass % due_.size()]; }

  // Skipped examples by the pass in which they are due, as a ring buffer: no skip is longer.
  std::array<std::vector<std::int32_t>, VisitPlan::longest + 1> due_;
  std::vector<std::int32_t> active_;
  std::size_t position_ = 0, kept_ = 0;  // in active_: the next visit; the end of those kept
  std::int64_t pass_ = 0;
  bool in_pass_ = false;
};

}  // namespace softmargin::linear
