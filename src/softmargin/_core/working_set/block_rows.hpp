// The kernel values of the members of a block with each other. A member has a slot and keeps it
// from one block to the next, so that only the rows and columns of newcomers are computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../kernel_matrix.hpp"
#include "small_problem.hpp"

namespace softmargin {

struct BlockMember {
  Index example;
  std::int64_t entered;  // the larger the newer
};

inline constexpr Index nobody = -1;

template <class Real>
class BlockRows {
 public:
  // A block has at most this many members.
  explicit BlockRows(Index most) : most_(most), matrix_(most + cache_line) {}

  Index most() const { return most_; }
  const std::vector<BlockMember>& members() const { return members_; }  // by slot
  SmallMatrix<Real>& matrix() { return matrix_; }

  // Forgets all members.
  void clear() { members_.clear(); }

  // Forgets all members and frees the memory, until the next update.
  void release_memory() {
    clear();
    matrix_.values.reset();
    spare_ = {}, computed_ = {};
  }

  // `positions` has the members of the last block that stay, by slot, and `nobody` in the slots of
  // the others. Newcomers take the first empty slots. If they are too few, members of the last
  // slots, none of which is a newcomer, move to the empty ones.
  void enter(const std::vector<Index>& newcomers, std::vector<Index>& positions,
             const Order& order) {
    fresh_.clear();
    std::size_t slot = 0;
    for (Index newcomer : newcomers) {
      while (slot < positions.size() && positions[slot] != nobody) ++slot;
      if (slot == positions.size()) positions.push_back(nobody);
      positions[slot] = newcomer;
      fresh_.push_back(static_cast<Index>(slot));
    }
    members_.resize(positions.size());
    for (Index slot : fresh_) members_[slot] = {order.example_at[positions[slot]], ++entries_};
    for (std::size_t slot = 0; slot < positions.size(); ++slot) {
      while (!positions.empty() && positions.back() == nobody) positions.pop_back();
      if (slot >= positions.size() || positions[slot] != nobody) continue;
      const Index last = static_cast<Index>(positions.size()) - 1;
      matrix_.move(last, static_cast<Index>(slot), last + 1);
      members_[slot] = members_[last];
      positions[slot] = positions[last];
      positions.pop_back();
    }
    members_.resize(positions.size());
  }

  // Fills in the rows and columns of newcomers, from cached rows if possible. Those of the other
  // members are there already.
  void update(KernelMatrix<Real>& matrix, const std::vector<Index>& positions, Index active) {
    if (!matrix_.values) matrix_.allocate();
    matrix_.diagonals.clear();
    for (Index position : positions) matrix_.diagonals.push_back(matrix.diagonal()[position]);
    const std::size_t size = positions.size(), count = fresh_.size();
    if (count == 0) return;
    spare_.resize(count * size);
    std::vector<Index> missing;
    std::vector<std::size_t> places;
    for (std::size_t f = 0; f < count; ++f) {
      const Index newcomer = positions[fresh_[f]];
      if (const Real* row = matrix.held(newcomer, active)) {
        for (std::size_t r = 0; r < size; ++r) spare_[f * size + r] = row[positions[r]];
      } else {
        missing.push_back(newcomer), places.push_back(f);
      }
    }
    computed_.resize(missing.size() * size);
    if (!missing.empty()) matrix.submatrix(missing, positions, computed_.data());
    for (std::size_t m = 0; m < places.size(); ++m)
      std::copy_n(&computed_[m * size], size, &spare_[places[m] * size]);
    std::vector<char> is_fresh(size, 0);
    for (std::size_t f = 0; f < count; ++f) {
      std::copy_n(&spare_[f * size], size, matrix_.at(fresh_[f]));
      is_fresh[fresh_[f]] = 1;
    }
    std::vector<Index> others;
    for (std::size_t r = 0; r < size; ++r)
      if (!is_fresh[r]) others.push_back(static_cast<Index>(r));
    constexpr std::size_t tile = 16;  // a transpose, in pieces that stay in the cache
    for (std::size_t first = 0; first < others.size(); first += tile)
      for (std::size_t f = 0; f < count; ++f)
        for (std::size_t k = first; k < std::min(first + tile, others.size()); ++k)
          matrix_.at(others[k])[fresh_[f]] = spare_[f * size + others[k]];
  }

 private:
  // In values. Rows as long as a block, often a power of two, would put a column of the matrix into
  // very few places of the processor's cache.
  static constexpr Index cache_line = 64 / sizeof(Real);

  const Index most_;
  std::vector<BlockMember> members_;
  std::vector<Index> fresh_;  // slots of newcomers
  std::int64_t entries_ = 0;
  SmallMatrix<Real> matrix_;
  std::vector<Real> spare_;     // rows of newcomers, before they are put in place
  std::vector<Real> computed_;  // those of them that are not in the cache
};

}  // namespace softmargin
