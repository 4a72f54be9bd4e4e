"""Bad input gets an error that names what is wrong and what to do, and changes nothing: a machine
that was not fitted stays so, and a fitted one predicts as before."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from softmargin.estimator import validation

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
Y = np.arange(20) % 2
THREE = np.arange(20) % 3
Z = rng.normal(size=20)
ALL = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


def dot(A, B):
    return A @ B.T


def with_value(array, value, place=3):
    changed = np.array(array, dtype=float)
    changed[place] = value
    return changed


def refused(machine, words, *arguments, error=ValueError, **keywords):
    """`machine.fit(...)` fails with all of the words in the message, and leaves no trace."""
    pattern = "(?s)" + "".join(f"(?=.*{re.escape(word)})" for word in words)
    before = dict(vars(machine))
    with pytest.raises(error, match=pattern):
        machine.fit(*arguments, **keywords)
    assert vars(machine) == before
    with pytest.raises(NotFittedError):
        machine.predict(X)
    keeps_its_fit(machine, error, arguments, keywords)


def keeps_its_fit(machine, error, arguments, keywords):
    """A machine of the same class that was fitted before is unchanged by the failure."""
    kernel = dot if callable(machine.kernel) else machine.kernel
    good = type(machine)(kernel=kernel if kernel in (dot, "precomputed") else "rbf")
    data = X @ X.T if kernel == "precomputed" else X
    fitted = clone(good).fit(data, Y)
    expected = fitted.predict(data)
    fitted.set_params(**machine.get_params())
    before = dict(vars(fitted))
    with pytest.raises(error):
        fitted.fit(*arguments, **keywords)
    assert vars(fitted) == before
    fitted.set_params(**good.get_params())
    np.testing.assert_array_equal(fitted.predict(data), expected)


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("machine_class", ALL)
def test_examples_that_are_not_finite(machine_class, value):
    word = "NaN" if np.isnan(value) else "infinity"
    refused(machine_class(), ["X", word], with_value(X, value, (2, 1)), Y)
    refused(machine_class(), ["X", word], sp.csr_matrix(with_value(X, value, (2, 1))), Y)
    K = with_value(X @ X.T, value, (2, 1))
    refused(machine_class(kernel="precomputed"), ["X", word], K, Y)
    refused(machine_class(kernel=dot), ["kernel"], with_value(X, value, (2, 1)), Y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kernel", ["rbf", dot])
def test_targets_that_are_not_finite(kernel, value):
    word = "NaN" if np.isnan(value) else "infinity"
    for machine_class in (SVC, NuSVC):
        refused(machine_class(kernel=kernel), ["y", word], X, with_value(Y, value))
    for machine_class in (SVR, NuSVR):
        refused(machine_class(kernel=kernel), ["y", word], X, with_value(Z, value))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("machine_class", ALL)
def test_weights_that_are_not_finite(machine_class, value):
    word = "NaN" if np.isnan(value) else "infinity"
    for weight in (with_value(np.ones(20), value), value):
        refused(machine_class(), ["sample_weight", word], X, Y, sample_weight=weight)


@pytest.mark.parametrize("machine_class", ALL)
def test_weights_of_the_wrong_shape(machine_class):
    for weight in (np.ones(5), np.ones((20, 1))):
        refused(machine_class(), ["sample_weight", str(weight.shape), "(20,)"], X, Y, weight)


@pytest.mark.parametrize("weight", [np.zeros(20), -np.ones(20)])
@pytest.mark.parametrize("machine_class", ALL)
def test_weights_none_of_which_is_positive(machine_class, weight):
    refused(machine_class(), ["zero or negative weights"], X, Y, sample_weight=weight)


@pytest.mark.parametrize("machine_class", ALL)
def test_weights_whose_sum_is_no_number(machine_class):
    weight = np.full(20, 1e308)
    refused(machine_class(), ["sum of sample_weight", "too large"], X, Y, sample_weight=weight)


@pytest.mark.parametrize("machine_class", [SVC, SVR, NuSVR])
def test_weights_whose_price_is_no_number(machine_class):
    for C, weight, word in ((1e308, 10.0, "large"), (1e-300, 1e-100, "small")):
        refused(machine_class(C=C), [f"C={C} times", f"too {word}"], X, Y, sample_weight=weight)
    refused(NuSVR(C=1e308), ["C=1e+308 times", "too large", "Lower C"], X, Y)
    machine_class(C=1e300).fit(X, Y, sample_weight=1e-300)


# --- classes and rows --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", dot])
@pytest.mark.parametrize("machine_class", [SVC, NuSVC])
def test_one_class(machine_class, kernel):
    refused(machine_class(kernel=kernel), ["number of classes", "1 class"], X, np.zeros(20))
    refused(machine_class(kernel=kernel), ["number of classes", "1 class"], X[:1], Y[:1])


def test_a_class_whose_weights_are_zero():
    weight = (THREE != 1) * 1.0
    for machine in (SVC(), NuSVC(nu=0.1)):
        refused(machine, ["class 1", "zero weight", "positive"], X, THREE, sample_weight=weight)
    refused(SVC(), ["same class", "positive weight"], X, Y, sample_weight=Y)
    refused(SVC(class_weight={0: 0}), ["class_weight={0: 0}", "positive"], X, Y)
    refused(SVC(class_weight={0: np.nan}), ["class_weight", "finite"], X, Y)
    refused(SVC(class_weight={0: -1.0}), ["class_weight", "positive"], X, Y)
    refused(SVC(class_weight={7: 1.0}), ["class_weight"], X, Y)


@pytest.mark.parametrize("machine_class", ALL)
def test_no_rows_or_columns(machine_class):
    refused(machine_class(), ["0 sample(s)", "minimum of 1"], X[:0], Y[:0])
    refused(machine_class(kernel=dot), ["no samples", "at least one"], X[:0], Y[:0])
    refused(machine_class(), ["0 feature(s)"], X[:, :0], Y)
    refused(machine_class(), ["Expected 2D array"], X[:, 0], Y)


def test_lengths_that_differ():
    for kernel in ("rbf", dot):
        refused(SVC(kernel=kernel), ["inconsistent numbers of samples", "[20, 5]"], X, Y[:5])
    refused(SVC(), ["y", "1d", "(20, 2)"], X, np.column_stack([Y, Y]))


@pytest.mark.parametrize("machine_class", [SVR, NuSVR, OneClassSVM])
def test_one_row_is_enough_where_it_can_be(machine_class):
    machine = machine_class().fit(X[:1], Z[:1])
    assert np.isfinite(machine.predict(X)).all()


def test_infeasible_nu_is_found_before_any_kernel_work():
    def never(A, B):
        raise AssertionError("the kernel was asked")

    y = np.array(["few"] * 3 + ["many"] * 17)
    words = ["nu is infeasible", "nu=0.5", "'few'", "'many'", "at most 0.3", "Decrease nu"]
    refused(NuSVC(kernel=never), words, X, y)
    y[10:] = "most"
    refused(NuSVC(kernel=never, nu=0.7), ["infeasible", "'few'", "'many'"], X, y)
    NuSVC(nu=0.3).fit(X, np.array([0] * 3 + [1] * 17))  # the largest feasible nu is accepted
    NuSVC(nu=0.9, class_weight="balanced").fit(X, np.array([0] * 3 + [1] * 17))


# --- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine_class", "name", "values"),
    [
        *((c, "C", [-1.0, 0.0, np.nan, "1", None]) for c in (SVC, SVR, NuSVR)),
        (NuSVR, "C", [np.inf]),
        *((c, "tol", [-1.0, 0.0, np.nan, np.inf, "small"]) for c in ALL),
        *((c, "cache_size", [-1.0, 0.0, np.nan, "big", None]) for c in ALL),
        *((c, "gamma", [-1.0, np.nan, np.inf, "wide", None]) for c in ALL),
        *((c, "degree", [-1, 2.5, np.nan, 2**31]) for c in ALL),
        *((c, "coef0", [np.nan, np.inf, "0"]) for c in ALL),
        *((c, "nu", [-0.1, 0.0, 1.1, np.nan]) for c in (NuSVC, NuSVR, OneClassSVM)),
        (SVR, "epsilon", [-0.1, np.nan, np.inf]),
        *((c, "kernel", ["gauss", None, 3]) for c in ALL),
        *((c, "shrinking", ["yes", 2]) for c in ALL),
        *((c, "max_iter", [-2, 1.5]) for c in ALL),
        (SVC, "decision_function_shape", ["all", None]),
        (SVC, "class_weight", ["equal", [1, 2]]),
        (SVC, "break_ties", ["maybe"]),
    ],
)
def test_parameters_out_of_range(machine_class, name, values):
    for value in values:
        words = [f"'{name}' parameter of {machine_class.__name__}", "must be", repr(value)]
        refused(machine_class(**{name: value}), words, X, Y)


# --- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine_class", ALL)
def test_precomputed_matrix_of_wrong_shape(machine_class):
    refused(machine_class(kernel="precomputed"), ["square", "20x3"], X, Y)
    machine = machine_class(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match=r"7 features.*expecting 20"):
        machine.predict(np.ones((3, 7)))
    refused(
        machine_class(kernel="precomputed"),
        ["Sparse"],
        sp.eye(20, format="csr"),
        Y,
        error=TypeError,
    )


KERNEL_ANSWERS = {
    "wrong shape": (lambda A, B: np.ones((3, 3)), ["shape (3, 3)", "20"]),
    "transposed": (lambda A, B: np.ones((len(B) + 1, len(A))), ["shape", "20"]),
    "flat": (lambda A, B: dot(A, B).ravel(), ["shape"]),
    "nothing": (lambda A, B: None, ["kernel function", "real number"]),
    "NaN": (lambda A, B: np.full((len(A), len(B)), np.nan), ["NaN", "finite"]),
    "infinite": (lambda A, B: np.full((len(A), len(B)), np.inf), ["infinity", "finite"]),
    "complex": (lambda A, B: dot(A, B) * 1j, ["complex", "real"]),
    "text": (lambda A, B: np.full((len(A), len(B)), "a"), ["real number"]),
}


@pytest.mark.parametrize("answer", KERNEL_ANSWERS)
@pytest.mark.parametrize("machine_class", ALL)
def test_kernel_function_with_a_wrong_answer(machine_class, answer):
    function, words = KERNEL_ANSWERS[answer]
    refused(machine_class(kernel=function), words, X, Y)


def test_kernel_function_that_fails_late():
    """A wrong answer only for some rows, or only at prediction."""

    def bad_row(A, B):
        return dot(A, B) if len(A) > 1 else np.full((1, len(B)), np.nan)

    machine = SVC(kernel=bad_row, C=100.0)
    refused(machine, ["NaN", "finite"], X, Y)

    def raises(A, B):
        raise KeyError("my own error")

    refused(SVC(kernel=raises), ["my own error"], X, Y, error=KeyError)
    machine = SVC(kernel=dot).fit(X, Y)
    machine.kernel = lambda A, B: dot(A, B)[:, 1:]
    with pytest.raises(ValueError, match="shape"):
        machine.predict(X)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("machine_class", ALL)
def test_kernel_that_overflows(machine_class, sparse):
    huge = X * 1e80
    huge = sp.csr_matrix(huge) if sparse else huge
    machine = machine_class(kernel="poly", gamma=1.0, degree=5)
    refused(machine, ["kernel value of rows", "inf", "finite", "Scale the data"], huge, Y)
    for kernel in ("linear", "rbf", "sigmoid"):
        machine = machine_class(kernel=kernel, gamma=1.0)
        refused(machine, ["kernel value of rows", "finite", "Scale the data"], huge * 1e130, Y)
    refused(machine_class(), ["gamma='scale'", "variance", "Scale"], huge * 1e130, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e25, 1e-25])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernel_values_beyond_float32_alone(kernel, scale, dtype):
    """Rows are float32 from 1000 examples on; what only float64 can hold is fitted in float64."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1100, 2)).astype(np.float32)
    y = np.where(points[:, 0] + 0.1 * points[:, 1] ** 2 > 0, 1, -1)
    scaled = (points * scale).astype(dtype)
    gamma, C = 0.5 / scale**2, 1 / scale**2 if kernel == "linear" else 1.0
    machine = SVC(kernel=kernel, gamma=gamma, C=C, tol=1e-4).fit(scaled, y)
    unscaled = SVC(kernel=kernel, gamma=0.5, tol=1e-4).fit(points, y)
    values, expected = machine.decision_function(scaled), unscaled.decision_function(points)
    np.testing.assert_allclose(values, expected, atol=1e-2)
    fresh = points[:30] + np.float32(0.01)
    values = machine.decision_function((fresh * scale).astype(dtype))
    np.testing.assert_allclose(values, unscaled.decision_function(fresh), atol=1e-2)
    if kernel == "rbf" or scale > 1:  # products that are too small are zero
        with pytest.raises(ValueError, match="kernel value of rows"):
            SVC(kernel=kernel, gamma=gamma, precision="float32").fit(scaled, y)


