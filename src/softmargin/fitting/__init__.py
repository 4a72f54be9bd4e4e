"""Running the solvers: slices, plans, memory, warm starts, progress."""
