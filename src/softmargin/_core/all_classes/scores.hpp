// Adds the rows of examples whose coefficients changed to the scores of others:
//
//   scores(c, t) += sum_r change(r, c) K(r, t)
//
// A change usually involves few classes; only those are updated.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "../kernel_matrix.hpp"
#include "problem.hpp"

namespace softmargin::all_classes {

// The changes of the coefficients of some examples: a row for each.
class Changes {
 public:
  explicit Changes(Index classes) : classes_(classes) {}

  // Begins the next row.
  void begin_row() { starts_.push_back(entries_.size()); }
  void add(Index c, double change) { entries_.push_back({c, change}); }

  // To be called after the last row and before add_rows().
  void finish() { starts_.push_back(entries_.size()); }

  std::size_t entries() const { return entries_.size(); }

  // rows[r] has `size` kernel values of row which[r] of the changes, for the examples from `begin`
  // on.
  template <class Real>
  void add_rows(const Real* const* rows, const Index* which, Index count, Index size, Index begin,
                Table& scores) const {
    const Sorted sorted = by_class(which, count);
    std::vector<const Real*> pointers(sorted.scales.size());
    for (Index t = 0; t < size; t += tile) {
      for (std::size_t e = 0; e < pointers.size(); ++e) pointers[e] = rows[sorted.rows[e]] + t;
      for (Index c = 0; c < classes_; ++c) {
        const Index first = sorted.starts[c], entries = sorted.starts[c + 1] - first;
        if (entries > 0)
          add_scaled(&pointers[first], &sorted.scales[first], entries, std::min(tile, size - t),
                     scores.row(c) + begin + t);
      }
    }
  }

 private:
  static constexpr Index tile = 128;  // examples; the rows of a batch then stay in the cache

  struct Entry {
    Index cls;
    double change;
  };
  struct Sorted {
    std::vector<Index> starts, rows;
    std::vector<double> scales;
  };

  // The entries of some rows, class after class.
  Sorted by_class(const Index* which, Index count) const {
    Sorted sorted;
    sorted.starts.assign(classes_ + 1, 0);
    for (Index r = 0; r < count; ++r)
      for (std::size_t e = starts_[which[r]]; e < starts_[which[r] + 1]; ++e)
        ++sorted.starts[entries_[e].cls + 1];
    for (Index c = 0; c < classes_; ++c) sorted.starts[c + 1] += sorted.starts[c];
    sorted.rows.resize(sorted.starts[classes_]);
    sorted.scales.resize(sorted.starts[classes_]);
    std::vector<Index> next(sorted.starts.begin(), sorted.starts.end() - 1);
    for (Index r = 0; r < count; ++r)
      for (std::size_t e = starts_[which[r]]; e < starts_[which[r] + 1]; ++e) {
        const Index place = next[entries_[e].cls]++;
        sorted.rows[place] = r;
        sorted.scales[place] = entries_[e].change;
      }
    return sorted;
  }

  const Index classes_;
  std::vector<std::size_t> starts_;
  std::vector<Entry> entries_;
};

}  // namespace softmargin::all_classes
