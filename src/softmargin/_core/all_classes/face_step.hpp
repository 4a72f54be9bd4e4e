// A step of all free variables of a block at once, for problems on which steps of one example are
// slow. The variables strictly within their bounds are moved towards the optimum of their problem,
// found by conjugate gradients as if they had no bounds; then they are clipped to their bounds, and
// the step is halved until the dual objective rises enough (the method of Moré and Toraldo, 1991,
// in which steps of one example take the part of gradient projection).
//
// If the variables of an example have the largest sum that Crammer-Singer allows, the step keeps
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "problem.hpp"
#include "scores.hpp"

namespace softmargin::all_classes {

template <class Real, class Machine>
class FaceStep {
 public:
  // `values` has the kernel values of the block, row after row. Returns the gain, 0 if nothing
  // moved; variables and scores of the block are up to date.
  double take(Problem& block, const std::vector<Real>& values) {
    find_free(block);
    if (places_.empty()) return 0;
    std::vector<double> direction = conjugate_gradients(block, values);
    std::vector<double> change(places_.size()), product;
    for (int halvings = 0; halvings < 6; ++halvings) {
      clip(block, direction, change);
      product = times(block, values, change);
      double slope = 0, curved = 0;
      for (std::size_t f = 0; f < places_.size(); ++f) {
        slope += places_[f].error * change[f];
        curved += change[f] * product[f];
      }
      const double gain = slope - 0.5 * curved;
      if (slope > 0 && gain >= 0.1 * slope) {
        apply(block, values, change);
        return gain;
      }
      for (double& d : direction) d *= 0.5;
    }
    return 0;
  }

 private:
  static constexpr bool capped = std::is_same_v<Machine, linear::CrammerSinger>;
  static constexpr int most_products = 30;

  struct Place {  // a free variable
    Index member, cls;
    double error;
  };
  struct Group {  // the free variables of a member
    Index member;
    std::size_t begin, end;
    bool tied;  // their sum is fixed
  };

  void find_free(const Problem& block) {
    places_.clear();
    groups_.clear();
    for (Index m = 0; m < block.size(); ++m) {
      const double *beta = block.beta.row(m), *scores = block.scores.row(m);
      const double upper = block.upper[m], base = 1 - scores[block.label[m]];
      const std::size_t begin = places_.size();
      double total = 0;
      for (Index c = 0; c < block.classes; ++c) {
        total += beta[c];
        if (beta[c] > 0 && beta[c] < upper) places_.push_back({m, c, base + scores[c]});
      }
      const bool tied = capped && total >= upper * (1 - 1e-12);
      if (tied && places_.size() - begin == 1) places_.pop_back();
      if (places_.size() > begin) groups_.push_back({m, begin, places_.size(), tied});
    }
  }

  // Takes the mean from the entries of every group whose sum is fixed.
  void project(std::vector<double>& entries) const {
    if (!capped) return;
    for (const Group& group : groups_) {
      if (!group.tied) continue;
      double sum = 0;
      for (std::size_t f = group.begin; f < group.end; ++f) sum += entries[f];
      for (std::size_t f = group.begin; f < group.end; ++f)
        entries[f] -= sum / static_cast<double>(group.end - group.begin);
    }
  }

  // Minus the change of the errors, for a change of the variables.
  std::vector<double> times(const Problem& block, const std::vector<Real>& values,
                            const std::vector<double>& change) {
    const Index count = static_cast<Index>(groups_.size());
    Changes changes(block.scores.stride);
    rows_.clear();
    which_.clear();
    if (compact_.size() != static_cast<std::size_t>(count) * count) compress(block, values);
    for (Index g = 0; g < count; ++g) {
      note(block, groups_[g], change, changes);
      rows_.push_back(&compact_[static_cast<std::size_t>(g) * count]);
      which_.push_back(g);
    }
    changes.finish();
    Table scores(count, block.scores.stride);
    changes.add_rows(rows_.data(), which_.data(), count, count, scores.row(0));
    std::vector<double> product(places_.size());
    for (Index g = 0; g < count; ++g)
      for (std::size_t f = groups_[g].begin; f < groups_[g].end; ++f)
        product[f] = scores.row(g)[block.label[groups_[g].member]] - scores.row(g)[places_[f].cls];
    return product;
  }

