// The same problems for a sequence of bounds: the values of C in a search. Each problem starts from
// the solution of the one before, and their kernel matrix is copied only once, or not at all: a
// problem on all rows of the matrix uses it where it is. (Rows that do not belong to the problem
// then have variables whose bounds are both zero; their gradient is their decision value.)
//
// Given: a kernel matrix; problems k on its rows ids[starts[k]] ... ids[starts[k + 1] - 1], in the
// same arrays; and for each step of the path, p and bounds. Where only the bounds differ, by a
// common factor, a step starts from the last one's solution (continuation.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "continuation.hpp"
#include "decomposition.hpp"
#include "working_set/near_solution.hpp"

namespace softmargin {

template <class Real>
class SolutionPaths {
 public:
  // The matrix of the rows ids[begin] ... ids[end - 1], row after row. There is space for a copy.
  using Load = std::function<const Real*(std::int64_t begin, std::int64_t end, Real* space)>;
  // The problem in the range [begin, end) of the arrays, at a step of the path.
  using State = std::function<Dual(std::size_t step, std::int64_t begin, std::int64_t end)>;

  struct Result {
    SolverState status;
    double seconds = 0;
  };

  // scales[step]: the bounds of a step divided by those of the step before; 0: unrelated, the step
  // begins at its own start.
  SolutionPaths(Load load, State state, Index most_free, std::vector<std::int64_t> starts,
                std::vector<double> scales, std::size_t parts, double tolerance,
                double gap_tolerance, std::int64_t max_iterations, std::function<void()> check)
      : load_(std::move(load)),
        state_(std::move(state)),
        most_free_(most_free),
        check_(std::move(check)),
        starts_(std::move(starts)),
        scales_(std::move(scales)),
        tolerance_(tolerance),
        gap_tolerance_(gap_tolerance),
        max_iterations_(max_iterations),
        gradient_(scales_.size() * starts_.back()),
        beta_(parts, std::vector<double>(scales_.size() * starts_.back())),
        results_(scales_.size() * count()) {}

  // Continues until the time is up or everything is solved. Returns how many problems have ended,
  // each step of each path counted.
  std::int64_t run(double max_seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(max_seconds);
    for (auto now = Clock::now(); ended_ < total() && now < end;) {
      const auto began = now;
      begin_current();
      Result& result = current_result();
      result.status = current_->run(max_iterations_ - result.status.iterations,
                                    std::chrono::duration<double>(end - began).count());
      now = Clock::now();
      result.seconds += std::chrono::duration<double>(now - began).count();
      if (result.status.outcome != Outcome::running || result.status.iterations >= max_iterations_)
        end_current();
    }
    return ended_;
  }

  std::int64_t total() const { return static_cast<std::int64_t>(results_.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::size_t steps() const { return scales_.size(); }
  std::int64_t variables() const { return starts_.back(); }
  // Step by step, problem by problem.
  const std::vector<Result>& results() const { return results_; }
  const std::vector<double>& gradient() const { return gradient_; }
  const std::vector<double>& beta(std::size_t part) const { return beta_.at(part); }

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t step() const { return static_cast<std::size_t>(ended_) % steps(); }
  std::int64_t problem() const { return ended_ / static_cast<std::int64_t>(steps()); }
  Result& current_result() { return results_[step() * count() + problem()]; }

  // Enough for the largest problem. Not initialised, because it may never be used.
  Real* space() {
    if (space_) return space_.get();
    std::int64_t largest = 0;
    for (std::int64_t k = 0; k < count(); ++k)
      largest = std::max(largest, starts_[k + 1] - starts_[k]);
    space_.reset(new Real[static_cast<std::size_t>(largest) * largest]);
    return space_.get();
  }

  void begin_current() {
    if (current_) return;
    const std::int64_t begin = starts_[problem()], end = starts_[problem() + 1];
    const Index size = static_cast<Index>(end - begin);
    if (step() == 0) {
      newton_ = std::make_unique<ActiveNewton<Real>>(most_free_, 1);
      source_ = std::make_unique<StoredRows<Real>>(load_(begin, end, space()), size);
    }
    Dual dual = state_(step(), begin, end);
    const bool continues = step() > 0 && scales_[step()] > 0;
    std::vector<double> gradient;
    if (continues)
      gradient = Continuation<Real>(before_, scales_[step()], source_->stored()).start(dual);
    std::vector<Index> ids(size);
    std::iota(ids.begin(), ids.end(), Index(0));
    current_ = std::make_unique<Decomposition<Real>>(
        std::move(dual), KernelMatrix<Real>(*source_, std::move(ids), 0, 1, check_),
        std::make_unique<NearSolution<Real>>(size, *newton_, most_free_, continues), tolerance_,
        gap_tolerance_);
    if (continues) current_->start_from(std::move(gradient));
  }

  void end_current() {
    current_result().status = current_->finish();
    before_ = current_->dual();
    const std::int64_t place = static_cast<std::int64_t>(step()) * variables() + starts_[problem()];
    std::copy(before_.gradient.begin(), before_.gradient.end(), gradient_.begin() + place);
    for (std::size_t s = 0; s < beta_.size(); ++s)
      std::copy(before_.parts[s].beta.begin(), before_.parts[s].beta.end(),
                beta_[s].begin() + place);
    current_.reset();
    ++ended_;
  }

  const Load load_;
  const State state_;
  const Index most_free_;
  const std::function<void()> check_;
  const std::vector<std::int64_t> starts_;
  const std::vector<double> scales_;
  const double tolerance_, gap_tolerance_;
  const std::int64_t max_iterations_;
  std::vector<double> gradient_;
  std::vector<std::vector<double>> beta_;
  std::vector<Result> results_;
  std::unique_ptr<Real[]> space_;
  std::unique_ptr<StoredRows<Real>> source_;
  std::unique_ptr<ActiveNewton<Real>> newton_;
  std::unique_ptr<Decomposition<Real>> current_;
  Dual before_;
  std::int64_t ended_ = 0;
};

}  // namespace softmargin
