// Whole kernel matrices and paths of solutions on them, in float32 and float64.
#include "solution_paths.hpp"

#include "bindings.hpp"

void softmargin::bind_paths(nanobind::module_ float32, nanobind::module_ float64) {
  bind_solution_paths<float>(float32);
  bind_solution_paths<double>(float64);
  bind_whole_matrices(float64);
}