  // The change of a member's coefficients as a row of changes.
  void note(const Problem& block, const Group& group, const std::vector<double>& change,
            Changes& changes) const {
    changes.begin_row();
    double sum = 0;
    for (std::size_t f = group.begin; f < group.end; ++f) {
      changes.add(places_[f].cls, -change[f]);
      sum += change[f];
    }
    changes.add(block.label[group.member], sum);
  }

  // The kernel values of the members with free variables.
  void compress(const Problem& block, const std::vector<Real>& values) {
    compact_.clear();
    for (const Group& row : groups_)
      for (const Group& column : groups_)
        compact_.push_back(
            values[static_cast<std::size_t>(row.member) * block.size() + column.member]);
  }

  std::vector<double> conjugate_gradients(const Problem& block, const std::vector<Real>& values) {
    compact_.clear();
    std::vector<double> x(places_.size(), 0.0), r(places_.size()), p;
    for (std::size_t f = 0; f < places_.size(); ++f) r[f] = places_[f].error;
    project(r);
    p = r;
    double length = dot(r, r);
    const double enough = 1e-6 * length;
    for (int k = 0; k < most_products && length > enough; ++k) {
      std::vector<double> product = times(block, values, p);
      project(product);
      const double curvature = dot(p, product);
      if (!(curvature > 1e-14 * dot(p, p))) break;
      const double step = length / curvature, before = length;
      for (std::size_t f = 0; f < x.size(); ++f) x[f] += step * p[f], r[f] -= step * product[f];
      length = dot(r, r);
      for (std::size_t f = 0; f < p.size(); ++f) p[f] = r[f] + length / before * p[f];
    }
    return x;
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
    return sum;
  }

  // The change in this direction that keeps the variables within their bounds.
  void clip(const Problem& block, const std::vector<double>& direction,
            std::vector<double>& change) const {
    for (const Group& group : groups_) {
      const double* beta = block.beta.row(group.member);
      const double upper = block.upper[group.member];
      double free = 0, others = 0;
      for (Index c = 0; c < block.classes; ++c) others += beta[c];
      for (std::size_t f = group.begin; f < group.end; ++f) {
        const double from = beta[places_[f].cls];
        change[f] = std::clamp(from + direction[f], 0.0, upper);
        free += change[f];
        others -= from;
      }
      const double scale =
          capped && free + others > upper ? std::max(upper - others, 0.0) / free : 1.0;
      for (std::size_t f = group.begin; f < group.end; ++f)
        change[f] = scale * change[f] - beta[places_[f].cls];
    }
  }

  void apply(Problem& block, const std::vector<Real>& values, const std::vector<double>& change) {
    Changes changes(block.scores.stride);
    rows_.clear();
    for (const Group& group : groups_) {
      note(block, group, change, changes);
      rows_.push_back(&values[static_cast<std::size_t>(group.member) * block.size()]);
      for (std::size_t f = group.begin; f < group.end; ++f) {
        double& beta = block.beta.row(group.member)[places_[f].cls];
        const double upper = block.upper[group.member], to = beta + change[f];
        beta = to >= upper * (1 - 1e-14) ? upper : std::max(to, 0.0);
      }
    }
    changes.finish();
    changes.add_rows(rows_.data(), which_.data(), static_cast<Index>(rows_.size()), block.size(),
                     block.scores.row(0));
  }

  std::vector<Place> places_;
  std::vector<Group> groups_;
  std::vector<Real> compact_;
  std::vector<const Real*> rows_;
  std::vector<Index> which_;
};

}  // namespace softmargin::all_classes