def test_kernel_that_overflows_off_the_diagonal_only():
    """(<a, b> - 1e155)^2 is moderate where a = b, and infinite where they are orthogonal."""
    rows = np.sqrt(1e155) * np.eye(4)
    machine = SVC(kernel="poly", gamma=1.0, degree=2, coef0=-1e155)
    refused(machine, ["kernel value of rows", "inf", "finite"], rows, [0, 1, 0, 1])


def test_kernel_that_overflows_at_prediction():
    machine = SVC(kernel="poly", gamma=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"row 2 of X is not finite.*Scale"):
        machine.predict(with_value(X, 1e150, (2, 0)))


# --- prediction --------------------------------------------------------------------------------


@pytest.mark.parametrize("machine_class", ALL)
def test_prediction_on_bad_rows(machine_class):
    machine = machine_class()
    with pytest.raises(NotFittedError):
        machine.predict(X)
    machine.fit(X, Y)
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        machine.predict(with_value(X, np.nan, (0, 0)))
    with pytest.raises(ValueError, match=r"sparse input.*trained on dense"):
        machine.predict(sp.csr_matrix(X))
    machine.fit(sp.csr_matrix(X), Y)
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        machine.predict(sp.csr_matrix(X[:, :2]))


def test_ties_cannot_be_broken_between_pairs():
    machine = SVC(break_ties=True, decision_function_shape="ovo").fit(X, THREE)
    with pytest.raises(ValueError, match=r"break_ties must be False.*'ovo'"):
        machine.predict(X)


