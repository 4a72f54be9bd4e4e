// One function for each translation unit of the binding, so that they are compiled in parallel.
#pragma once

#include <nanobind/nanobind.h>

namespace softmargin {

template <class Real>
void bind_kernel_machines(nanobind::module_ m);
extern template void bind_kernel_machines<float>(nanobind::module_ m);
extern template void bind_kernel_machines<double>(nanobind::module_ m);
void bind_all_classes(nanobind::module_ m, nanobind::module_ float32, nanobind::module_ float64);
void bind_paths(nanobind::module_ float32, nanobind::module_ float64);
void bind_linear(nanobind::module_ m);
void bind_linear_blocks(nanobind::module_ m);
void bind_linear_primal(nanobind::module_ m);
void bind_testing(nanobind::module_ m);
void bind_text(nanobind::module_ m);

}  // namespace softmargin
