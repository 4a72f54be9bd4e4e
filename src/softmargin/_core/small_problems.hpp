// Many small problems, solved one after the other by the decomposition method: with thousands of
// pairs of classes, a call from Python for each would take longer than its solution.
//
// Given: the arrays of all problems, concatenated; problem k has [starts[k], starts[k + 1]) of
// each. run() continues where it stopped, as it does for a single problem.
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

  struct Result {
    SolverState status;
    double seconds = 0;
  };

  SmallProblems(Make make, std::vector<std::int64_t> starts, std::size_t parts,
                std::int64_t max_iterations)
      : make_(std::move(make)),
        starts_(std::move(starts)),
        max_iterations_(max_iterations),
        gradient_(starts_.back()),
        beta_(parts, std::vector<double>(starts_.back())),
        results_(starts_.size() - 1) {}

  // Continues until the time is up (by one step at least) or all problems have ended. Returns how
  // many have ended.
  std::int64_t run(double max_seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    auto now = Clock::now();
    while (ended_ < count()) {
      const auto began = now;
      Result& result = begin_current();
      result.status = current_->run(max_iterations_ - result.status.iterations,
                                    std::chrono::duration<double>(end - began).count());
      const bool over =
          result.status.outcome != Outcome::running || result.status.iterations >= max_iterations_;
      if (over) end_current();
      now = Clock::now();
      result.seconds += std::chrono::duration<double>(now - began).count();
      if (now >= end) break;
    }
    // A slice may end between two problems. A caller that looks then sees the start of the next
    // one.
    if (ended_ < count() && !current_) {
      Result& next = begin_current();
      next.status = current_->run(0, 0.0);
    }
    return ended_;
  }

  // Ends all other problems at their current point, with the gradient of all variables.
  void finish() {
    for (; ended_ < count();) {
      begin_current();
      end_current();
    }
  }

  // An estimate, for each problem, of the error in decision values from rounded kernel values.
  std::vector<double> roundings(const RowSource<Real>& rows, const Index* ids) const {
    std::vector<double> result, coefficients;
    for (std::int64_t k = 0; k < count(); ++k) {
      const std::int64_t begin = starts_[k], end = starts_[k + 1];
      coefficients.assign(end - begin, 0.0);
      for (const std::vector<double>& beta : beta_)
        for (std::int64_t i = begin; i < end; ++i) coefficients[i - begin] += beta[i];
      result.push_back(
          rows.rounding(ids + begin, coefficients.data(), static_cast<Index>(end - begin)));
    }
    return result;
  }

  std::int64_t count() const { return static_cast<std::int64_t>(results_.size()); }
  const std::vector<Result>& results() const { return results_; }
  const std::vector<double>& gradient() const { return gradient_; }
  const std::vector<double>& beta(std::size_t part) const { return beta_.at(part); }

 private:
  using Clock = std::chrono::steady_clock;

  Result& begin_current() {
    if (!current_) current_ = make_(starts_[ended_], starts_[ended_ + 1]);
    return results_[ended_];
  }

  void end_current() {
    results_[ended_].status = current_->finish();
    const Dual& dual = current_->dual();
    const std::int64_t begin = starts_[ended_];
    for (Index k = 0; k < dual.size(); ++k) {
      const std::int64_t place = begin + current_->order().example_at[k];
      gradient_[place] = dual.gradient[k];
      for (std::size_t s = 0; s < beta_.size(); ++s) beta_[s][place] = dual.parts[s].beta[k];
    }
    current_.reset();
    ++ended_;
  }

  const Make make_;
  const std::vector<std::int64_t> starts_;
  const std::int64_t max_iterations_;
  std::vector<double> gradient_;
  std::vector<std::vector<double>> beta_;
  std::vector<Result> results_;
  std::unique_ptr<Decomposition<Real>> current_;
  std::int64_t ended_ = 0;
};

}  // namespace softmargin
