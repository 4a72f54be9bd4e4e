// The kernel machines with kernel rows in float64.
#include "kernel_machines.hpp"

template void softmargin::bind_kernel_machines<double>(nanobind::module_ m);