ALTERATIONS = {
    "fewer coefficients": lambda m: {"dual_coef_": m.dual_coef_[:, :3]},
    "more rows of coefficients": lambda m: {"dual_coef_": np.vstack([m.dual_coef_] * 2)},
    "coefficients in one dimension": lambda m: {"dual_coef_": m.dual_coef_[0]},
    "no coefficients": lambda m: {"dual_coef_": None},
    "fewer vectors": lambda m: {"support_vectors_": m.support_vectors_[:3]},
    "vectors with fewer features": lambda m: {"support_vectors_": m.support_vectors_[:, :2]},
    "vectors of integers": lambda m: {"support_vectors_": m.support_vectors_.astype(int)},
    "vectors as a list": lambda m: {"support_vectors_": m.support_vectors_.tolist()},
    "sparse vectors": lambda m: {"support_vectors_": sp.csr_matrix(m.support_vectors_)},
    "fewer indices": lambda m: {"support_": m.support_[:3]},
    "no indices": lambda m: {"support_": None},
    "counts of vectors": lambda m: {"_n_support": np.array([1000, -900, 5])},
    "more intercepts": lambda m: {"intercept_": np.zeros(7)},
    "more classes": lambda m: {"classes_": np.arange(9)},
    "fewer features": lambda m: {"n_features_in_": 2},
    "another kernel": lambda m: {"kernel": "precomputed"},
}


