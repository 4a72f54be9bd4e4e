// The vote of one-vs-one machines: every pair of classes votes for one of its two classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace softmargin {

// winner[t] is the class with the most votes at point t; ties go to the first. The decision value
// of the pair i < j is sums[t][i][j - 1] + sums[t][j][i] + its intercept; if it is positive, i gets
// the vote, else j.
inline void vote(const double* sums, const double* intercept, std::int64_t points, int classes,
                 int threads, std::int64_t* winner) {
  const std::int64_t outputs = classes - 1, width = classes * outputs;
  parallel_ranges(points, 16, threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<int> votes(classes);
    for (std::int64_t t = begin; t < end; ++t) {
      const double *of_point = sums + t * width, *b = intercept;
      std::fill(votes.begin(), votes.end(), 0);
      for (int i = 0; i < classes; ++i) {
        const double* first = of_point + i * outputs - 1;
        int won = 0;
        for (int j = i + 1; j < classes; ++j) {
          const int for_first = first[j] + of_point[j * outputs + i] + *b++ > 0;
          won += for_first;
          votes[j] += 1 - for_first;
        }
        votes[i] += won;
      }
      winner[t] = std::max_element(votes.begin(), votes.end()) - votes.begin();
    }
  });
}

}  // namespace softmargin
