// Extrapolation of the dual variables. Near the end of a fit, coordinate descent moves in nearly
// the same direction pass after pass, in ever shorter steps. So from time to time the variables
// beta jump ahead, away from their values of some passes ago (snapshots beta_1 to beta_3):
//   beta + sum_a t_a (beta - beta_a)
// The t maximise the dual objective without the bounds; then the target is made feasible, and an
// exact line search moves the variables towards it. The dual objective never decreases, so the
// convergence proof of the descent still holds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "duals.hpp"
#include "rows.hpp"
#include "weights.hpp"

namespace softmargin::linear {

template <class Real, class Machine>
class Extrapolation {
 public:
  Extrapolation(const RowReader& rows, std::int32_t classes)
      : rows_(rows), classes_(classes), combine_(classes) {}

  bool due(std::int64_t passes) const { return passes >= next_; }

  // Given the state of the descent between two passes: extrapolates if there are enough snapshots,
  // and takes another one if that pays. Returns the gain in the dual objective; nothing if it ran
  // out of time: then it must be called again before anything else changes.
  template <class OutOfTime>
  std::optional<double> advance(std::int64_t passes, double dual, double gap,
                                std::vector<Example>& examples, Weights<Real>& weights,
                                OutOfTime out_of_time) {
    double gain = 0;
    bool pays = true;
    if (taken_ >= snapshots) {
      if (!compute_target(examples, weights, out_of_time)) return {};
      gain = line_search(*target_, examples, weights.values());
      target_.reset();
      pays = gain > worthwhile * (dual - dual_);
      pause_ = pays ? shortest_pause : std::min(2 * pause_, longest_pause);
      if (!pays) taken_ = 0;
    }
    const bool slow = gap > gap_ * std::pow(slow_fall, passes - passes_);
    const bool take = pays && (taken_ > 0 || slow) && bytes(examples, weights) <= most_bytes;
    if (take) past_[taken_++ % snapshots].take(examples, weights);
    next_ = passes + (take ? spacing : pause_);
    passes_ = passes;
    dual_ = dual + gain;
    gap_ = gap;
    return gain;
  }

 private:
  static constexpr std::size_t snapshots = 3;
  // Passes between snapshots, and between attempts if the last one did not pay.
  static constexpr std::int64_t spacing = 3, shortest_pause = 6, longest_pause = 48;
  // It pays if it gains at least this fraction of what the passes since the last call gained.
  static constexpr double worthwhile = 0.05;
  // No extrapolation while each pass reduces the gap by at least this factor.
  static constexpr double slow_fall = 0.97;
  // The largest snapshot worth its memory: three are kept, and a target needs about as much.
  static constexpr std::size_t most_bytes = std::size_t{1} << 24;

  using Coefficients = std::array<double, snapshots>;
  using Matrix = std::array<Coefficients, snapshots>;

  struct Snapshot {
    std::vector<std::size_t> start;  // where each example's variables begin
    Support variables;
    std::vector<Real> weights;

    void take(const std::vector<Example>& examples, Weights<Real>& now) {
      start.assign(1, 0);
      variables.clear();
      for (const Example& x : examples) {
        variables.insert(variables.end(), x.support.begin(), x.support.end());
        start.push_back(variables.size());
      }
      weights = now.values();
    }
    std::span<const DualVariable> support(std::size_t i) const {
      return std::span(variables).subspan(start[i], start[i + 1] - start[i]);
    }
  };

  // Where the variables should move: the examples that change, the end of each one's moves, and the
  // change of W. So far it covers the first `done` examples.
  struct Target {
    Target(const Coefficients& t, std::int32_t features, std::int32_t classes)
        : t(t), weights(features, classes) {}

    Coefficients t;
    std::size_t done = 0;
    std::vector<std::size_t> example, end;
    std::vector<Move> moves;
    Weights<Real> weights;
    double rise = 0;  // the change of the sum of all variables
  };

  static std::size_t bytes(const std::vector<Example>& examples, Weights<Real>& weights) {
    return count_nonzero(examples) * sizeof(DualVariable) + examples.size() * sizeof(std::size_t) +
           weights.values().size() * sizeof(Real);
  }

  // Continues where it stopped; false if it ran out of time.
  template <class OutOfTime>
  bool compute_target(const std::vector<Example>& examples, Weights<Real>& weights,
                      OutOfTime out_of_time) {
    constexpr std::size_t batch = 16;  // examples between two looks at the clock
    if (!target_) target_.emplace(best(examples, weights.values()), rows_.features, classes_);
    for (std::size_t& i = target_->done; i < examples.size();) {
      for (std::size_t end = std::min(i + batch, examples.size()); i < end; ++i)
        if (!unchanged(i, examples[i].support)) add_moves(i, examples[i], *target_);
      if (i < examples.size() && out_of_time()) return false;
    }
    return true;
  }

