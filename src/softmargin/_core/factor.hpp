// The Cholesky factor of a symmetric matrix that may be singular, and its update when rows and
// columns are removed from the matrix:
//
//   L L' = A + E,   E diagonal, zero except where a pivot of A would be below a floor.
//
// A pivot below the floor is raised to it, so that solutions stay bounded where A has no curvature.
// A pivot far below zero shows that A is not positive semidefinite; then there is no factor.
//
// A is kept above the diagonal, L on and below it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "interruption.hpp"
#include "products.hpp"

namespace softmargin {

class Factor {
 public:
  // Makes space for a matrix of this size; at(i, j) for j > i and diagonal(i) are to be filled in.
  void resize(Index size) {
    size_ = size;
    values_.resize(static_cast<std::size_t>(size) * size);
    diagonal_.resize(size);
  }

  Index size() const { return size_; }
  bool is_exact() const { return exact_; }  // no pivot was raised, and there was no ridge
  double& at(Index i, Index j) { return row(i)[j]; }
  double& diagonal(Index i) { return diagonal_[i]; }

  // Factors A + shift [groups[i] == groups[j]] + ridge I. False: not positive semidefinite, or
  // stopped.
  bool factor(const std::vector<int>& groups, double shift, double floor, double least_pivot,
              Interruption& interruption, double ridge = 0) {
    copy_below(groups, shift, ridge);
    exact_ = ridge == 0;
    // Columns that are eliminated at a time; with more, a large matrix is read less often.
    const Index width = size_ <= 500 ? 16 : size_ <= 1000 ? 48 : 96;
    for (Index begin = 0; begin < size_; begin += width) {
      interruption.ask(0);
      if (interruption.stopped()) return false;
      const Index end = std::min(begin + width, size_);
      if (!factor_square(begin, end, floor, least_pivot)) return false;
      solve_below(begin, end);
      update(begin, end);
    }
    return true;
  }

  // Each x becomes (L L')^-1 x. Several at a time, because reading L takes most of the time.
  void solve(const std::vector<double*>& vectors) const {
    for (Index i = 0; i < size_; ++i)
      for (double* x : vectors) x[i] = (x[i] - dot(row(i), x, i)) / row(i)[i];
    for (Index i = size_; i-- > 0;)
      for (double* x : vectors) {
        const double *l = row(i), value = x[i] /= l[i];
        if (value != 0)
          for (Index j = 0; j < i; ++j) x[j] -= value * l[j];
      }
  }

  // out = A x.
  void multiply(const std::vector<double>& x, std::vector<double>& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (Index i = 0; i < size_; ++i) {
      const double *a = row(i), value = x[i];
      out[i] += diagonal_[i] * value + dot(a + i + 1, x.data() + i + 1, size_ - i - 1);
      if (value != 0)
        for (Index j = i + 1; j < size_; ++j) out[j] += value * a[j];
    }
  }

  // x += scale times column j of A.
  void add_column(Index j, double scale, std::vector<double>& x) const {
    for (Index i = 0; i < j; ++i) x[i] += scale * row(i)[j];
    x[j] += scale * diagonal_[j];
    const double* a = row(j);
    for (Index i = j + 1; i < size_; ++i) x[i] += scale * a[i];
  }

  // Removes row and column j from L L'. Their place stays: a solution is zero there if x is.
  // Rotations move column j of the rows below into the columns after it.
  void remove(Index j) {
    const Index count = size_ - j - 1;
    column_.resize(count), cosine_.resize(count), sine_.resize(count);
    for (Index i = 0; i < count; ++i) {
      column_[i] = row(j + 1 + i)[j];
      row(j + 1 + i)[j] = 0;
    }
    std::fill_n(row(j), j, 0.0);
    row(j)[j] = 1;
    for (Index i = 0; i < count; i += together) {
      const Index end = std::min(i + together, count);
      if (end - i == together) rotate_together(i, j + 1);
      for (Index r = i; r < end; ++r) rotate(r, end - i == together ? i : 0, j + 1);
    }
  }

  // Keeps the rows and columns of A with these numbers, in ascending order; L is lost.
  void keep(const std::vector<Index>& numbers) {
    const Index size = static_cast<Index>(numbers.size());
    for (Index i = 0; i < size; ++i) {
      const double* from = row(numbers[i]);
      double* to = &values_[static_cast<std::size_t>(i) * size];
      diagonal_[i] = diagonal_[numbers[i]];
      for (Index j = i + 1; j < size; ++j) to[j] = from[numbers[j]];
    }
    size_ = size;
  }

 private:
  static constexpr Index together = 4;  // rows that are rotated side by side

  double* row(Index i) { return &values_[static_cast<std::size_t>(i) * size_]; }
  const double* row(Index i) const { return &values_[static_cast<std::size_t>(i) * size_]; }

  // L begins as A. In tiles, because the values of a column of A are far apart in memory.
  void copy_below(const std::vector<int>& groups, double shift, double ridge) {
    constexpr Index tile = 32;
    for (Index top = 0; top < size_; top += tile)
      for (Index left = 0; left <= top; left += tile)
        for (Index i = top; i < std::min(top + tile, size_); ++i) {
          double* to = row(i);
          for (Index j = left; j < std::min(left + tile, i); ++j)
            to[j] = row(j)[i] + (groups[i] == groups[j] ? shift : 0.0);
        }
    for (Index i = 0; i < size_; ++i) row(i)[i] = diagonal_[i] + shift + ridge;
  }

