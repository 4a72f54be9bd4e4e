// Where rows of the kernel matrix come from: examples and a kernel function, or a given matrix.
// (Rows computed by a Python function are in binding/row_sources.hpp.)
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "examples.hpp"
#include "kernel.hpp"

namespace softmargin {

template <class Real>
struct Workspace {  // one per thread
  std::vector<Real> tile, norms;
};

template <class Real>
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Sets the rows for which fill() computes kernel values, until the next load().
  virtual void load(const Index* rows, Index size) = 0;

  // out[r * stride + c] = K(loaded row r, columns[c]). Several threads may call it at once.
  virtual void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
                    Workspace<Real>& workspace) const = 0;

  // All rows one after another, where they are in memory; else null.
  virtual const Real* stored() const { return nullptr; }

  virtual double diagonal(Index row) const = 0;

  // The approximate cost of one kernel value, in multiplications.
  virtual double cost() const = 0;

  // An estimate of the rounding error in sum_r coefficients[r] K(x, rows[r]), for x among the rows.
  virtual double rounding(const Index* rows, const double* coefficients, Index size) const = 0;
};

// The same estimate for given kernel values, whose only error is their rounding to Real.
template <class Real>
double rounding_of_given(double largest_value, const double* coefficients, Index size) {
  RoundingOfSum rounding;
  for (Index r = 0; r < size; ++r) rounding.add(coefficients[r]);
  return std::numeric_limits<Real>::epsilon() / 2 * largest_value * rounding.estimate(0);
}

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

  double rounding(const Index* rows, const double* coefficients, Index size) const override {
    double mean = 0;
    RoundingOfSum rounding;
    for (Index r = 0; r < size; ++r) mean += examples_.squared_norms[rows[r]] / size;
    for (Index r = 0; r < size; ++r) {
      if (coefficients[r] == 0) continue;
      const double norm = examples_.squared_norms[rows[r]];
      rounding.add(coefficients[r] * kernel_.template rounding<Real>(mean, norm));
    }
    return rounding.estimate(examples_.terms);
  }

 private:
  const Examples<Real>& examples_;
  const Kernel kernel_;
  std::vector<Index> rows_;
  Batch<Real> batch_;
};

// A square matrix in memory, row after row.
template <class Real>
class StoredRows final : public RowSource<Real> {
 public:
  StoredRows(const Real* matrix, Index size) : matrix_(matrix), size_(size) {}

  void load(const Index* rows, Index size) override { rows_.assign(rows, rows + size); }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>&) const override {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Real* row = matrix_ + static_cast<std::size_t>(rows_[r]) * size_;
      for (Index c = 0; c < size; ++c) out[r * stride + c] = row[columns[c]];
    }
  }

  const Real* stored() const override { return matrix_; }

  double diagonal(Index row) const override {
    return matrix_[static_cast<std::size_t>(row) * (size_ + std::size_t{1})];
  }

  double cost() const override { return 1; }

  double rounding(const Index* rows, const double* coefficients, Index size) const override {
    double largest = 0;
    for (Index r = 0; r < size; ++r) largest = std::max(largest, std::abs(diagonal(rows[r])));
    return rounding_of_given<Real>(largest, coefficients, size);
  }

 private:
  const Real* matrix_;
  const Index size_;
  std::vector<Index> rows_;
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

  double rounding(const Index* rows, const double* coefficients, Index size) const override {
    double largest = 0;
    for (Index r = 0; r < size; ++r)
      largest = std::max<double>(largest, std::abs(at(rows[r], rows[r])));
    return rounding_of_given<Real>(largest, coefficients, size);
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
