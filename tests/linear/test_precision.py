"""Weights in float32 first: the certificate is float64's."""

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC
from tests.cases.linear import MACHINES, digits, primal


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_in_float32_end_with_a_certificate_in_float64(machine):
    X, y = digits()
    for tol in (1e-2, 1e-8):
        found = LinearSVC(
            multi_class=machine,
            loss="hinge",
            precision="float32",
            tol=tol,
            max_iter=20_000,
            random_state=0,
        ).fit(X, y)
        assert found.solution_.converged
        assert found.coef_.dtype == np.float64
        assert found.solution_.primal_objective == pytest.approx(
            primal(found, X, y, np.ones(len(y))), rel=1e-11
        )


def test_float32_first_is_chosen_where_the_weights_are_large():
    X, y = digits()
    assert (
        LinearSVC(multi_class="weston_watkins", random_state=0).fit(X, y).solution_.precision
        == "float64"
    )
    wide = sp.csr_matrix((X[:60].ravel(), np.tile(np.arange(64) * 300, 60), np.arange(61) * 64))
    found = LinearSVC(multi_class="weston_watkins", tol=1e-8, max_iter=20_000, random_state=0).fit(
        wide, y[:60]
    )
    assert found.solution_.precision == "float32"
    exact = LinearSVC(
        multi_class="weston_watkins", precision="float64", tol=1e-8, max_iter=20_000, random_state=0
    )
    assert found.solution_.primal_objective == pytest.approx(
        exact.fit(wide, y[:60]).solution_.primal_objective, rel=1e-8
    )