  // In lanes, so that it does not wait for one sum; the lanes do not depend on the processor.
  static double dot(const double* a, const double* b, Index size) {
    double sums[16] = {};
    Index k = 0;
    for (; k + 16 <= size; k += 16)
      for (int l = 0; l < 16; ++l) sums[l] += a[k + l] * b[k + l];
    for (; k < size; ++k) sums[0] += a[k] * b[k];
    for (int half = 8; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) sums[l] += sums[l + half];
    return sums[0];
  }

  bool factor_square(Index begin, Index end, double floor, double least_pivot) {
    for (Index i = begin; i < end; ++i) {
      double* l = row(i);
      for (Index j = begin; j < i; ++j)
        l[j] = (l[j] - dot(l + begin, row(j) + begin, j - begin)) / row(j)[j];
      const double pivot = l[i] - dot(l + begin, l + begin, i - begin);
      if (!(pivot >= least_pivot)) return false;
      exact_ = exact_ && pivot >= floor;
      l[i] = std::sqrt(std::max(pivot, floor));
    }
    return true;
  }

  // The rows below the square [begin, end): times the inverse of its factor, as a product of
  // matrices.
  void solve_below(Index begin, Index end) {
    const Index rows = size_ - end, depth = end - begin;
    if (rows == 0) return;
    square_.assign(static_cast<std::size_t>(depth) * depth, 0.0);
    for (Index i = 0; i < depth; ++i) {
      const double *l = row(begin + i) + begin, scale = 1 / l[i];
      double* to = &square_[static_cast<std::size_t>(i) * depth];
      for (Index k = 0; k < i; ++k)
        for (Index j = 0; j <= k; ++j) to[j] -= scale * l[k] * square_[k * depth + j];
      to[i] = scale;
    }
    using P = Panel<double>;
    pack<P::left>(row(end) + begin, size_, rows, depth, 1.0, left_);
    pack<P::right>(square_.data(), depth, depth, depth, 1.0, right_);
    multiply_packed<Products>(rows, depth, depth, left_.data(), right_.data(), row(end) + begin,
                              size_);
  }

  // Applies the rotations [0, count) to the rows from number first + count on.
  void rotate_together(Index count, Index first) {
    double *rows[together], x[together];
    for (Index r = 0; r < together; ++r) {
      rows[r] = row(first + count + r) + first;
      x[r] = column_[count + r];
    }
    for (Index k = 0; k < count; ++k) {
      const double c = cosine_[k], s = sine_[k];
      for (Index r = 0; r < together; ++r) {
        const double l = rows[r][k];
        rows[r][k] = c * l + s * x[r];
        x[r] = c * x[r] - s * l;
      }
    }
    std::copy_n(x, together, &column_[count]);
  }

  // Applies the rotations [begin, r) to row r, and finds the next one.
  void rotate(Index r, Index begin, Index first) {
    double *values = row(first + r) + first, x = column_[r];
    for (Index k = begin; k < r; ++k) {
      const double l = values[k];
      values[k] = cosine_[k] * l + sine_[k] * x;
      x = cosine_[k] * x - sine_[k] * l;
    }
    const double length = std::sqrt(values[r] * values[r] + x * x);
    cosine_[r] = values[r] / length, sine_[r] = x / length;
    values[r] = length;
  }

  // Subtracts the product of the columns [begin, end) of L with themselves from what is below.
  void update(Index begin, Index end) {
    using P = Panel<double>;
    const Index rows = size_ - end, depth = end - begin;
    if (rows == 0) return;
    pack<P::left>(row(end) + begin, size_, rows, depth, -1.0, left_);
    pack<P::right>(row(end) + begin, size_, rows, depth, 1.0, right_);
    constexpr Index band = 8 * P::left;  // rows of which parts stay in the cache
    for (Index top = 0; top < rows; top += band)
      for (Index j = 0; j < std::min(top + band, rows); j += P::right)
        for (Index i = std::max(top, j / P::left * P::left); i < std::min(top + band, rows);
             i += P::left) {
          const double *l = &left_[static_cast<std::size_t>(i) * depth],
                       *r = &right_[static_cast<std::size_t>(j) * depth];
          if (i + P::left <= rows && j + P::right <= i + 1) {
            multiply_panels<Products>(depth, l, r, true, row(end + i) + end + j, size_);
          } else {
            add_edge(l, r, i, j, end, depth);
          }
        }
  }

  // A tile that reaches beyond the triangle, where A is.
  void add_edge(const double* l, const double* r, Index i, Index j, Index end, Index depth) {
    using P = Panel<double>;
    double tile[P::left * P::right];
    multiply_panels<Products>(depth, l, r, false, tile, P::right);
    for (Index a = i; a < std::min<Index>(i + P::left, size_ - end); ++a)
      for (Index b = j; b <= a && b < j + P::right; ++b)
        row(end + a)[end + b] += tile[(a - i) * P::right + b - j];
  }

  // Rows of `depth` values, in panels of `width` and times `sign`.
  template <int width>
  static void pack(const double* from, Index stride, Index rows, Index depth, double sign,
                   std::vector<double>& panels) {
    panels.assign(Panel<double>::size(rows, width, depth), 0.0);
    for (Index i = 0; i < rows; ++i, from += stride) {
      double* to = &panels[static_cast<std::size_t>(i / width) * width * depth + i % width];
      for (Index f = 0; f < depth; ++f) to[f * width] = sign * from[f];
    }
  }

  Index size_ = 0;
  bool exact_ = true;
  std::vector<double> values_, diagonal_;
  std::vector<double> left_, right_, square_;
  std::vector<double> column_, cosine_, sine_;
};

}  // namespace softmargin
