// Maximum-gain selection (maximum-gain paper, Sections 2.3 to 2.5): the pair whose clipped step
// lowers the objective most (eq. 3), among the pairs that contain a variable of the previous
// working set, so that their kernel values are known already.
//
// Its own stopping quantity is the length of that pair's step before it is clipped. The text of the
// paper uses the clipped step, which is short whenever the known variable is near a bound. That
// would stop the solver too early, and it does not match the iteration counts in the paper
// (docs/reproduction/maximum_gain.md).
//
// The hybrid rule takes the most violating pair instead when both variables of the previous working
// set lie in a corner of their box, where maximum gain alone may get stuck (Theorem 7).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "most_violating_pair.hpp"

namespace softmargin {

enum class GainRows { one, two, cached };  // the rows that gains are computed from

struct Gain {
  double gain = 0;
  Pair pair;
  double free_step = 0;  // its length
};

// The best partner of one variable whose kernel row is given.
template <class Real>
Gain best_partner(const Dual& dual, Variable fixed, const Real* row, const double* diagonal) {
  const Part& own_part = dual.parts[fixed.part];
  const Index i = fixed.position;
  const double* gradient = dual.gradient.data();
  const double own = diagonal[i], value = dual.value(fixed);
  const double own_lowest = own_part.lower[i] - own_part.beta[i];
  const double own_highest = own_part.upper[i] - own_part.beta[i];
  Gain result;
  for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) {
    if (dual.separate && s != fixed.part) continue;
    const Part& part = dual.parts[s];
    const double *beta = part.beta.data(), *lower = part.lower.data(), *upper = part.upper.data();
    const double offset = part.offset;
    // Written such that the slope of a variable with itself is exactly zero.
    const auto slope = [=](auto at) { return value + (at(gradient) + offset); };
    const auto curvature = [=](auto at) { return (own + at(diagonal)) - 2.0 * at(row); };
    // The step leads to the optimum without bounds and is clipped to them; it is negative if the
    // partner rises.
    const auto gain = [=](auto at) {
      const auto down = slope(at), bend = curvature(at);
      const auto lowest = larger(at(own_lowest), at(beta) - at(upper));
      const auto highest = smaller(at(own_highest), at(beta) - at(lower));
      const auto step = larger(lowest, smaller(highest, down / larger(at(1e-300), bend)));
      return step * (down - 0.5 * bend * step);
    };
    const Best found = argmax(dual.active, gain, 0, 1e-9);
    if (!(found.score > result.gain)) continue;
    const One partner{found.position};
    result.gain = found.score;
    result.free_step = std::abs(slope(partner)) / std::max(curvature(partner), 1e-300);
    const double violation = slope(partner);
    result.pair = violation > 0 ? Pair{fixed, {s, partner.k}, violation}
                                : Pair{{s, partner.k}, fixed, -violation};
  }
  return result;
}

template <class Rows>
class MaximumGain final : public Rule<Rows> {
 public:
  MaximumGain(bool hybrid, GainRows gain_rows, double eta)
      : hybrid_(hybrid), gain_rows_(gain_rows), eta_(eta) {}

  Selection select(const Dual& dual, Rows& rows) override {
    std::vector<Variable> candidates = previous(dual, rows);
    if (candidates.empty() || (hybrid_ && all_in_corner(dual, candidates)))
      return most_violating_pair(dual);
    if (gain_rows_ == GainRows::cached) candidates = all_cached(dual, rows);

    Gain best;
    Variable fixed;
    for (const Variable& variable : candidates) {
      const auto* row = gain_rows_ == GainRows::cached ? rows.held(variable.position, dual.active)
                                                       : rows.row(variable.position, dual.active);
      const Gain gain = best_partner(dual, variable, row, rows.diagonal());
      if (gain.gain > best.gain) best = gain, fixed = variable;
    }
    if (const Selection start = start_of_a_class(dual); start.violation > best.pair.violation)
      return start;
    // This counts as a use, so that the partner's row does not evict it from a small cache.
    if (best.gain > 0) rows.row(fixed.position, dual.active);
    return {best.pair, std::max(best.pair.violation, 0.0), best.free_step,
            !hybrid_ && best.gain == 0};
  }

  // Puts the variable that is new to the working set last: with GainRows::one, only the last one is
  // used.
  void stepped(const Pair& pair, const Dual& dual, const Rows& rows) override {
    const Known up{pair.up.part, rows.order().example_at[pair.up.position]};
    const Known down{pair.down.part, rows.order().example_at[pair.down.position]};
    std::vector<Known>& last = previous_[dual.separate ? pair.up.part : 0];
    const bool up_is_new = last.empty() || !(up == last[1]);
    last = up_is_new ? std::vector<Known>{down, up} : std::vector<Known>{up, down};
  }

  void restart() override {
    for (std::vector<Known>& last : previous_) last.clear();
  }

 private:
  struct Known {  // a variable by example: positions change when the problem is shrunk
    int part;
    Index example;
    bool operator==(const Known&) const = default;
  };

  // The most violating pair of a class that has no previous working set yet, where steps stay
  // within a class.
  Selection start_of_a_class(const Dual& dual) const {
    Extremes worst;
    for (int s = 0; dual.separate && s < static_cast<int>(dual.parts.size()); ++s)
      if (previous_[s].empty())
        if (const Extremes found = extremes(dual, s); found.violation() > 0) worst = found;
    const double violation = worst.violation();
    return {{worst.up, worst.down, violation}, violation, violation};
  }

  // The active variables of the previous working set or, where steps stay within a class, of the
  // previous working set of each class.
  std::vector<Variable> previous(const Dual& dual, const Rows& rows) const {
    std::vector<Variable> variables;
    for (const std::vector<Known>& last : previous_)
      for (std::size_t v = gain_rows_ == GainRows::one ? 1 : 0; v < last.size(); ++v) {
        const Index position = rows.order().position_of[last[v].example];
        if (position < dual.active) variables.push_back({last[v].part, position});
      }
    return variables;
  }

  bool all_in_corner(const Dual& dual, const std::vector<Variable>& variables) const {
    return std::all_of(variables.begin(), variables.end(),
                       [&](Variable v) { return in_corner(dual.parts[v.part], v.position); });
  }

  // Without an upper bound, the box has no finite size; then only a variable exactly at its bound
  // is in a corner.
  bool in_corner(const Part& part, Index k) const {
    const double box = part.upper[k] - part.lower[k], margin = box < infinity ? eta_ * box : 0;
    return part.beta[k] - part.lower[k] <= margin || part.upper[k] - part.beta[k] <= margin;
  }

  static std::vector<Variable> all_cached(const Dual& dual, Rows& rows) {
    std::vector<Variable> variables;
    for (Index k = 0; k < dual.active; ++k)
      if (rows.held(k, dual.active))
        for (int s = 0; s < static_cast<int>(dual.parts.size()); ++s) variables.push_back({s, k});
    return variables;
  }

  const bool hybrid_;
  const GainRows gain_rows_;
  const double eta_;
  std::vector<Known> previous_[2];
};

}  // namespace softmargin
