// The binding of kernel expansions: decision values at points.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "../decision.hpp"
#include "arrays.hpp"
#include "row_sources.hpp"

namespace softmargin {

// Support vectors, kernel and coefficients, to be evaluated at points.
template <class Real>
class BoundExpansion {
 public:
  using Coefficients = nb::ndarray<const double, nb::ndim<2>, nb::c_contig>;

  BoundExpansion(const Examples<Real>& vectors, const std::string& function, double gamma,
                 double coef0, int degree, Coefficients coefficients,
                 const std::vector<Index>& group_starts)
      : features_(vectors.features),
        groups_(group_starts.size() - 1),
        coefficients_(coefficients),
        expansion_(vectors, {kernel_function(function), gamma, coef0, degree}, group_starts,
                   coefficients_.data(), static_cast<Index>(coefficients.shape(0))) {
    if (coefficients.shape(1) != static_cast<std::size_t>(vectors.count) ||
        group_starts.front() != 0 || group_starts.back() != vectors.count ||
        !std::is_sorted(group_starts.begin(), group_starts.end()))
      throw std::invalid_argument("vectors, coefficients and groups do not fit together");
  }

  auto at(const Examples<Real>& points, int threads) const {
    check(points);
    const std::size_t count = points.count, outputs = coefficients_.shape(0);
    std::vector<double> sums(count * groups_ * outputs, 0.0);
    {
      nb::gil_scoped_release release;
      expansion_.evaluate(points, threads, sums.data());
    }
    return to_numpy(std::move(sums), {count, groups_, outputs});
  }

  auto rounding(const Examples<Real>& points) const {
    check(points);
    return to_numpy(expansion_.rounding(points), {static_cast<std::size_t>(points.count)});
  }

  // The largest Euclidean norm of the coefficients of a decision value.
  double length() const { return expansion_.longest(); }

 private:
  void check(const Examples<Real>& points) const {
    if (points.features != features_)
      throw std::invalid_argument("points and vectors do not fit together");
  }

  const Index features_;
  const std::size_t groups_;
  const Coefficients coefficients_;
  const Expansion<Real> expansion_;
};

template <class Real>
void bind_expansion(nb::module_ m) {
  nb::class_<BoundExpansion<Real>>(m, "Expansion")
      .def(nb::init<const Examples<Real>&, const std::string&, double, double, int,
                    typename BoundExpansion<Real>::Coefficients, const std::vector<Index>&>(),
           "vectors"_a, "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "coefficients"_a,
           "group_starts"_a, nb::keep_alive<1, 2>())
      .def("at", &BoundExpansion<Real>::at, "points"_a, "threads"_a)
      .def("rounding", &BoundExpansion<Real>::rounding, "points"_a)
      .def("length", &BoundExpansion<Real>::length);
}

}  // namespace softmargin
