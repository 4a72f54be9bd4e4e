"""The problems that are solved: formulations, kernels, and their data."""
