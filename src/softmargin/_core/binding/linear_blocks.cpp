// The binding of blocks of examples that descend side by side. No algorithms here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../linear/block.hpp"
#include "bindings.hpp"
#include "linear_solver.hpp"

namespace softmargin::linear {
namespace {

using Variables = std::tuple<Column<std::int64_t>, Column<std::int32_t>, Column<double>>;

FlatView view_of(const Variables& variables, std::size_t examples) {
  const auto& [starts, cls, beta] = variables;
  if (starts.size() != examples + 1 || cls.size() != beta.size() ||
      starts.data()[examples] != static_cast<std::int64_t>(beta.size()))
    throw std::invalid_argument("the dual variables do not fit the examples");
  return {starts.data(), cls.data(), beta.data()};
}

nb::tuple variables_between(const Variables& from, const Variables& to, std::int32_t classes,
                            double share) {
  const std::size_t examples = std::get<0>(from).size() - 1;
  const FlatView a = view_of(from, examples), b = view_of(to, examples);
  FlatVariables found;
  {
    nb::gil_scoped_release release;
    found = between(a, b, examples, classes, share);
  }
  return to_tuple(std::move(found));
}

class PythonBlock {
 public:
  PythonBlock(const RowReader& rows, std::int32_t classes, std::unique_ptr<AnyBlock> block)
      : count_(static_cast<std::size_t>(rows.count)),
        entries_(static_cast<std::size_t>(rows.features) * static_cast<std::size_t>(classes)),
        block_(std::move(block)) {}

  nb::tuple step(Column<double> W, const Variables& variables, double factor, std::uint64_t seed,
                 std::int64_t passes, std::optional<Column<std::uint8_t>> plans,
                 std::optional<Column<double>> gaps) {
    check(W);
    const FlatView view = view_of(variables, count_);
    if (plans.has_value() != gaps.has_value() || (gaps && gaps->size() != count_) ||
        (plans && plans->size() != count_ * (VisitPlan::bytes + 1)))
      throw std::invalid_argument("the plans do not fit the examples");
    const BlockTask task{factor, seed, passes, plans ? plans->data() : nullptr,
                         gaps ? gaps->data() : nullptr};
    BlockStep found;
    {
      nb::gil_scoped_release release;
      found = block_->step(W.data(), view, task);
    }
    const std::size_t bytes = found.plans.size();
    return nb::make_tuple(to_tuple(std::move(found.variables)),
                          to_numpy(std::move(found.plans), {bytes}),
                          to_numpy(std::move(found.gaps), {count_}), sums_of(found));
  }

  nb::tuple jump(const Variables& now, const std::vector<Variables>& past, Column<double> ahead) {
    if (ahead.size() != past.size())
      throw std::invalid_argument("there must be a number for each earlier point");
    const FlatView view = view_of(now, count_);
    std::vector<FlatView> views;
    for (const Variables& one : past) views.push_back(view_of(one, count_));
    BlockStep found;
    {
      nb::gil_scoped_release release;
      found = block_->jump(view, views, ahead.data());
    }
    return nb::make_tuple(to_tuple(std::move(found.variables)), sums_of(found));
  }

  nb::tuple measure(Column<double> W, const Variables& variables) {
    check(W);
    const FlatView view = view_of(variables, count_);
    BlockMeasure found;
    {
      nb::gil_scoped_release release;
      found = block_->measure(W.data(), view);
    }
    return nb::make_tuple(found.loss, found.gap, found.violation);
  }

  nb::tuple weigh(const Variables& variables) {
    const FlatView view = view_of(variables, count_);
    std::pair<std::vector<double>, double> found;
    {
      nb::gil_scoped_release release;
      found = block_->weigh(view);
    }
    return nb::make_tuple(to_numpy(std::move(found.first), {entries_}), found.second);
  }

 private:
  void check(const Column<double>& W) const {
    if (W.size() != entries_) throw std::invalid_argument("W does not fit the block");
  }
  nb::tuple sums_of(BlockStep& found) const {
    return nb::make_tuple(to_numpy(std::move(found.change), {entries_}), found.rise, found.cost,
                          found.curved, found.gap);
  }

  std::size_t count_, entries_;  // of examples; of W
  std::unique_ptr<AnyBlock> block_;
};

}  // namespace
}  // namespace softmargin::linear

void softmargin::bind_linear_blocks(nb::module_ m) {
  using namespace linear;
  m.def("between", &variables_between, "before"_a, "after"_a, "classes"_a, "share"_a);
  nb::class_<PythonBlock>(m, "ExampleBlock")
      .def(
          "__init__",
          [](PythonBlock* self, const RowReader& rows, Column<std::int32_t> labels,
             Column<double> upper, std::int32_t classes, const std::string& machine, bool shrinking,
             std::optional<Column<double>> own_upper, std::optional<Column<double>> targets,
             double epsilon) {
            const Given given = Arguments{labels, upper, own_upper, targets}.checked(rows);
            with_machine(machine, epsilon, [&]<class Machine>(Machine made) {
              new (self) PythonBlock(
                  rows, classes,
                  std::make_unique<ExampleBlock<Machine>>(rows, given, classes, made, shrinking));
            });
          },
          "rows"_a, "labels"_a, "upper"_a, "classes"_a, "machine"_a, "shrinking"_a,
          "own_upper"_a = nb::none(), "targets"_a = nb::none(), "epsilon"_a = 0.0,
          nb::keep_alive<1, 2>())
      .def("step", &PythonBlock::step, "W"_a, "variables"_a, "factor"_a, "seed"_a, "passes"_a,
           "plans"_a.none(), "gaps"_a.none())
      .def("jump", &PythonBlock::jump, "now"_a, "past"_a, "ahead"_a)
      .def("measure", &PythonBlock::measure, "W"_a, "variables"_a)
      .def("weigh", &PythonBlock::weigh, "variables"_a);
}
