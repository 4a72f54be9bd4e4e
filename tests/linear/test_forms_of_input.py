"""The same data in another form give the same linear machine."""

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC
from tests.cases.forms import field_of_records, with_strides
from tests.cases.linear import digits, small


def forms(X):
    padded = np.zeros((2 * len(X), X.shape[1]))
    padded[::2] = X
    csr = sp.csr_matrix(X)
    wide_index = csr.copy()
    wide_index.indices = wide_index.indices.astype(np.int64)
    wide_index.indptr = wide_index.indptr.astype(np.int64)
    ends = csr.indptr[1:-1]
    backwards = [
        np.concatenate([row[::-1] for row in np.split(values, ends)])
        for values in (csr.data, csr.indices)
    ]
    halves = np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr
    return {
        "fortran": np.asfortranarray(X),
        "strided": padded[::2],
        "field of records": field_of_records(X),
        "big-endian": X.astype(">f8"),
        "csr": csr,
        "csr array": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "int64 indices": wide_index,
        "unsorted indices": sp.csr_matrix((*backwards, csr.indptr), shape=csr.shape),
        "repeated indices": sp.csr_matrix(halves, shape=csr.shape),
        "strided arrays": with_strides(csr),
    }


@pytest.mark.parametrize("form", list(forms(np.eye(2))))
def test_the_form_of_the_data_does_not_matter(form):
    X, y = small()
    reference = LinearSVC(multi_class="weston_watkins", random_state=0).fit(X, y)
    given = forms(X)[form]
    before = given.copy()
    found = LinearSVC(multi_class="weston_watkins", random_state=0).fit(given, y)
    np.testing.assert_array_equal(found.coef_, reference.coef_)
    if sp.issparse(given):  # which stays as it was given
        np.testing.assert_array_equal(given.indices, before.indices)
    np.testing.assert_allclose(
        found.decision_function(forms(X)[form]), reference.decision_function(X), rtol=1e-12
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_float32_data_are_used_as_they_are(make):
    X, y = digits()
    X32 = X.astype(np.float32)
    a = LinearSVC(multi_class="weston_watkins", random_state=0).fit(make(X32), y)
    b = LinearSVC(multi_class="weston_watkins", random_state=0).fit(make(X32.astype(np.float64)), y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
