// A kernel matrix as a whole: inner products of all examples once, then kernel values from them for
// any gamma, coef0 and degree.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "interruption.hpp"
#include "kernel_matrix.hpp"
#include "parallel.hpp"
#include "row_source.hpp"

namespace softmargin {

// out[i * count + j] = <example i, example j>.
inline void all_products(const Examples<double>& examples, int threads, double* out,
                         Interruption& interruption) {
  constexpr Index batch = 128, tile = 128;
  const std::size_t count = examples.count;
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), Index(0));
  const Index batches = (examples.count + batch - 1) / batch;
  std::vector<std::vector<double>> scratch(threads);
  std::vector<Batch<double>> loaded(threads);
  // Rows are dealt to the threads in turn, because only the upper triangle is computed.
  parallel_ranges(threads, 1, threads, [&](std::int64_t first, std::int64_t last, int worker) {
    for (std::int64_t t = first; t < last; ++t)
      for (Index b = static_cast<Index>(t); b < batches; b += threads) {
        const Index begin = b * batch, size = std::min(batch, examples.count - begin);
        loaded[worker].in_order = true;
        examples.load(&all[begin], size, loaded[worker]);
        for (Index c = begin; c < examples.count; c += tile) {
          interruption.ask(worker);
          const Index width = std::min(tile, examples.count - c);
          double* block = out + begin * count + c;
          examples.multiply(loaded[worker], &all[c], width, block, count, scratch[worker]);
          for (Index r = 0; r < size; ++r)
            for (Index k = 0; k < width; ++k)
              out[(c + k) * count + begin + r] = block[r * count + k];
        }
      }
  });
}

// Kernel values from products and squared norms. Returns false if one of them is not finite.
template <class Real>
bool all_values(const double* products, const double* norms, Index count, const Kernel& kernel,
                int threads, Real* out, Interruption& interruption) {
  constexpr Index tile = 64;
  const Index tiles = (count + tile - 1) / tile;
  const std::size_t stride = count;
  std::vector<double> poison(threads, 0.0);  // stays 0 unless a value is infinite or NaN
  // The matrix is symmetric: each tile above the diagonal is mirrored while it is in the
  // processor's cache. Rows of tiles are dealt to the threads in turn, because they become shorter.
  parallel_ranges(threads, 1, threads, [&](std::int64_t first, std::int64_t last, int worker) {
    double values[tile];
    for (std::int64_t t = first; t < last; ++t)
      for (Index row = static_cast<Index>(t); row < tiles; row += threads) {
        interruption.ask(worker);
        const Index begin = row * tile, end = std::min(count, begin + tile);
        for (Index c = begin; c < count; c += tile) {
          const Index width = std::min(tile, count - c);
          for (Index i = begin; i < end; ++i) {
            std::copy_n(products + i * stride + c, width, values);
            kernel.apply(values, width, norms[i], norms + c);
            double sum = 0;
            for (Index k = 0; k < width; ++k) sum += values[k] * 0;
            poison[worker] += sum;
            std::copy_n(values, width, out + i * stride + c);
            if (c > begin)
              for (Index k = 0; k < width; ++k)
                out[(c + k) * stride + i] = static_cast<Real>(values[k]);
          }
        }
      }
  });
  return std::all_of(poison.begin(), poison.end(), [](double p) { return p == 0; });
}

}  // namespace softmargin
