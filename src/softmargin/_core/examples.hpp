// Dense and CSR examples behind one interface: "multiply this batch of rows with those examples".
//
// A batch is loaded once and then multiplied with any number of examples, perhaps by several
// threads. Values are converted to the working precision one tile at a time, so the data are never
// copied as a whole. Dense examples may be centred: this does not change translation-invariant
// kernels, and their squared distances |a|^2 + |b|^2 - 2 a'b then lose fewer digits.
//
// If that is not enough, a "product" is minus half the sum of squared differences, and all norms
// are zero: the same formula then gives the squared distance to full precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "products.hpp"

namespace softmargin {

template <class Real>
struct Batch {
  Index size = 0;
  bool in_order = false;       // sum the products of a single row in the same order as of many
  std::vector<Real> values;    // dense: packed left panels; CSR: present features x size
  std::vector<Index> slot;     // CSR: feature -> its row of `values`; -1 if zero in the whole batch
  std::vector<Index> present;  // CSR: the features that have a slot
  std::vector<std::size_t> starts;  // CSR differences: where rows begin in `values` and `present`
};

template <class Real>
class Examples {
 public:
  Examples(Index count, Index features) : count(count), features(features) {}
  virtual ~Examples() = default;

  virtual void load(const Index* rows, Index size, Batch<Real>& batch) const = 0;

  // out[r * stride + c] = <batch row r, example columns[c]>. `scratch` belongs to the caller.
  virtual void multiply(const Batch<Real>& batch, const Index* columns, Index size, Real* out,
                        std::ptrdiff_t stride, std::vector<Real>& scratch) const = 0;

  const Index count, features;
  std::vector<double> squared_norms;
  Index terms = 0;  // the most terms of a product that are added one after another
};

template <class Value, class Real, class Terms = Products>
class DenseExamples final : public Examples<Real> {
 public:
  DenseExamples(const Value* data, Index count, Index features, std::ptrdiff_t row_stride,
                const double* centre)
      : Examples<Real>(count, features), data_(data), row_stride_(row_stride) {
    if (centre) centre_.assign(centre, centre + features);
    centre_.resize(features, 0.0);
    this->terms = std::min(features, depth);
    this->squared_norms.resize(count, 0.0);
    if constexpr (std::is_same_v<Terms, Products>)
      for (Index row = 0; row < count; ++row) this->squared_norms[row] = squared_norm(row);
  }

  void load(const Index* rows, Index size, Batch<Real>& batch) const override {
    batch.size = size;
    if (size == 1) {
      batch.values.resize(this->features);
      pack<1>(rows, 1, batch.values.data());
    } else {
      batch.values.resize(Panel<Real>::size(size, Panel<Real>::left, this->features));
      pack<Panel<Real>::left>(rows, size, batch.values.data());
    }
  }

  void multiply(const Batch<Real>& batch, const Index* columns, Index size, Real* out,
                std::ptrdiff_t stride, std::vector<Real>& scratch) const override {
    if (batch.size == 1) {
      const Real* b = batch.values.data();
      if (batch.in_order)
        products_in_order(columns, size, b, out);
      else
        for (Index c = 0; c < size; ++c) out[c] = product(columns[c], b);
      return;
    }
    constexpr Index tile = 8 * Panel<Real>::right;
    scratch.resize(static_cast<std::size_t>(tile) * this->features);
    for (Index start = 0; start < size; start += tile) {
      const Index count = std::min(tile, size - start);
      pack<Panel<Real>::right>(columns + start, count, scratch.data());
      multiply_packed<Terms>(batch.size, count, this->features, batch.values.data(), scratch.data(),
                             out + start, stride);
    }
  }

 private:
  static constexpr int lanes = 16;

  const Value* example(Index row) const { return data_ + row * row_stride_; }

  double squared_norm(Index row) const {
    const Value* x = example(row);
    double sums[lanes] = {}, sum = 0;
    Index f = 0;
    for (; f + lanes <= this->features; f += lanes)
      for (int l = 0; l < lanes; ++l) {
        const double v = x[f + l] - centre_[f + l];
        sums[l] = multiply_add(v, v, sums[l]);
      }
    for (; f < this->features; ++f) {
      const double v = x[f] - centre_[f];
      sum = multiply_add(v, v, sum);
    }
    for (int l = 0; l < lanes; ++l) sum += sums[l];
    return sum;
  }

