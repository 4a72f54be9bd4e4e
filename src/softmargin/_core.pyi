import enum
from types import ModuleType

class Outcome(enum.Enum):
    running = ...
    optimal = ...
    no_progress = ...
    unbounded = ...

class Status:
    outcome: Outcome
    violation: float
    objective: float
    iterations: int
    kernel_rows: int
    kernel_evaluations: int
    cache_hits: int
    active: int

# Examples, Rows, Solver and expansion, with kernel rows in that precision.
float32: ModuleType
float64: ModuleType

# The reader and writer of LIBSVM's text: plan, fill, problems, format.
text: ModuleType

# The linear machines and the sub-problems of their descent.
linear: ModuleType
