// The problem of some examples, the variables of all others held fixed, with only those of their
// variables that may soon change: few classes matter to an example.
//
// The list of a class has the examples of the class and those that have a variable of it. Each has
// a place there, with its score for the class, and the list has the kernel values of its examples
// with each other. So a change of a variable updates only scores that matter, and its cost hardly
// depends on the number of classes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../kernel_matrix.hpp"

namespace softmargin::all_classes {

template <class Real>
class BlockProblem {
 public:
  struct Variable {
    Index cls, place;   // in the list of that class
    double beta, from;  // now, and at the start
  };
  struct Member {
    std::int32_t label;
    double upper, curvature;  // as in problem.hpp
    Index place;              // in the list of its class
    std::size_t first;        // of its variables
  };

  explicit BlockProblem(Index classes) : lists_(classes) {}

  void clear() {
    members_.clear();
    variables_.clear();
    values_needed_ = 0;
    for (List& list : lists_) list.members.clear(), list.scores.clear();
  }

  // That of the kernel values, until the next call of fill().
  void release_memory() {
    values_.reset();
    allocated_ = 0;
  }

  // Adds a member; its variables follow.
  void add_member(std::int32_t label, double upper, double curvature, double score) {
    members_.push_back({label, upper, curvature, size_of(label), variables_.size()});
    enter(label, score);
  }
  void add_variable(Index cls, double beta, double score) {
    variables_.push_back({cls, size_of(cls), beta, beta});
    enter(cls, score);
  }

  // How many kernel values the lists of the present members need.
  std::size_t values_needed() const { return values_needed_; }

  // Called after the last member: write(members, stride, out) writes the kernel values of the
  // members of a list with each other, row after row.
  template <class Write>
  void fill(Write write) {
    std::size_t size = 0;
    for (List& list : lists_) {
      list.stride = padded(list.members.size());
      list.scores.resize(list.stride);
      list.start = size;
      size += list.members.size() * list.stride;
    }
    allocate(size);
    for (List& list : lists_) {
      if (list.members.empty()) continue;
      Real* values = &values_[list.start];
      write(list.members, list.stride, values);
      for (std::size_t r = 0; r < list.members.size(); ++r)
        std::fill(values + r * list.stride + list.members.size(), values + (r + 1) * list.stride,
                  Real(0));
    }
  }

  Index classes() const { return static_cast<Index>(lists_.size()); }
  Index size() const { return static_cast<Index>(members_.size()); }
  const Member& member(Index m) const { return members_[m]; }
  std::span<Variable> variables(Index m) {
    return std::span(variables_).subspan(members_[m].first, end_of(m) - members_[m].first);
  }
  std::span<const Variable> variables(Index m) const {
    return std::span(variables_).subspan(members_[m].first, end_of(m) - members_[m].first);
  }

  Index size_of(Index c) const { return static_cast<Index>(lists_[c].members.size()); }
  double score(Index c, Index place) const { return lists_[c].scores[place]; }
  // 1 - s_y + s_c, where s are the scores of the member and y is its class.
  double error(const Member& member, Index c, Index place) const {
    return 1 - score(member.label, member.place) + score(c, place);
  }
  // The kernel values of a place in a list with the others.
  const Real* row(Index c, Index place) const {
    return &values_[lists_[c].start + place * lists_[c].stride];
  }

  // Adds to the coefficient of class c of a member with this place in its list.
  void add(Index c, Index place, double change) {
    const Real* values = row(c, place);
    add_scaled(&values, &change, 1, static_cast<Index>(lists_[c].stride), lists_[c].scores.data());
  }
  // scores[t] += sum_r changes[r] K(places[r], t), for the places t in the list of class c.
  template <class Sum>
  void add_rows(Index c, std::span<const Index> places, const Sum* changes, Sum* scores) const {
    rows_.clear();
    for (Index place : places) rows_.push_back(row(c, place));
    add_scaled(rows_.data(), changes, static_cast<Index>(rows_.size()), size_of(c), scores);
  }
  double* scores(Index c) { return lists_[c].scores.data(); }

 private:
  // A row takes whole cache lines.
  static std::size_t padded(std::size_t size) {
    constexpr std::size_t line = 64 / sizeof(Real);
    return (size + line - 1) / line * line;
  }

  struct List {
    std::vector<Index> members;
    std::vector<double> scores;
    std::size_t stride = 0, start = 0;  // of its values
  };

  std::size_t end_of(Index m) const {
    return m + 1 < size() ? members_[m + 1].first : variables_.size();
  }

  // The values are whatever was in memory: writing zeros first would take a noticeable time.
  void allocate(std::size_t size) {
    if (size <= allocated_) return;
    release_memory();
    values_.reset(new Real[size]);
    allocated_ = size;
  }

  void enter(Index c, double score) {
    const std::size_t before = lists_[c].members.size();
    values_needed_ += (before + 1) * padded(before + 1) - before * padded(before);
    lists_[c].members.push_back(size() - 1);
    lists_[c].scores.push_back(score);
  }

  std::vector<Member> members_;
  std::vector<Variable> variables_;
  std::vector<List> lists_;
  std::unique_ptr<Real[]> values_;
  std::size_t allocated_ = 0, values_needed_ = 0;
  mutable std::vector<const Real*> rows_;
};

}  // namespace softmargin::all_classes
