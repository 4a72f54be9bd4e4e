"""Support vector machines that are exact, fast and observable, with scikit-learn's conventions."""

from softmargin.classification import SVC, NuSVC
from softmargin.linear import LinearSVC
from softmargin.novelty import OneClassSVM
from softmargin.regression import SVR, NuSVR
from softmargin.solution import Solution, StopReason

__version__ = "0.1.0"

__all__ = ["SVC", "SVR", "LinearSVC", "NuSVC", "NuSVR", "OneClassSVM", "Solution", "StopReason"]
