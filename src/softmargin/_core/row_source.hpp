// Where rows of the kernel matrix come from: examples and a kernel function, or a given matrix.
// (Rows asked of a Python function are in module.cpp, next to the interpreter.)
#pragma once

#include <vector>

#include "examples.hpp"
#include "kernel.hpp"

namespace softmargin {

template <class Real>
class RowSource {
 public:
  virtual ~RowSource() = default;

  // out[r * stride + c] = K(rows[r], columns[c]).
  virtual void compute(const Index* rows, Index size, const Index* columns, Index columns_size,
                       Real* out, std::ptrdiff_t stride) = 0;
  virtual double diagonal(Index row) = 0;
  // How many columns to ask for at a time, when rows are asked for in batches.
  virtual Index tile() const { return 4096; }
};

template <class Real>
class ExampleRows final : public RowSource<Real> {
 public:
  ExampleRows(const Examples<Real>& examples, Kernel kernel)
      : examples_(examples), kernel_(kernel) {}

  void compute(const Index* rows, Index size, const Index* columns, Index columns_size, Real* out,
               std::ptrdiff_t stride) override {
    examples_.load(rows, size, batch_);
    examples_.multiply(batch_, columns, columns_size, out, stride);
    column_norms_.resize(columns_size);
    for (Index c = 0; c < columns_size; ++c) column_norms_[c] = examples_.squared_norms[columns[c]];
    for (Index r = 0; r < size; ++r)
      kernel_.apply(out + r * stride, columns_size, examples_.squared_norms[rows[r]], column_norms_.data());
  }

  double diagonal(Index row) override { return kernel_.diagonal(examples_.squared_norms[row]); }

 private:
  const Examples<Real>& examples_;
  const Kernel kernel_;
  Batch<Real> batch_;
  std::vector<double> column_norms_;
};

template <class Value, class Real>
class PrecomputedRows final : public RowSource<Real> {
 public:
  PrecomputedRows(const Value* matrix, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride)
      : matrix_(matrix), row_stride_(row_stride), column_stride_(column_stride) {}

  void compute(const Index* rows, Index size, const Index* columns, Index columns_size, Real* out,
               std::ptrdiff_t stride) override {
    for (Index r = 0; r < size; ++r)
      for (Index c = 0; c < columns_size; ++c)
        out[r * stride + c] = static_cast<Real>(at(rows[r], columns[c]));
  }

  double diagonal(Index row) override { return at(row, row); }

 private:
  Value at(Index row, Index column) const {
    return matrix_[row * row_stride_ + column * column_stride_];
  }

  const Value* matrix_;
  const std::ptrdiff_t row_stride_, column_stride_;
};

}  // namespace softmargin
