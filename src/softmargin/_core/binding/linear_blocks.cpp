// The binding of blocks of examples that descend side by side. No algorithms here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "../linear/block.hpp"
#include "bindings.hpp"
#include "linear_solver.hpp"

namespace softmargin::linear {
namespace {

class PythonBlock {
 public:
  PythonBlock(const RowReader& rows, std::int32_t classes, std::unique_ptr<AnyBlock> block)
      : count_(rows.count),
        features_(static_cast<std::size_t>(rows.features)),
        classes_(static_cast<std::size_t>(classes)),
        block_(std::move(block)) {}

  nb::tuple step(Column<double> W, double factor) {
    check(W);
    BlockStep found;
    {
      nb::gil_scoped_release release;
      found = block_->step(W.data(), factor);
    }
    return nb::make_tuple(to_numpy(std::move(found.change), {W.size()}), found.rise, found.cost,
                          found.curved);
  }

  void accept(double length) { block_->accept(length); }

  nb::tuple measure(Column<double> W) {
    check(W);
    BlockMeasure found;
    {
      nb::gil_scoped_release release;
      found = block_->measure(W.data());
    }
    return nb::make_tuple(found.loss, found.gap, found.violation);
  }

  auto start_from(Column<std::int64_t> starts, Column<std::int32_t> cls, Column<double> beta) {
    if (starts.size() != static_cast<std::size_t>(count_) + 1 || cls.size() != beta.size() ||
        starts.data()[count_] != static_cast<std::int64_t>(beta.size()))
      throw std::invalid_argument("the dual variables do not fit the examples");
    return to_numpy(block_->start_from(starts.data(), cls.data(), beta.data()),
                    {features_ * classes_});
  }

  nb::tuple dual_variables() const { return variables_of(block_->examples()); }
  double estimated_gap() const { return block_->estimated_gap(); }
  double dual() { return block_->dual(); }

 private:
  void check(const Column<double>& W) const {
    if (W.size() != features_ * classes_) throw std::invalid_argument("W does not fit the block");
  }

  std::int32_t count_;
  std::size_t features_, classes_;
  std::unique_ptr<AnyBlock> block_;
};

}  // namespace
}  // namespace softmargin::linear

void softmargin::bind_linear_blocks(nb::module_ m) {
  using namespace linear;
  nb::class_<PythonBlock>(m, "ExampleBlock")
      .def(
          "__init__",
          [](PythonBlock* self, const RowReader& rows, Column<std::int32_t> labels,
             Column<double> upper, std::int32_t classes, const std::string& machine, bool shrinking,
             std::uint64_t seed, std::optional<Column<double>> own_upper,
             std::optional<Column<double>> targets, double epsilon) {
            const Given given = Arguments{labels, upper, own_upper, targets}.checked(rows);
            with_machine(machine, epsilon, [&]<class Machine>(Machine made) {
              new (self) PythonBlock(rows, classes,
                                     std::make_unique<ExampleBlock<Machine>>(
                                         rows, given, classes, made, shrinking, seed));
            });
          },
          "rows"_a, "labels"_a, "upper"_a, "classes"_a, "machine"_a, "shrinking"_a, "seed"_a,
          "own_upper"_a = nb::none(), "targets"_a = nb::none(), "epsilon"_a = 0.0,
          nb::keep_alive<1, 2>())
      .def("step", &PythonBlock::step, "W"_a, "factor"_a)
      .def("accept", &PythonBlock::accept, "length"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("measure", &PythonBlock::measure, "W"_a)
      .def("start_from", &PythonBlock::start_from, "starts"_a, "classes"_a, "beta"_a)
      .def("dual_variables", &PythonBlock::dual_variables)
      .def("estimated_gap", &PythonBlock::estimated_gap)
      .def("dual", &PythonBlock::dual);
}
