"""scikit-learn's checks of estimators, for the linear machines."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import LinearSVC, LinearSVR
from tests.cases.linear import MACHINES

REGRESSION = ("epsilon_insensitive", "squared_epsilon_insensitive")


# The checks compare decision values to 1e-7, so the fits go as far as rounding allows, and say so;
# and some are on data of large scale, where the descent is slow.
@pytest.mark.thread_unsafe(reason="some of the checks count warnings, which all threads share")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        LinearSVC(multi_class=machine, loss="hinge", tol=1e-15, max_iter=20_000)
        for machine in MACHINES
    ]
    + [LinearSVC(multi_class="weston_watkins", precision="float32", tol=1e-15, max_iter=20_000)]
    + [LinearSVC(dual=dual, tol=1e-18, max_iter=20_000) for dual in ("auto", True)]
    + [
        LinearSVC(multi_class=machine, probability=True, tol=1e-18, max_iter=20_000)
        for machine in MACHINES
    ]
    + [LinearSVR(loss=loss, tol=1e-15, max_iter=20_000) for loss in REGRESSION]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