  // Converts, centres and packs rows in panels of `width`; the last is filled up with zeros.
  template <int width>
  void pack(const Index* rows, Index size, Real* out) const {
    constexpr Index strip = 64;
    Real converted[width * strip] = {};
    for (Index first = 0; first < size; first += width, out += width * this->features) {
      const Index count = std::min<Index>(width, size - first);
      for (Index start = 0; start < this->features; start += strip) {
        const Index length = std::min(this->features - start, strip);
        for (Index r = 0; r < width; ++r) {
          if (r < count)
            convert(rows[first + r], start, length, converted + r * strip);
          else
            std::fill_n(converted + r * strip, length, Real(0));
        }
        transpose<width>(converted, strip, length, out + start * width);
      }
    }
  }

  void convert(Index row, Index start, Index length, Real* out) const {
    const Value* x = example(row) + start;
    const double* centre = centre_.data() + start;
    for (Index f = 0; f < length; ++f) out[f] = static_cast<Real>(x[f] - centre[f]);
  }

  Real product(Index row, const Real* b) const {
    const Value* x = example(row);
    const Index features = this->features;
    Real sums[lanes] = {};
    Index f = 0;
    for (; f + lanes <= features; f += lanes)
      for (int l = 0; l < lanes; ++l)
        sums[l] = Terms::add(static_cast<Real>(x[f + l] - centre_[f + l]), b[f + l], sums[l]);
    Real sum = 0;
    for (; f < features; ++f) sum = Terms::add(static_cast<Real>(x[f] - centre_[f]), b[f], sum);
    for (int l = 0; l < lanes; ++l) sum += sums[l];
    return sum;
  }

  // Eight examples at a time: a single sum would have to wait for each addition to finish.
  void products_in_order(const Index* columns, Index size, const Real* b, Real* out) const {
    constexpr Index side = 8;
    for (Index c = 0; c < size; c += side) {
      const Value* x[side];
      for (Index s = 0; s < side; ++s) x[s] = example(columns[std::min(c + s, size - 1)]);
      Real totals[side] = {};
      for (Index first = 0; first < this->features; first += depth) {
        Real sums[side] = {};
        for (Index f = first; f < std::min(first + depth, this->features); ++f)
          for (Index s = 0; s < side; ++s)
            sums[s] = Terms::add(static_cast<Real>(x[s][f] - centre_[f]), b[f], sums[s]);
        for (Index s = 0; s < side; ++s) totals[s] += sums[s];
      }
      std::copy_n(totals, std::min(side, size - c), out + c);
    }
  }

  const Value* data_;
  std::ptrdiff_t row_stride_;
  std::vector<double> centre_;
};

// The mean of each feature, to centre examples on.
template <class Value>
std::vector<double> means(const Value* data, Index count, Index features,
                          std::ptrdiff_t row_stride) {
  std::vector<double> sums(features, 0.0);
  Index row = 0;
  for (; row + 4 <= count; row += 4) {  // four rows at a time: fewer passes over the sums
    const Value* a = data + row * row_stride;
    const Value *b = a + row_stride, *c = b + row_stride, *d = c + row_stride;
    for (Index f = 0; f < features; ++f)
      sums[f] += (double{a[f]} + double{b[f]}) + (double{c[f]} + double{d[f]});
  }
  for (; row < count; ++row)
    for (Index f = 0; f < features; ++f) sums[f] += data[row * row_stride + f];
  for (double& sum : sums) sum /= count;
  return sums;
}

// CSR rows without repeated indices; the order of the indices within a row does not matter.
template <class Value, class Offset, class Real>
class SparseExamples final : public Examples<Real> {
 public:
  SparseExamples(const Value* values, const Offset* indices, const Offset* starts, Index count,
                 Index features)
      : Examples<Real>(count, features), values_(values), indices_(indices), starts_(starts) {
    this->squared_norms.resize(count);
    for (Index row = 0; row < count; ++row) {
      this->squared_norms[row] = squared_norm(row);
      this->terms = std::max(this->terms, static_cast<Index>(starts[row + 1] - starts[row]));
    }
  }

