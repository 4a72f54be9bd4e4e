// Many small problems, solved one after the other by the decomposition method: with thousands of
// pairs of classes, a call from Python for each would take longer than its solution.
//
// Given: the arrays of all problems, concatenated; problem k has [starts[k], starts[k + 1]) of
// each. run() continues where it stopped, as it does for a single problem. Each problem may have
// folds: the same problem with other bounds, which its solver solves next.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "decomposition.hpp"

namespace softmargin {

template <class Real>
class SmallProblems {
 public:
  // Makes the solver of the problem in the range [begin, end) of the arrays.
  using Make =
      std::function<std::unique_ptr<Decomposition<Real>>(std::int64_t begin, std::int64_t end)>;

  // The variables of a fold of the problem in this range.
  using Fold =
      std::function<std::vector<Part>(std::size_t fold, std::int64_t begin, std::int64_t end)>;

  // The variables and their gradient, for all problems.
  struct Points {
    std::vector<double> gradient;
    std::vector<std::vector<double>> beta;  // by part
  };

  struct Result {
    SolverState status;
    double seconds = 0;
  };

  SmallProblems(Make make, Fold fold, std::size_t folds, std::vector<std::int64_t> starts,
                std::size_t parts, std::int64_t max_iterations, std::int64_t max_fold_iterations,
                double fold_tolerance)
      : make_(std::move(make)),
        fold_(std::move(fold)),
        starts_(std::move(starts)),
        max_iterations_(max_iterations),
        max_fold_iterations_(max_fold_iterations),
        fold_tolerance_(fold_tolerance),
        points_(folds + 1,
                {std::vector<double>(starts_.back()),
                 std::vector<std::vector<double>>(parts, std::vector<double>(starts_.back()))}),
        results_(starts_.size() - 1) {}

  // Continues until the time is up (by one step at least) or all problems have ended. Returns how
  // many have ended.
  std::int64_t run(double max_seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    auto now = Clock::now();
    while (ended_ < count()) {
      const auto began = now;
      Result& result = begin_current();
      const SolverState status = current_->run(most_iterations() - iterations_,
                                               std::chrono::duration<double>(end - began).count());
      iterations_ = status.iterations;
      if (point_ == 0) result.status = status;
      const bool of_fold = point_ > 0;
      if (status.outcome != Outcome::running || iterations_ >= most_iterations()) end_current();
      now = Clock::now();
      if (!of_fold) result.seconds += std::chrono::duration<double>(now - began).count();
      if (now >= end) break;
    }
    // A slice may end between two problems. The state that the caller then sees is the start of the
    // next problem.
    if (ended_ < count() && !current_) {
      Result& next = begin_current();
      next.status = current_->run(0, 0.0);
    }
    return ended_;
  }

  // Ends all other problems at their current point, with the gradient of all variables; their folds
  // are not solved.
  void finish() {
    for (; ended_ < count(); end_problem()) {
      begin_current();
      if (point_ == 0) keep_point();
    }
  }

  // An estimate, for each problem, of the error in decision values from rounded kernel values.
  std::vector<double> roundings(const RowSource<Real>& rows, const Index* ids) const {
    std::vector<double> result, coefficients;
    for (std::int64_t k = 0; k < count(); ++k) {
      const std::int64_t begin = starts_[k], end = starts_[k + 1];
      coefficients.assign(end - begin, 0.0);
      for (const std::vector<double>& beta : points_[0].beta)
        for (std::int64_t i = begin; i < end; ++i) coefficients[i - begin] += beta[i];
      result.push_back(
          rows.rounding(ids + begin, coefficients.data(), static_cast<Index>(end - begin)));
    }
    return result;
  }

  std::int64_t count() const { return static_cast<std::int64_t>(results_.size()); }
  const std::vector<Result>& results() const { return results_; }
  // Point 0 is where each problem ended, point f + 1 where its fold f did.
  const Points& points(std::size_t point) const { return points_.at(point); }

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t most_iterations() const {
    return point_ == 0 ? max_iterations_ : max_fold_iterations_;
  }

  Result& begin_current() {
    if (!current_) current_ = make_(starts_[ended_], starts_[ended_ + 1]);
    return results_[ended_];
  }

  // Ends the problem or its fold, and begins the next fold, if there is one.
  void end_current() {
    keep_point();
    if (point_ + 1 == points_.size()) return end_problem();
    current_->restart(fold_(point_, starts_[ended_], starts_[ended_ + 1]), fold_tolerance_);
    ++point_;
    iterations_ = 0;
  }

  void end_problem() {
    current_.reset();
    point_ = 0;
    iterations_ = 0;
    ++ended_;
  }

  void keep_point() {
    const SolverState status = current_->finish();
    if (point_ == 0) results_[ended_].status = status;
    Points& points = points_[point_];
    const Dual& dual = current_->dual();
    for (Index k = 0; k < dual.size(); ++k) {
      const std::int64_t place = starts_[ended_] + current_->order().example_at[k];
      points.gradient[place] = dual.gradient[k];
      for (std::size_t s = 0; s < dual.parts.size(); ++s)
        points.beta[s][place] = dual.parts[s].beta[k];
    }
  }

  const Make make_;
  const Fold fold_;
  const std::vector<std::int64_t> starts_;
  const std::int64_t max_iterations_, max_fold_iterations_;
  const double fold_tolerance_;
  std::vector<Points> points_;
  std::vector<Result> results_;
  std::unique_ptr<Decomposition<Real>> current_;
  std::int64_t ended_ = 0;       // problems
  std::size_t point_ = 0;        // the point being solved for: 0, or the fold + 1
  std::int64_t iterations_ = 0;  // on the way to this point
};

}  // namespace softmargin