@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_altered_attributes(alteration, y):
    machine = SVC().fit(X, y)
    vars(machine).update(ALTERATIONS[alteration](machine))
    new = X[:, : machine.n_features_in_]
    with pytest.raises(ValueError, match=r"internal representation of SVC was altered.*Fit"):
        machine.predict(new)


def test_altered_kernel_name_and_values():
    machine = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="kernel='gauss'"):
        clone_of(machine, kernel="gauss").predict(X)
    with pytest.raises(ValueError, match="not finite"):
        clone_of(machine, dual_coef_=machine.dual_coef_ * np.nan).predict(X)
    with pytest.raises(ValueError, match="not finite"):
        clone_of(machine, _gamma=np.nan).predict(X)
    reordered = clone_of(machine, support_vectors_=np.asfortranarray(machine.support_vectors_))
    np.testing.assert_array_equal(reordered.predict(X), machine.predict(X))


def clone_of(machine, **changes):
    copy = clone(machine)
    vars(copy).update({**vars(machine), **changes})
    return copy


@pytest.mark.parametrize("shift", [100, -100])
def test_altered_indices_of_a_precomputed_kernel(shift):
    machine = SVC(kernel="precomputed").fit(X @ X.T, Y)
    machine.support_ = machine.support_ + shift
    with pytest.raises(ValueError, match="altered"):
        machine.predict(X @ X.T)
    machine.support_ = (machine.support_ - shift).astype(float)
    with pytest.raises(ValueError, match="altered"):
        machine.predict(X @ X.T)


