"""Pictures of fits and machines.  They need matplotlib: ``pip install softmargin[plot]``.

Each function draws into the Axes `ax` or, without `ax`, into a new figure.  It returns the Axes,
and the caller shows or saves the figure.  Lines have the text colour of the current matplotlib
style, so that dark styles work too.
"""

from softmargin.plotting.calibration import plot_calibration
from softmargin.plotting.convergence import plot_convergence
from softmargin.plotting.decision import plot_decision
from softmargin.plotting.search import plot_search
from softmargin.plotting.support import plot_support

__all__ = [
    "plot_calibration",
    "plot_convergence",
    "plot_decision",
    "plot_search",
    "plot_support",
]
