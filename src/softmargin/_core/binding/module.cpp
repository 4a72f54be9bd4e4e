// The Python module, assembled from its parts.
#include "bindings.hpp"
#include "kernel_machines.hpp"

#define SOFTMARGIN_MODULE(name, variable) NB_MODULE(name, variable)
SOFTMARGIN_MODULE(SOFTMARGIN_CORE, m) {
  using namespace softmargin;
  bind_status(m);
  nb::module_ float32 = m.def_submodule("float32"), float64 = m.def_submodule("float64");
  bind_kernel_machines<float>(float32);
  bind_kernel_machines<double>(float64);
  bind_all_classes(m, float32, float64);
  bind_paths(float32, float64);
  bind_text(m.def_submodule("text"));
  nanobind::module_ linear = m.def_submodule("linear");
  bind_linear(linear);
  bind_linear_blocks(linear);
  bind_linear_primal(linear);
  bind_testing(m.def_submodule("testing"));
}
