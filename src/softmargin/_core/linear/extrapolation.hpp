// Extrapolation of the dual variables. Near the end, block descent goes the same way pass after
// pass in ever shorter steps. So now and then the variables beta go on from where they were some
// passes ago, beta_1 to beta_3: to
//   beta + sum_a t_a (beta - beta_a)
// with the t that would maximise the dual objective were there no bounds, brought back into the
// bounds, and then towards that point as far as the objective rises. It never falls, so what holds
// for the descent still holds.
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

#include "block.hpp"
#include "change.hpp"
#include "rows.hpp"
#include "weights.hpp"

namespace softmargin::linear {

template <class Real, class Machine>
class Extrapolation {
 public:
  Extrapolation(const RowReader& rows, std::int32_t classes)
      : rows_(rows), classes_(classes), is_goal_(classes), was_(classes) {}

  bool due(std::int64_t passes) const { return passes >= next_; }

  // Told how the descent stands; moves the variables and the weights if enough is known of where
  // they were, and remembers where they are. Returns by how much the dual objective rose; nothing
  // if it ran out of time, to be called again before anything else moves.
  template <class OutOfTime>
  std::optional<double> advance(std::int64_t passes, double dual, double gap,
                                std::vector<Example>& examples, Weights<Real>& weights,
                                OutOfTime out_of_time) {
    double gain = 0;
    bool pays = true;
    if (known_ >= points) {
      if (!look_ahead(examples, weights, out_of_time)) return {};
      gain = go(*way_, examples, weights.values());
      way_.reset();
      pays = gain > worthwhile * (dual - dual_);
      pause_ = pays ? shortest_pause : std::min(2 * pause_, longest_pause);
      if (!pays) known_ = 0;
    }
    const bool slow = gap > gap_ * std::pow(slow_fall, passes - passes_);
    const bool goes_on = pays && (known_ > 0 || slow) && bytes(examples, weights) <= most_bytes;
    if (goes_on) past_[known_++ % points].remember(examples, weights);
    next_ = passes + (goes_on ? spacing : pause_);
    passes_ = passes;
    dual_ = dual + gain;
    gap_ = gap;
    return gain;
  }

 private:
  static constexpr std::size_t points = 3;
  // Passes from one point to the next, and before another try where it does not pay.
  static constexpr std::int64_t spacing = 3, shortest_pause = 6, longest_pause = 48;
  // It pays if the objective rises by this share of what the passes since the last time did.
  static constexpr double worthwhile = 0.05;
  // A gap that falls to less than this with every pass needs no help.
  static constexpr double slow_fall = 0.97;
  // Of a point; three of them are kept, and another is made for a while.
  static constexpr std::size_t most_bytes = std::size_t{1} << 24;

  using Coefficients = std::array<double, points>;
  using Matrix = std::array<Coefficients, points>;

  // Where the descent was.
  struct Past {
    std::vector<std::size_t> start;  // of each example's entries
    Block entries;
    std::vector<Real> weights;

    void remember(const std::vector<Example>& examples, Weights<Real>& now) {
      start.assign(1, 0);
      entries.clear();
      for (const Example& x : examples) {
        entries.insert(entries.end(), x.block.begin(), x.block.end());
        start.push_back(entries.size());
      }
      weights = now.values();
    }
    std::span<const Entry> block(std::size_t i) const {
      return std::span(entries).subspan(start[i], start[i + 1] - start[i]);
    }
  };

  // Where the variables would go: the examples that move, the end of their goals, and what becomes
  // of W; as far as the first `seen` examples.
  struct Way {
    Way(const Coefficients& t, std::int32_t features, std::int32_t classes)
        : t(t), weights(features, classes) {}

    Coefficients t;
    std::size_t seen = 0;
    std::vector<std::size_t> example, end;
    std::vector<Goal> goals;
    Weights<Real> weights;
    double rise = 0;  // of the sum of the variables
  };

  static std::size_t bytes(const std::vector<Example>& examples, Weights<Real>& weights) {
    return count_entries(examples) * sizeof(Entry) + examples.size() * sizeof(std::size_t) +
           weights.values().size() * sizeof(Real);
  }

  // Fills in the way; false if it ran out of time.
  template <class OutOfTime>
  bool look_ahead(const std::vector<Example>& examples, Weights<Real>& weights,
                  OutOfTime out_of_time) {
    constexpr std::size_t examples_per_look = 16;  // at the clock
    if (!way_) way_.emplace(best(examples, weights.values()), rows_.features, classes_);
    for (std::size_t& i = way_->seen; i < examples.size();) {
      for (std::size_t end = std::min(i + examples_per_look, examples.size()); i < end; ++i)
        if (!stood_still(i, examples[i].block)) add_goals(i, examples[i], *way_);
      if (i < examples.size() && out_of_time()) return false;
    }
    return true;
  }