  void load(const Index* rows, Index size, Batch<Real>& batch) const override {
    for (Index f : batch.present) batch.slot[f] = -1;
    batch.slot.resize(this->features, -1);
    batch.present.clear();
    batch.size = size;
    for (Index r = 0; r < size; ++r)
      for (Offset e = starts_[rows[r]]; e < starts_[rows[r] + 1]; ++e) {
        Index& slot = batch.slot[indices_[e]];
        if (slot >= 0) continue;
        slot = static_cast<Index>(batch.present.size());
        batch.present.push_back(static_cast<Index>(indices_[e]));
      }
    batch.values.assign(batch.present.size() * size, 0);
    for (Index r = 0; r < size; ++r)
      for (Offset e = starts_[rows[r]]; e < starts_[rows[r] + 1]; ++e)
        batch.values[static_cast<std::size_t>(batch.slot[indices_[e]]) * size + r] =
            static_cast<Real>(values_[e]);
  }

  void multiply(const Batch<Real>& batch, const Index* columns, Index size, Real* out,
                std::ptrdiff_t stride, std::vector<Real>& scratch) const override {
    const Index width = batch.size;
    scratch.resize(static_cast<std::size_t>(block) * width);
    for (Index start = 0; start < size; start += block) {
      const Index rows = std::min<Index>(block, size - start);
      for (Index c = 0; c < rows; ++c)
        product(columns[start + c], batch, &scratch[static_cast<std::size_t>(c) * width]);
      for (Index r = 0; r < width; ++r)
        for (Index c = 0; c < rows; ++c)
          out[r * stride + start + c] = scratch[static_cast<std::size_t>(c) * width + r];
    }
  }

 private:
  static constexpr Index block = 16;

  double squared_norm(Index row) const {
    double sum = 0;
    for (Offset e = starts_[row]; e < starts_[row + 1]; ++e) {
      const double v = values_[e];
      sum += v * v;
    }
    return sum;
  }

  void product(Index row, const Batch<Real>& batch, Real* sums) const {
    const Index width = batch.size;
    std::fill(sums, sums + width, Real(0));
    for (Offset e = starts_[row]; e < starts_[row + 1]; ++e) {
      const Index slot = batch.slot[indices_[e]];
      if (slot < 0) continue;
      const Real v = static_cast<Real>(values_[e]);
      const Real* b = &batch.values[static_cast<std::size_t>(slot) * width];
      for (Index r = 0; r < width; ++r) sums[r] += v * b[r];
    }
  }

  const Value* values_;
  const Offset *indices_, *starts_;
};

// The same for CSR rows with sorted indices, but with minus half the sum of squared differences as
// the product: much slower, but it keeps full precision where large numbers would cancel.
template <class Value, class Offset>
class SparseDifferences final : public Examples<double> {
 public:
  SparseDifferences(const Value* values, const Offset* indices, const Offset* starts, Index count,
                    Index features)
      : Examples<double>(count, features), values_(values), indices_(indices), starts_(starts) {
    squared_norms.assign(count, 0.0);
  }

  void load(const Index* rows, Index size, Batch<double>& batch) const override {
    batch.size = size;
    batch.values.clear();
    batch.present.clear();
    batch.starts.assign(1, 0);
    for (Index r = 0; r < size; ++r) {
      const Offset begin = starts_[rows[r]], end = starts_[rows[r] + 1];
      batch.values.insert(batch.values.end(), values_ + begin, values_ + end);
      batch.present.insert(batch.present.end(), indices_ + begin, indices_ + end);
      batch.starts.push_back(batch.values.size());
    }
  }

  void multiply(const Batch<double>& batch, const Index* columns, Index size, double* out,
                std::ptrdiff_t stride, std::vector<double>&) const override {
    for (Index r = 0; r < batch.size; ++r)
      for (Index c = 0; c < size; ++c) out[r * stride + c] = product(batch, r, columns[c]);
  }

 private:
  double product(const Batch<double>& batch, Index r, Index row) const {
    std::size_t a = batch.starts[r];
    const std::size_t a_end = batch.starts[r + 1];
    Offset b = starts_[row];
    const Offset b_end = starts_[row + 1];
    double sum = 0;
    while (a < a_end && b < b_end) {
      const Index of_a = batch.present[a], of_b = static_cast<Index>(indices_[b]);
      const double first = of_a <= of_b ? batch.values[a] : 0;
      const double second = of_b <= of_a ? double{values_[b]} : 0;
      sum = Differences::add(first, second, sum);
      a += of_a <= of_b;
      b += of_b <= of_a;
    }
    for (; a < a_end; ++a) sum = Differences::add(batch.values[a], 0.0, sum);
    for (; b < b_end; ++b) sum = Differences::add(0.0, double{values_[b]}, sum);
    return sum;
  }

  const Value* values_;
  const Offset *indices_, *starts_;
};

}  // namespace softmargin
