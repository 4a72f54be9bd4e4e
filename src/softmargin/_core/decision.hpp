// Kernel expansions at new points: sums of coefficients times kernel values with the support
// vectors, group by group (a group is a class), without storing all kernel values.
//
// sums[(t * groups + g) * outputs + o] = sum over vectors v of group g of
//                                        coefficients[o * vectors + v] K(point t, v).
//
// Many points: chunks of vectors are loaded once and multiplied with one tile of points after
// another. Few points: each point is loaded and multiplied with all vectors.
//
// A decision value is one of these sums or, with more than two classes, two of them added.
#pragma once

#include <numeric>
#include <vector>

#include "examples.hpp"
#include "kernel.hpp"
#include "parallel.hpp"
#include "row_source.hpp"

namespace softmargin {

template <class Real>
class Expansion {
 public:
  Expansion(const Examples<Real>& vectors, Kernel kernel, std::vector<Index> group_starts,
            const double* coefficients, Index outputs)
      : vectors_(vectors),
        kernel_(kernel),
        group_starts_(std::move(group_starts)),
        coefficients_(coefficients),
        outputs_(outputs) {}

  void evaluate(const Examples<Real>& points, int threads, double* sums) const {
    const std::int64_t width = std::int64_t{groups()} * outputs_;
    if (points.count < few) {
      parallel_ranges(points.count, 1, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t)
          one_point(points, static_cast<Index>(t), sums + t * width);
      });
      return;
    }
    const std::vector<Chunk> chunks = load_chunks();
    parallel_ranges(points.count, tile, threads, [&](std::int64_t begin, std::int64_t end, int) {
      Buffers buffers;
      for (std::int64_t start = begin; start < end; start += tile)
        one_tile(points, chunks, static_cast<Index>(start),
                 static_cast<Index>(std::min<std::int64_t>(tile, end - start)), buffers,
                 sums + start * width);
    });
  }

  // An estimate of the rounding error in each point's decision value. If a kernel value's error
  // depends on the point, the largest norm of any vector is used for all vectors.
  std::vector<double> rounding(const Examples<Real>& points) const {
    std::vector<double> errors(vectors_.count, 1.0);
    double largest = 0;
    for (Index v = 0; v < vectors_.count; ++v) {
      const double norm = vectors_.squared_norms[v];
      if (!kernel_.rounding_depends_on_x()) errors[v] = kernel_.template rounding<Real>(norm, norm);
      largest = std::max(largest, norm);
    }
    std::vector<double> result(points.count, largest_rounding(errors));
    if (kernel_.rounding_depends_on_x())
      for (Index t = 0; t < points.count; ++t)
        result[t] *= kernel_.template rounding<Real>(points.squared_norms[t], largest);
    return result;
  }

  // The largest Euclidean norm of the coefficients of one decision value; with several groups, an
  // upper bound.
  double longest() const {
    return largest_over_outputs([&](Index o, Index begin, Index end) {
      double sum = 0;
      for (Index v = begin; v < end; ++v) sum += coefficient(o, v) * coefficient(o, v);
      return std::sqrt(sum);
    });
  }

 private:
  static constexpr Index few = 16, tile = 128;

  struct Chunk {  // vectors of one group
    Index group, begin;
    Batch<Real> batch;
  };

  struct Buffers {
    std::vector<Index> columns;
    std::vector<Real> values, scratch, norms;
    std::vector<double> totals;
  };

  // The largest rounding error of a decision value, given the errors of its kernel values.
  double largest_rounding(const std::vector<double>& errors) const {
    return largest_over_outputs([&](Index o, Index begin, Index end) {
      RoundingOfSum rounding;
      for (Index v = begin; v < end; ++v) rounding.add(coefficient(o, v) * errors[v]);
      return rounding.estimate(vectors_.terms);
    });
  }

  // Two groups make up a decision value with more than two classes.
  template <class Measure>
  double largest_over_outputs(Measure measure) const {
    double most = 0;
    for (Index g = 0; g < groups(); ++g)
      for (Index o = 0; o < outputs_; ++o)
        most = std::max(most, measure(o, group_starts_[g], group_starts_[g + 1]));
    return groups() > 1 ? std::sqrt(2.0) * most : most;
  }

  Index groups() const { return static_cast<Index>(group_starts_.size()) - 1; }

  template <class Body>
  void for_chunks(Body body) const {
    const Index longest =
        std::clamp<Index>((1 << 22) / std::max<Index>(vectors_.features, 1), 16, 768);
    for (Index g = 0; g < groups(); ++g)
      for (Index begin = group_starts_[g]; begin < group_starts_[g + 1]; begin += longest)
        body(g, begin, std::min(longest, group_starts_[g + 1] - begin));
  }

  std::vector<Chunk> load_chunks() const {
    std::vector<Chunk> chunks;
    std::vector<Index> rows;
    for_chunks([&](Index g, Index begin, Index size) {
      rows.resize(size);
      std::iota(rows.begin(), rows.end(), begin);
      chunks.push_back({g, begin, {}});
      chunks.back().batch.in_order = true;
      vectors_.load(rows.data(), size, chunks.back().batch);
    });
    return chunks;
  }

  void one_tile(const Examples<Real>& points, const std::vector<Chunk>& chunks, Index start,
                Index size, Buffers& buffers, double* sums) const {
    buffers.columns.resize(size);
    std::iota(buffers.columns.begin(), buffers.columns.end(), start);
    buffers.norms.assign(points.squared_norms.begin() + start,
                         points.squared_norms.begin() + start + size);
    const Index width = groups() * outputs_;
    for (const Chunk& chunk : chunks) {
      buffers.values.resize(static_cast<std::size_t>(chunk.batch.size) * size);
      points.multiply(chunk.batch, buffers.columns.data(), size, buffers.values.data(), size,
                      buffers.scratch);
      for (Index v = 0; v < chunk.batch.size; ++v)
        kernel_.apply(&buffers.values[static_cast<std::size_t>(v) * size], size,
                      vectors_.squared_norms[chunk.begin + v], buffers.norms.data());
      for (Index o = 0; o < outputs_; ++o) {
        buffers.totals.assign(size, 0.0);
        for (Index v = 0; v < chunk.batch.size; ++v) {
          const double c = coefficient(o, chunk.begin + v);
          const Real* row = &buffers.values[static_cast<std::size_t>(v) * size];
          for (Index t = 0; t < size; ++t)
            buffers.totals[t] = multiply_add<double>(c, row[t], buffers.totals[t]);
        }
        for (Index t = 0; t < size; ++t)
          sums[static_cast<std::size_t>(t) * width + chunk.group * outputs_ + o] +=
              buffers.totals[t];
      }
    }
  }

  void one_point(const Examples<Real>& points, Index point, double* sums) const {
    Batch<Real> batch;
    std::vector<Index> all(vectors_.count);
    std::iota(all.begin(), all.end(), Index(0));
    std::vector<Real> values(vectors_.count), scratch;
    const std::vector<Real> norms(vectors_.squared_norms.begin(), vectors_.squared_norms.end());
    batch.in_order = true;  // so that a point gets the same value alone and among others
    points.load(&point, 1, batch);
    vectors_.multiply(batch, all.data(), vectors_.count, values.data(), vectors_.count, scratch);
    kernel_.apply(values.data(), vectors_.count, points.squared_norms[point], norms.data());
    for_chunks([&](Index g, Index begin, Index size) {
      for (Index o = 0; o < outputs_; ++o) {
        double total = 0;
        for (Index v = begin; v < begin + size; ++v)
          total = multiply_add<double>(coefficient(o, v), values[v], total);
        sums[g * outputs_ + o] += total;
      }
    });
  }

  double coefficient(Index output, Index vector) const {
    return coefficients_[static_cast<std::size_t>(output) * vectors_.count + vector];
  }

  const Examples<Real>& vectors_;
  const Kernel kernel_;
  const std::vector<Index> group_starts_;
  const double* coefficients_;
  const Index outputs_;
};

}  // namespace softmargin
