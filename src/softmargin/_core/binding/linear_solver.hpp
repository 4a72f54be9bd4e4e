// The solver as Python sees it, the same for all linear machines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../linear/solver.hpp"
#include "arrays.hpp"

namespace softmargin::linear {

template <class Value>
const Value* one_each(const RowReader& rows, const Column<Value>& values) {
  if (values.size() != static_cast<std::size_t>(rows.count))
    throw std::invalid_argument("labels, bounds and targets do not fit the examples");
  return values.data();
}

// Calls work(loss) with the loss of the machine of this name, whose columns are separate problems.
template <class Work>
void with_loss(const std::string& name, double epsilon, Work work) {
  if (name == "ovr") return work(Hinge());
  if (name == "ovr_squared") return work(SquaredHinge());
  if (name == "svr") return work(EpsilonInsensitive(epsilon));
  if (name == "svr_squared") return work(SquaredEpsilonInsensitive(epsilon));
  throw std::invalid_argument("unknown machine " + name);
}

// Calls work(machine) with the machine of this name.
template <class Work>
void with_machine(const std::string& name, double epsilon, Work work) {
  if (name == "weston_watkins") return work(WestonWatkins());
  if (name == "crammer_singer") return work(CrammerSinger());
  with_loss(name, epsilon, [&](auto loss) { work(Separate(loss)); });
}

// What Python gives besides the rows.
struct Arguments {
  Column<std::int32_t> labels;
  Column<double> upper;
  std::optional<Column<double>> own_upper, targets;

  Given checked(const RowReader& rows) const {
    return {one_each(rows, labels), one_each(rows, upper),
            own_upper ? one_each(rows, *own_upper) : nullptr,
            targets ? one_each(rows, *targets) : nullptr};
  }
};

// The non-zero dual variables as a CSR matrix, examples x classes: starts, classes, values.
inline nb::tuple to_tuple(FlatVariables flat) {
  const std::size_t size = flat.beta.size(), rows = flat.starts.size();
  return nb::make_tuple(to_numpy(std::move(flat.starts), {rows}),
                        to_numpy(std::move(flat.cls), {size}),
                        to_numpy(std::move(flat.beta), {size}));
}

template <class Real>
class LinearSolver {
 public:
  LinearSolver(const RowReader& rows, std::unique_ptr<AnySolver<Real>> solver)
      : count_(rows.count), features_(rows.features), solver_(std::move(solver)) {}

  DescentReport run(std::int64_t passes, double seconds) { return solver_->run(passes, seconds); }
  DescentReport finish(double seconds) { return solver_->finish(seconds); }

  // The non-zero dual variables as a CSR matrix, examples x classes.
  void start_from(Column<std::int64_t> starts, Column<std::int32_t> cls, Column<double> beta) {
    if (starts.size() != static_cast<std::size_t>(count_) + 1 || cls.size() != beta.size() ||
        starts.data()[count_] != static_cast<std::int64_t>(beta.size()))
      throw std::invalid_argument("the dual variables do not fit the examples");
    solver_->start_from(starts.data(), cls.data(), beta.data());
  }

  // W, features x classes. It is moved out: the solver cannot be used afterwards.
  auto take_weights() {
    const auto classes = static_cast<std::size_t>(solver_->weights().classes());
    return to_numpy(std::move(solver_->weights().values()),
                    {static_cast<std::size_t>(features_), classes});
  }

  auto dual_variables() const { return to_tuple(flatten(solver_->examples())); }

 private:
  std::int32_t count_, features_;
  std::unique_ptr<AnySolver<Real>> solver_;
};

}  // namespace softmargin::linear
