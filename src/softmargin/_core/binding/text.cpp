// The submodule `text`: the binding of the text reader and writer.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../libsvm_text.hpp"
#include "arrays.hpp"
#include "bindings.hpp"

namespace softmargin::text {
namespace {

template <class T, std::size_t dims = 1>
using Array = nb::ndarray<T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;
using Bytes = Array<const std::uint8_t>;

std::string_view as_text(const Bytes& block) {
  return {reinterpret_cast<const char*>(block.data()), block.size()};
}

template <class Value, class Offset>
void bind_arrays(nb::module_& m) {
  m.def(
      "fill",
      [](Bytes block, const Plan& plan, Array<double, 2> leading, Array<Value> values,
         Array<Offset> indices, Array<Offset> row_ends, std::int64_t entry_base,
         std::int64_t first_line) {
        const Counts& total = plan.total();
        if (leading.shape(0) != static_cast<std::size_t>(total.rows) ||
            leading.shape(1) != static_cast<std::size_t>(plan.grammar.leading) ||
            row_ends.size() != static_cast<std::size_t>(total.rows) ||
            values.size() != static_cast<std::size_t>(total.entries) ||
            indices.size() != static_cast<std::size_t>(total.entries))
          throw std::invalid_argument("the arrays do not have the size that the plan says");
        nb::gil_scoped_release release;
        return fill<Value, Offset>(
            as_text(block), plan,
            {leading.data(), values.data(), indices.data(), row_ends.data(), entry_base},
            first_line);
      },
      "block"_a, "plan"_a, "leading"_a.noconvert(), "values"_a.noconvert(), "indices"_a.noconvert(),
      "row_ends"_a.noconvert(), "entry_base"_a, "first_line"_a);
  m.def(
      "format",
      [](Array<const double, 2> leading, Array<const Value> values, Array<const Offset> indices,
         Array<const Offset> starts, std::int64_t first_index) {
        const std::size_t rows = leading.shape(0);
        if (starts.size() != rows + 1 || values.size() != indices.size() || starts(0) < 0 ||
            static_cast<std::size_t>(starts(rows)) > values.size())
          throw std::invalid_argument("labels, values, indices and starts do not fit together");
        std::string text;
        {
          nb::gil_scoped_release release;
          text = format(leading.data(), values.data(), indices.data(), starts.data(),
                        static_cast<std::int64_t>(rows),
                        Grammar{static_cast<std::int64_t>(leading.shape(1)), first_index});
        }
        return nb::bytes(text.data(), text.size());
      },
      "leading"_a.noconvert(), "values"_a.noconvert(), "indices"_a.noconvert(),
      "starts"_a.noconvert(), "first_index"_a);
}

}  // namespace
}  // namespace softmargin::text

void softmargin::bind_text(nb::module_ m) {
  using namespace text;
  nb::class_<Problem>(m, "Problem")
      .def_ro("line", &Problem::line)
      .def_ro("column", &Problem::column)
      .def_prop_ro("found",
                   [](const Problem& p) { return nb::bytes(p.found.data(), p.found.size()); })
      .def_ro("expected", &Problem::expected);
  nb::class_<Filled>(m, "Filled")
      .def_ro("problem", &Filled::problem)
      .def_ro("width", &Filled::width);
  nb::class_<Plan>(m, "Plan")
      .def_prop_ro("lines", [](const Plan& p) { return p.total().lines; })
      .def_prop_ro("rows", [](const Plan& p) { return p.total().rows; })
      .def_prop_ro("entries", [](const Plan& p) { return p.total().entries; })
      .def_prop_ro("queries", [](const Plan& p) { return p.total().queries; });
  m.def(
      "plan",
      [](Bytes block, std::int64_t leading, std::int64_t first_index, int threads) {
        nb::gil_scoped_release release;
        return plan(as_text(block), {leading, first_index}, threads);
      },
      "block"_a, "leading"_a, "first_index"_a, "threads"_a);
  m.def(
      "problems",
      [](Bytes block, std::int64_t leading, std::int64_t first_index, std::int64_t first_line,
         std::size_t limit) {
        nb::gil_scoped_release release;
        return problems(as_text(block), {leading, first_index}, first_line, limit);
      },
      "block"_a, "leading"_a, "first_index"_a, "first_line"_a, "limit"_a);
  bind_arrays<float, std::int32_t>(m);
  bind_arrays<float, std::int64_t>(m);
  bind_arrays<double, std::int32_t>(m);
  bind_arrays<double, std::int64_t>(m);
}
