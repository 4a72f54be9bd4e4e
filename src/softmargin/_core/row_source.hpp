// Where rows of the kernel matrix come from: examples and a kernel function, or a given matrix.
// (Rows asked of a Python function are in module.cpp, next to the interpreter.)
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "examples.hpp"
#include "kernel.hpp"

namespace softmargin {

template <class Real>
struct Workspace {  // one a thread
  std::vector<Real> tile, norms;
};

template <class Real>
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Makes `rows` the batch that fill() is asked for, until the next load().
  virtual void load(const Index* rows, Index size) = 0;

  // out[r * stride + c] = K(loaded row r, columns[c]). Several threads may call it at once.
  virtual void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
                    Workspace<Real>& workspace) const = 0;

  virtual double diagonal(Index row) const = 0;

  // What one kernel value costs, in multiplications, roughly.
  virtual double cost() const = 0;

  // How far a kernel value of these rows is off by rounding, roughly.
  virtual double rounding(const Index* rows, Index size) const = 0;
};

template <class Real>
class ExampleRows final : public RowSource<Real> {
 public:
  ExampleRows(const Examples<Real>& examples, Kernel kernel)
      : examples_(examples), kernel_(kernel) {}

  void load(const Index* rows, Index size) override {
    rows_.assign(rows, rows + size);
    examples_.load(rows, size, batch_);
  }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>& workspace) const override {
    examples_.multiply(batch_, columns, size, out, stride, workspace.tile);
    workspace.norms.resize(size);
    for (Index c = 0; c < size; ++c)
      workspace.norms[c] = static_cast<Real>(examples_.squared_norms[columns[c]]);
    for (std::size_t r = 0; r < rows_.size(); ++r)
      kernel_.apply(out + r * stride, size, examples_.squared_norms[rows_[r]],
                    workspace.norms.data());
  }

  double diagonal(Index row) const override {
    return kernel_.diagonal(examples_.squared_norms[row]);
  }

  double cost() const override { return examples_.features; }

  double rounding(const Index* rows, Index size) const override {
    double sum = 0;
    for (Index r = 0; r < size; ++r) sum += examples_.squared_norms[rows[r]];
    using Limits = std::numeric_limits<Real>;
    // What is lost of a small number is relative to it, and below the smallest normal one not.
    return kernel_.rounding(sum / size, Limits::epsilon() / 2) + Limits::min();
  }

 private:
  const Examples<Real>& examples_;
  const Kernel kernel_;
  std::vector<Index> rows_;
  Batch<Real> batch_;
};

template <class Value, class Real>
class PrecomputedRows final : public RowSource<Real> {
 public:
  PrecomputedRows(const Value* matrix, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride)
      : matrix_(matrix), row_stride_(row_stride), column_stride_(column_stride) {}

  void load(const Index* rows, Index size) override { rows_.assign(rows, rows + size); }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>&) const override {
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (Index c = 0; c < size; ++c)
        out[r * stride + c] = static_cast<Real>(at(rows_[r], columns[c]));
  }

  double diagonal(Index row) const override { return at(row, row); }

  double cost() const override { return 1; }

  double rounding(const Index* rows, Index size) const override {
    double largest = 0;
    for (Index r = 0; r < size; ++r)
      largest = std::max<double>(largest, std::abs(at(rows[r], rows[r])));
    return largest * std::numeric_limits<Real>::epsilon() / 2;
  }

 private:
  Value at(Index row, Index column) const {
    return matrix_[row * row_stride_ + column * column_stride_];
  }

  const Value* matrix_;
  const std::ptrdiff_t row_stride_, column_stride_;
  std::vector<Index> rows_;
};

}  // namespace softmargin