  // The t that maximise the dual objective, were there no bounds.
  Coefficients best(const std::vector<Example>& examples, const std::vector<Real>& W) const {
    double total = 0;
    for (const Example& x : examples)
      for (const Entry& entry : x.block) total += entry.beta;
    Coefficients g;
    for (std::size_t a = 0; a < points; ++a) {
      g[a] = total;
      for (const Entry& entry : past_[a].entries) g[a] -= entry.beta;
    }
    Matrix H = {};
    for (std::size_t j = 0; j + room < W.size(); ++j) {
      Coefficients step;
      for (std::size_t a = 0; a < points; ++a) {
        step[a] = static_cast<double>(W[j]) - past_[a].weights[j];
        g[a] -= W[j] * step[a];
        for (std::size_t b = 0; b <= a; ++b) H[a][b] += step[a] * step[b];
      }
    }
    return solve(H, g);
  }

  // H t = g by Cholesky's method, from the lower half of H; nearly singular, because the steps are
  // nearly parallel.
  static Coefficients solve(Matrix H, Coefficients t) {
    double largest = 0;
    for (std::size_t a = 0; a < points; ++a) largest = std::max(largest, H[a][a]);
    if (!(largest > 0)) return {};
    for (std::size_t a = 0; a < points; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (std::size_t c = 0; c < b; ++c) H[a][b] -= H[a][c] * H[b][c];
        H[a][b] /= H[b][b];
        H[a][a] -= H[a][b] * H[a][b];
        t[a] -= H[a][b] * t[b];
      }
      H[a][a] = std::sqrt(std::max(H[a][a], 0.0) + 1e-10 * largest);
      t[a] /= H[a][a];
    }
    for (std::size_t a = points; a-- > 0;) {
      for (std::size_t b = a + 1; b < points; ++b) t[a] -= H[b][a] * t[b];
      t[a] /= H[a][a];
    }
    return t;
  }

  bool stood_still(std::size_t i, const Block& block) const {
    return std::all_of(past_.begin(), past_.end(), [&](const Past& past) {
      return std::ranges::equal(block, past.block(i), [](const Entry& a, const Entry& b) {
        return a.beta == b.beta && a.cls == b.cls;
      });
    });
  }

  void add_goals(std::size_t i, const Example& x, Way& way) {
    const std::size_t start = way.goals.size();
    combine(i, x.block, way.t, way.goals);
    const auto goals = std::span(way.goals).subspan(start);
    Machine::confine(goals, x.upper);
    change_.clear();
    for (const Goal& goal : goals) {
      change_.add(goal.cls, goal.to - goal.from);
      way.rise += goal.to - goal.from;
    }
    rows_.read(static_cast<std::int32_t>(i), row_);
    change_.template move<Machine>(way.weights, row_, x.label);
    way.example.push_back(i);
    way.end.push_back(way.goals.size());
  }

  void combine(std::size_t i, const Block& block, const Coefficients& t, std::vector<Goal>& goals) {
    const std::size_t start = goals.size();
    for (const Entry& entry : block) {
      is_goal_[entry.cls] = true;
      goals.push_back({entry.beta, entry.beta, entry.cls});
    }
    for (std::size_t a = 0; a < points; ++a) {
      for (const Entry& entry : past_[a].block(i)) {
        if (!is_goal_[entry.cls]) goals.push_back({0, 0, entry.cls});
        is_goal_[entry.cls] = true;
        was_[entry.cls] = entry.beta;
      }
      // Differences first: a variable that did not move, at its bound say, stays there to the bit.
      for (std::size_t g = start; g < goals.size(); ++g) {
        goals[g].to += t[a] * (goals[g].from - was_[goals[g].cls]);
        was_[goals[g].cls] = 0;
      }
    }
    for (std::size_t g = start; g < goals.size(); ++g) is_goal_[goals[g].cls] = false;
  }

  // As far towards the goals as the objective rises. Returns by how much it rose.
  static double go(Way& way, std::vector<Example>& examples, std::vector<Real>& W) {
    const std::vector<Real>& D = way.weights.values();
    double slope = way.rise, curvature = 0;
    for (std::size_t j = 0; j + room < W.size(); ++j) {
      slope -= static_cast<double>(W[j]) * D[j];
      curvature += static_cast<double>(D[j]) * D[j];
    }
    if (!(slope > 0 && curvature > 0)) return 0;
    const double s = std::min(slope / curvature, 1.0);
    for (std::size_t j = 0; j + room < W.size(); ++j) W[j] += static_cast<Real>(s * D[j]);
    std::size_t g = 0;
    for (std::size_t m = 0; m < way.example.size(); ++m) {
      Block& block = examples[way.example[m]].block;
      block.clear();
      for (; g < way.end[m]; ++g)
        if (const double beta = std::lerp(way.goals[g].from, way.goals[g].to, s); beta > 0)
          block.push_back({beta, way.goals[g].cls});
    }
    return s * slope - s * s / 2 * curvature;
  }

  const RowReader& rows_;
  std::int32_t classes_;
  std::array<Past, points> past_;
  std::optional<Way> way_;  // while it is looked at
  std::size_t known_ = 0;   // points so far; the last ones are kept
  std::int64_t pause_ = shortest_pause, next_ = shortest_pause;
  // As of the last time:
  std::int64_t passes_ = 0;
  double dual_ = 0, gap_ = std::numeric_limits<double>::infinity();

  std::vector<char> is_goal_;  // scratch, by class; cleared after use
  std::vector<double> was_;
  Row row_;
  Change change_;
};

}  // namespace softmargin::linear
