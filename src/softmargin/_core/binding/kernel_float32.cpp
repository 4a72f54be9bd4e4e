// The kernel machines with kernel rows in float32.
#include "kernel_machines.hpp"

template void softmargin::bind_kernel_machines<float>(nanobind::module_ m);