  // The t that maximise the dual objective without the bounds.
  Coefficients best(const std::vector<Example>& examples, const std::vector<Real>& W) const {
    double total = 0;
    for (const Example& x : examples)
      for (const DualVariable& variable : x.support) total += variable.beta;
    Coefficients g;
    for (std::size_t a = 0; a < snapshots; ++a) {
      g[a] = total;
      for (const DualVariable& variable : past_[a].variables) g[a] -= variable.beta;
    }
    Matrix H = {};
    for (std::size_t j = 0; j + padding < W.size(); ++j) {
      Coefficients step;
      for (std::size_t a = 0; a < snapshots; ++a) {
        step[a] = static_cast<double>(W[j]) - past_[a].weights[j];
        g[a] -= W[j] * step[a];
        for (std::size_t b = 0; b <= a; ++b) H[a][b] += step[a] * step[b];
      }
    }
    return solve(H, g);
  }

  // Solves H t = g by Cholesky decomposition of the lower half of H, slightly regularised: the
  // steps are nearly parallel, so H is nearly singular.
  static Coefficients solve(Matrix H, Coefficients t) {
    double largest = 0;
    for (std::size_t a = 0; a < snapshots; ++a) largest = std::max(largest, H[a][a]);
    if (!(largest > 0)) return {};
    for (std::size_t a = 0; a < snapshots; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (std::size_t c = 0; c < b; ++c) H[a][b] -= H[a][c] * H[b][c];
        H[a][b] /= H[b][b];
        H[a][a] -= H[a][b] * H[a][b];
        t[a] -= H[a][b] * t[b];
      }
      H[a][a] = std::sqrt(std::max(H[a][a], 0.0) + 1e-10 * largest);
      t[a] /= H[a][a];
    }
    for (std::size_t a = snapshots; a-- > 0;) {
      for (std::size_t b = a + 1; b < snapshots; ++b) t[a] -= H[b][a] * t[b];
      t[a] /= H[a][a];
    }
    return t;
  }

  bool unchanged(std::size_t i, const Support& support) const {
    return std::all_of(past_.begin(), past_.end(), [&](const Snapshot& past) {
      return std::ranges::equal(support, past.support(i),
                                [](const DualVariable& a, const DualVariable& b) {
                                  return a.beta == b.beta && a.cls == b.cls;
                                });
    });
  }

  void add_moves(std::size_t i, const Example& x, Target& target) {
    const std::size_t start = target.moves.size();
    combine_(
        x.support, snapshots, [&](std::size_t a) { return past_[a].support(i); }, target.t.data(),
        target.moves);
    const auto moves = std::span(target.moves).subspan(start);
    Machine::make_feasible(x, moves);
    change_.clear();
    for (const Move& move : moves) {
      change_.add(move.cls, move.to - move.from);
      target.rise += move.to - move.from;
    }
    rows_.read(static_cast<std::int32_t>(i), row_);
    change_.template apply<Machine>(target.weights, row_, x.label);
    target.example.push_back(i);
    target.end.push_back(target.moves.size());
  }

  // Moves towards the target as long as the dual objective increases. Returns the gain.
  static double line_search(Target& target, std::vector<Example>& examples, std::vector<Real>& W) {
    const std::vector<Real>& D = target.weights.values();
    double slope = target.rise, curvature = 0;
    for (std::size_t j = 0; j + padding < W.size(); ++j) {
      slope -= static_cast<double>(W[j]) * D[j];
      curvature += static_cast<double>(D[j]) * D[j];
    }
    if (!(slope > 0 && curvature > 0)) return 0;
    const double s = std::min(slope / curvature, 1.0);
    for (std::size_t j = 0; j + padding < W.size(); ++j) W[j] += static_cast<Real>(s * D[j]);
    std::size_t m = 0;
    for (std::size_t k = 0; k < target.example.size(); ++k) {
      Support& support = examples[target.example[k]].support;
      support.clear();
      for (; m < target.end[k]; ++m)
        if (const double beta = std::lerp(target.moves[m].from, target.moves[m].to, s); beta != 0)
          support.push_back({beta, target.moves[m].cls});
    }
    return s * slope - s * s / 2 * curvature;
  }

  const RowReader& rows_;
  std::int32_t classes_;
  std::array<Snapshot, snapshots> past_;
  std::optional<Target> target_;  // while it is being computed
  std::size_t taken_ = 0;         // snapshots so far; the last three are kept
  std::int64_t pause_ = shortest_pause, next_ = shortest_pause;
  // As of the last call:
  std::int64_t passes_ = 0;
  double dual_ = 0, gap_ = std::numeric_limits<double>::infinity();

  Combination combine_;
  Row row_;
  WeightChange change_;
};

}  // namespace softmargin::linear