SPARSE_ALTERATIONS = {
    "indices of vectors": ("support_vectors_", "indices", lambda a: a + 50),
    "negative indices": ("support_vectors_", "indices", lambda a: a - 50),
    "starts of vectors": ("support_vectors_", "indptr", lambda a: a * 5),
    "values of vectors": ("support_vectors_", "data", lambda a: a[:2]),
    "indices of coefficients": ("dual_coef_", "indices", lambda a: a + 999),
    "values of coefficients": ("dual_coef_", "data", lambda a: a[:2]),
}


@pytest.mark.parametrize("alteration", SPARSE_ALTERATIONS)
def test_altered_sparse_attributes(alteration):
    attribute, part, change = SPARSE_ALTERATIONS[alteration]
    machine = SVC().fit(sp.csr_matrix(X), Y)
    matrix = getattr(machine, attribute)
    setattr(matrix, part, change(getattr(matrix, part)))
    with pytest.raises(ValueError, match="altered"):
        machine.predict(sp.csr_matrix(X))


# --- sparse matrices ---------------------------------------------------------------------------


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("change", [lambda i: i + 7, lambda i: -i - 1], ids=["beyond", "negative"])
def test_indices_beyond_the_matrix(change, index_type):
    broken = sp.csr_matrix(X)
    broken.indices = change(broken.indices).astype(index_type)
    broken.indptr = broken.indptr.astype(index_type)
    refused(SVC(), ["X is not a valid CSR matrix", "indices", "Build it again"], broken, Y)
    machine = SVC().fit(sp.csr_matrix(X), Y)
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        machine.predict(broken)


def test_starts_beyond_the_entries():
    broken = sp.csr_matrix(X)
    broken.indptr = broken.indptr.copy()
    broken.indptr[3] = 1000
    refused(SVC(), ["X is not a valid CSR matrix"], broken, Y)


def test_more_columns_than_an_index_can_count():
    wide = sp.csr_matrix(
        (np.ones(2), np.array([0, 2**31 + 5], dtype=np.int64), np.array([0, 1, 2], dtype=np.int64)),
        shape=(2, 2**31 + 10),
    )
    words = ["X has the shape (2, 2147483658)", "2147483647", "fewer features"]
    refused(SVC(kernel="linear"), words, wide, [0, 1])


@pytest.mark.thread_unsafe(reason="replaces a function of a module")
@pytest.mark.parametrize("machine", [SVC(), SVR(), LinearSVC()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X, y),
        lambda X, y: (X.astype(np.float32), y.astype(np.int8)),
        lambda X, y: (X, y.astype(float)),
        lambda X, y: (X, y.astype(bool)),
        lambda X, y: (X, y * 1e20),
        lambda X, y: (X, -y.astype(np.float32)),
        lambda X, y: (X, y + 0.5),
        lambda X, y: (X, y.astype(">i4")),
        lambda X, y: (with_value(X, np.nan), y),
        lambda X, y: (X, with_value(y, np.nan)),
        lambda X, y: (np.full_like(X, np.inf), y),
        lambda X, y: (np.full_like(X, 1e300), y),
        lambda X, y: (X, y[:-1]),
        lambda X, y: (X, y[:, None]),
        lambda X, y: (X, np.arange(len(y))),
        lambda X, y: (X[:0], y[:0]),
        lambda X, y: (X[:, :0], y),
        lambda X, y: (X.astype(object), y),
        lambda X, y: (X, None),
    ],
)
def test_quick_checks_find_what_scikit_learn_finds(machine, change, monkeypatch):
    """Plain arrays skip scikit-learn's validation: errors, warnings, attributes stay the same."""
    rng = np.random.default_rng(0)
    X, y = change(rng.normal(size=(12, 3)), np.arange(12) % 3)

    def outcome():
        own = clone(machine)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                own.fit(X, y)
            except Exception as error:
                return type(error), str(error)
        told = [(w.category, str(w.message)) for w in said]
        return told, own.n_features_in_, own.solution_.dual_objective, own.predict(X[:3]).tolist()

    quick = outcome()
    monkeypatch.setattr(validation, "is_plain", lambda X: False)
    monkeypatch.setattr(validation, "INTEGERS", "")
    monkeypatch.setattr(validation, "_are_whole", lambda classes: False)
    assert outcome() == quick


def test_a_fit_to_plain_arrays_forgets_the_names_of_features():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    machine = SVC().fit(X, y)
    machine.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    assert not hasattr(machine.fit(X, y), "feature_names_in_")
