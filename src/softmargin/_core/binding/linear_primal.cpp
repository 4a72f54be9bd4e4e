// The binding of what the primal methods of the linear machines need. No algorithms here.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../linear/coordinates.hpp"
#include "../linear/gram.hpp"
#include "../linear/smoothed_loss.hpp"
#include "bindings.hpp"
#include "linear_solver.hpp"

namespace softmargin::linear {
namespace {

void check_size(std::size_t found, std::size_t expected) {
  if (found != expected) throw std::invalid_argument("an array does not fit the examples");
}

template <class Value, class Offset>
void bind_coordinate_descent(nb::module_ m, const char* name) {
  using Descent = CoordinateDescent<Value, Offset>;
  nb::class_<Descent>(m, name)
      .def(
          "__init__",
          [](Descent* self, Column<Value> values, Column<Offset> rows, Column<Offset> starts,
             double constant, Column<double> C, Column<double> t, Column<double> penalty,
             Column<double> curvature) {
            const bool dense = starts.size() == 0;
            const auto width = static_cast<std::int32_t>(penalty.size()) - (constant != 0);
            check_size(t.size(), C.size());
            check_size(curvature.size(), penalty.size());
            if (dense)
              check_size(values.size(), C.size() * static_cast<std::size_t>(width));
            else
              check_size(starts.size(), static_cast<std::size_t>(width) + 1);
            const Columns<Value, Offset> columns{values.data(), dense ? nullptr : rows.data(),
                                                 starts.data(), static_cast<std::int32_t>(C.size()),
                                                 width,         constant};
            SparseWeights weights{to_vector(C), to_vector(t), to_vector(penalty), {}, {}};
            new (self) Descent(columns, std::move(weights), to_vector(curvature));
          },
          "values"_a.noconvert(), "rows"_a.noconvert(), "starts"_a.noconvert(), "constant"_a, "C"_a,
          "t"_a, "penalty"_a, "curvature"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 4>())
      .def(
          "start_from",
          [](Descent& self, Column<double> w) {
            check_size(w.size(), self.weights().size());
            self.start_from(w.data());
          },
          "w"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("run", &Descent::run, "features"_a, "epochs"_a, "tolerance"_a, "seed"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("newton", &Descent::newton, "features"_a, "steps"_a, "tolerance"_a, "whole"_a.none(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("weights",
           [](const Descent& self) { return to_numpy(self.weights(), {self.weights().size()}); })
      .def("errors",
           [](const Descent& self) { return to_numpy(self.errors(), {self.errors().size()}); });
}

}  // namespace
}  // namespace softmargin::linear

void softmargin::bind_linear_primal(nb::module_ m) {
  using namespace linear;
  m.def(
      "scores",
      [](const RowReader& rows, Column<double> w) {
        check_size(w.size(), rows.features);
        std::vector<double> found;
        {
          nb::gil_scoped_release release;
          found = rows.scores(w.data());
        }
        return to_numpy(std::move(found), {static_cast<std::size_t>(rows.count)});
      },
      "rows"_a, "w"_a);
  m.def(
      "combination",
      [](const RowReader& rows, Column<double> r) {
        check_size(r.size(), rows.count);
        std::vector<double> found;
        {
          nb::gil_scoped_release release;
          found = rows.combination(r.data());
        }
        return to_numpy(std::move(found), {static_cast<std::size_t>(rows.features)});
      },
      "rows"_a, "r"_a);
  nb::class_<Curvature>(m, "Curvature")
      .def(nb::init<const RowReader&>(), "rows"_a, nb::keep_alive<1, 2>())
      .def_prop_ro(
          "rows", [](const Curvature& self) -> const RowReader& { return self.rows; },
          nb::rv_policy::reference_internal)
      .def(
          "at",
          [](Curvature& self, Column<double> h) {
            check_size(h.size(), self.rows.count);
            const auto width = static_cast<std::size_t>(self.rows.features);
            std::vector<double> found;
            {
              nb::gil_scoped_release release;
              found = self.at(h.data());
            }
            return to_numpy(std::move(found), {width, width});
          },
          "h"_a)
      .def("forget", &Curvature::forget);
  m.def(
      "gram_diagonal",
      [](const RowReader& rows, Column<double> h) {
        check_size(h.size(), rows.count);
        std::vector<double> found;
        {
          nb::gil_scoped_release release;
          found = gram_diagonal(rows, h.data());
        }
        return to_numpy(std::move(found), {static_cast<std::size_t>(rows.features)});
      },
      "rows"_a, "h"_a);
  m.def(
      "respond",
      [](const std::string& machine, double epsilon, Column<double> C, Column<double> e,
         Column<double> anchor, double width) {
        check_size(e.size(), C.size());
        check_size(anchor.size(), C.size());
        nb::tuple found;
        with_loss(machine, epsilon, [&]<class Loss>(Loss loss) {
          typename SmoothedLoss<Loss>::Response response;
          {
            nb::gil_scoped_release release;
            const SmoothedLoss<Loss> smoothed(loss, C.data(), C.size());
            response = smoothed.respond(e.data(), {anchor.data(), width});
          }
          found = nb::make_tuple(to_numpy(std::move(response.beta), {C.size()}),
                                 to_numpy(std::move(response.curved), {C.size()}), response.loss,
                                 response.gap);
        });
        return found;
      },
      "machine"_a, "epsilon"_a, "C"_a, "e"_a, "anchor"_a, "width"_a);
  m.def(
      "slope",
      [](const std::string& machine, double epsilon, Column<double> C, Column<double> e,
         Column<double> change, double length, Column<double> anchor, double width) {
        for (const auto& array : {e, change, anchor}) check_size(array.size(), C.size());
        double found = 0;
        with_loss(machine, epsilon, [&]<class Loss>(Loss loss) {
          nb::gil_scoped_release release;
          const SmoothedLoss<Loss> smoothed(loss, C.data(), C.size());
          found = smoothed.slope(e.data(), change.data(), length, {anchor.data(), width});
        });
        return found;
      },
      "machine"_a, "epsilon"_a, "C"_a, "e"_a, "change"_a, "length"_a, "anchor"_a, "width"_a);
  bind_coordinate_descent<float, std::int32_t>(m, "CoordinateDescentFloat32");
  bind_coordinate_descent<float, std::int64_t>(m, "CoordinateDescentFloat32Long");
  bind_coordinate_descent<double, std::int32_t>(m, "CoordinateDescentFloat64");
  bind_coordinate_descent<double, std::int64_t>(m, "CoordinateDescentFloat64Long");
}
