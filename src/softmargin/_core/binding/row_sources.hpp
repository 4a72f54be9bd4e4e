// The binding of examples and of where kernel rows come from, for rows in float32 or float64.
#pragma once

#include <nanobind/stl/string.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../kernel_matrix.hpp"
#include "../row_source.hpp"
#include "arrays.hpp"

namespace softmargin {

inline KernelFunction kernel_function(const std::string& name) {
  if (name == "linear") return KernelFunction::linear;
  if (name == "poly") return KernelFunction::polynomial;
  if (name == "rbf") return KernelFunction::rbf;
  if (name == "sigmoid") return KernelFunction::sigmoid;
  throw std::invalid_argument("unknown kernel " + name);
}

// Lets Python handle Ctrl-C during a long call. Python handles signals in the main thread only; in
// other threads this does nothing.
inline void handle_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Rows computed by a Python function: values(rows) returns full rows as a C-ordered float64 array.
template <class Real>
class FunctionRows final : public RowSource<Real> {
 public:
  FunctionRows(nb::callable values, std::vector<double> diagonal)
      : values_(std::move(values)), diagonal_(std::move(diagonal)) {}

  void load(const Index* rows, Index size) override {
    nb::gil_scoped_acquire gil;
    const auto answer = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig>>(
        values_(to_numpy(std::vector<Index>(rows, rows + size), {static_cast<std::size_t>(size)})));
    size_ = size;
    loaded_.assign(answer.data(), answer.data() + answer.size());
  }

  void fill(const Index* columns, Index size, Real* out, std::ptrdiff_t stride,
            Workspace<Real>&) const override {
    for (Index r = 0; r < size_; ++r)
      for (Index c = 0; c < size; ++c)
        out[r * stride + c] = static_cast<Real>(loaded_[r * diagonal_.size() + columns[c]]);
  }

  double diagonal(Index row) const override { return diagonal_[row]; }

  double cost() const override { return 1; }

  double rounding(const Index*, const double* coefficients, Index size) const override {
    return rounding_of_given<Real>(*std::max_element(diagonal_.begin(), diagonal_.end()),
                                   coefficients, size);
  }

 private:
  nb::callable values_;
  std::vector<double> diagonal_, loaded_;
  Index size_ = 0;
};

// sums[k] = sum_r coefficients[r] K(vectors[r], points[k]), of rows of the source.
template <class Real>
auto sums_at(RowSource<Real>& rows, Column<Index> points, Column<Index> vectors,
             Column<double> coefficients, int threads) {
  if (vectors.size() != coefficients.size())
    throw std::invalid_argument("vectors and coefficients do not fit together");
  std::vector<Index> ids = to_vector(points), positions(vectors.size());
  ids.insert(ids.end(), vectors.data(), vectors.data() + vectors.size());
  std::iota(positions.begin(), positions.end(), static_cast<Index>(points.size()));
  const std::vector<double> scales = to_vector(coefficients);
  std::vector<double> sums(points.size(), 0.0);
  {
    nb::gil_scoped_release release;
    KernelMatrix<Real> matrix(rows, std::move(ids), 0, threads, handle_signals);
    matrix.accumulate(positions, scales, 0, static_cast<Index>(sums.size()), sums.data());
  }
  return to_numpy(std::move(sums), {points.size()});
}

template <class Value>
void check_rows_contiguous(const Input<Value, 2>& X) {
  if (X.shape(0) > 0 && X.shape(1) > 1 && X.stride(1) != 1)
    throw std::invalid_argument("the values of a row of X must be contiguous");
}

template <class Value>
auto means_of(Input<Value, 2> X) {
  check_rows_contiguous(X);
  return to_numpy(
      means(X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0)),
      {X.shape(1)});
}

template <class Value, class Real>
void bind_dense(nb::class_<Examples<Real>>& examples, nb::class_<RowSource<Real>>& rows) {
  // X has contiguous rows; centre is empty or has one value per feature. Differences need none.
  if constexpr (std::is_same_v<Real, double>)
    examples.def_static(
        "dense_differences",
        [](Input<Value, 2> X) -> Examples<double>* {
          check_rows_contiguous(X);
          return new DenseExamples<Value, double, Differences>(
              X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0),
              nullptr);
        },
        "X"_a.noconvert(), nb::keep_alive<0, 1>());
  examples.def_static(
      "dense",
      [](Input<Value, 2> X, Column<double> centre) -> Examples<Real>* {
        check_rows_contiguous(X);
        return new DenseExamples<Value, Real>(X.data(), static_cast<Index>(X.shape(0)),
                                              static_cast<Index>(X.shape(1)), X.stride(0),
                                              centre.size() ? centre.data() : nullptr);
      },
      "X"_a.noconvert(), "centre"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "precomputed",
      [](Input<Value, 2> matrix) -> RowSource<Real>* {
        return new PrecomputedRows<Value, Real>(matrix.data(), matrix.stride(0), matrix.stride(1));
      },
      "matrix"_a.noconvert(), nb::keep_alive<0, 1>());
}

template <class Value, class Offset, class Real>
void bind_csr(nb::class_<Examples<Real>>& examples) {
  if constexpr (std::is_same_v<Real, double>)
    examples.def_static(
        "csr_differences",
        [](Column<Value> data, Column<Offset> indices, Column<Offset> starts,
           Index features) -> Examples<double>* {
          return new SparseDifferences<Value, Offset>(data.data(), indices.data(), starts.data(),
                                                      static_cast<Index>(starts.size() - 1),
                                                      features);
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
  examples.def_static(
      "csr",
      [](Column<Value> data, Column<Offset> indices, Column<Offset> starts,
         Index features) -> Examples<Real>* {
        return new SparseExamples<Value, Offset, Real>(data.data(), indices.data(), starts.data(),
                                                       static_cast<Index>(starts.size() - 1),
                                                       features);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "features"_a,
      nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
}

template <class Real>
void bind_row_sources(nb::module_ m) {
  nb::class_<Examples<Real>> examples(m, "Examples");
  nb::class_<RowSource<Real>> rows(m, "Rows");
  rows.def(
      "rounding",
      [](const RowSource<Real>& source, Column<Index> ids, Column<double> coefficients) {
        if (ids.size() != coefficients.size())
          throw std::invalid_argument("ids and coefficients do not fit together");
        return source.rounding(ids.data(), coefficients.data(), static_cast<Index>(ids.size()));
      },
      "ids"_a, "coefficients"_a);
  rows.def("sums", &sums_at<Real>, "points"_a, "vectors"_a, "coefficients"_a, "threads"_a);
  bind_dense<float, Real>(examples, rows);
  bind_dense<double, Real>(examples, rows);
  bind_csr<float, std::int32_t, Real>(examples);
  bind_csr<float, std::int64_t, Real>(examples);
  bind_csr<double, std::int32_t, Real>(examples);
  bind_csr<double, std::int64_t, Real>(examples);
  rows.def_static(
      "examples",
      [](const Examples<Real>& examples, const std::string& function, double gamma, double coef0,
         int degree) -> RowSource<Real>* {
        return new ExampleRows<Real>(examples, {kernel_function(function), gamma, coef0, degree});
      },
      "examples"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a, nb::keep_alive<0, 1>());
  rows.def_static(
      "function",
      [](nb::callable values, Column<double> diagonal) -> RowSource<Real>* {
        return new FunctionRows<Real>(std::move(values), to_vector(diagonal));
      },
      "values"_a, "diagonal"_a);
}

}  // namespace softmargin
