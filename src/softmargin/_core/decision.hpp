// Kernel expansions at new points: sums of coefficients times kernel values with the support
// vectors, group by group (a group is a class), without ever holding all kernel values.
// `sums` comes in as zeros: a group without vectors leaves them.
//
// sums[(t * groups + g) * outputs + o] = sum over vectors v of group g of
//                                        coefficients[o * vectors + v] K(point t, v).
#pragma once

#include <vector>

#include "examples.hpp"
#include "kernel.hpp"

namespace softmargin {

template <class Real>
struct Expansion {
  const Examples<Real>& vectors;
  Kernel kernel;
  std::vector<Index> group_starts;  // one more than groups
  const Real* coefficients;
  Index outputs;

  void evaluate(const Examples<Real>& points, Index begin, Index end, Real* sums) const {
    constexpr Index batch_size = 64;
    const Index count = vectors.count;
    if (count == 0) return;  // the sums are zero already
    const Index groups = static_cast<Index>(group_starts.size()) - 1;
    std::vector<Index> all(count), rows;
    for (Index v = 0; v < count; ++v) all[v] = v;
    std::vector<Real> values(static_cast<std::size_t>(batch_size) * count);
    Batch<Real> batch;
    for (Index start = begin; start < end; start += batch_size) {
      rows.clear();
      for (Index t = start; t < std::min(end, start + batch_size); ++t) rows.push_back(t);
      const Index size = static_cast<Index>(rows.size());
      points.load(rows.data(), size, batch);
      vectors.multiply(batch, all.data(), count, values.data(), count);
      for (Index t = 0; t < size; ++t)
        kernel.apply(&values[static_cast<std::size_t>(t) * count], count,
                     points.squared_norms[rows[t]], vectors.squared_norms.data());
      Real* out = sums + static_cast<std::size_t>(start - begin) * groups * outputs;
      for (Index g = 0; g < groups; ++g) {
        const Index from = group_starts[g], length = group_starts[g + 1] - from;
        if (length > 0)
          multiply_transposed<Real>(size, outputs, length, &values[from], count,
                                    coefficients + from, count, 0, out + g * outputs,
                                    groups * outputs);
      }
    }
  }
};

}  // namespace softmargin
