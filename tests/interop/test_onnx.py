"""Machines as ONNX graphs: onnxruntime's answers are the machine's own, to 1e-9."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType  # noqa: E402

import softmargin.onnx  # noqa: E402, F401 - it registers the machines

pytestmark = pytest.mark.thread_unsafe(reason="skl2onnx keeps its converters in globals")

KERNELS = ["linear", "poly", "rbf", "sigmoid"]


def answers(model, X, tensor=DoubleTensorType, dtype=np.float64):
    graph = skl2onnx.to_onnx(model, initial_types=[("X", tensor([None, X.shape[1]]))])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))


def wine(classes=3):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return X[y < classes], y[y < classes]


def points(X):
    """The training examples, and others near and far."""
    rng = np.random.default_rng(0)
    return np.concatenate([X, X + rng.normal(size=X.shape), 10 * rng.normal(size=X.shape)])


def check_classifier(machine, X):
    found = answers(machine, X)
    np.testing.assert_array_equal(found["label"], machine.predict(X))
    expected = machine.decision_function(X)
    assert found["scores"].shape == expected.shape
    assert found["scores"].dtype == np.float64
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(C=10.0, coef0=0.5),
        SVC(C=10.0, coef0=0.5, multi_class="weston_watkins"),
        SVC(C=10.0, coef0=0.5, multi_class="ovr"),
        NuSVC(nu=0.2, coef0=0.5),
    ],
)
def test_classifiers(machine, classes, kernel):
    X, y = wine(classes)
    machine = machine.set_params(kernel=kernel).fit(X, y)
    check_classifier(machine, points(X))


@pytest.mark.parametrize("options", [{"decision_function_shape": "ovo"}, {"break_ties": True}])
def test_shapes_and_ties_of_decisions(options):
    X, y = wine()
    check_classifier(SVC(gamma=0.5, **options).fit(X, y), points(X))


@pytest.mark.parametrize("multi_class", ["weston_watkins", "crammer_singer", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_machines(multi_class, classes):
    X, y = wine(classes)
    check_classifier(
        LinearSVC(multi_class=multi_class, loss="hinge", random_state=0).fit(X, y), points(X)
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", [SVR(C=100.0), NuSVR(C=100.0)])
def test_regressors(machine, kernel):
    X, y = load_diabetes(return_X_y=True)
    machine = machine.set_params(kernel=kernel, gamma=2.0).fit(X, y)
    (found,) = answers(machine, points(X)).values()
    expected = machine.predict(points(X))[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_class_machines(kernel):
    X, _ = wine()
    machine = OneClassSVM(nu=0.1, kernel=kernel, gamma=0.05, coef0=0.1).fit(X)
    found = answers(machine, points(X))
    np.testing.assert_array_equal(found["label"], machine.predict(points(X)))
    expected = machine.decision_function(points(X))
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        NuSVC(nu=0.2),
        LinearSVC(multi_class="weston_watkins", random_state=0),
        SVR(),
        NuSVR(),
        OneClassSVM(nu=0.1),
    ],
)
def test_pipelines_with_a_scaler(machine, scaler):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(scaler, machine).fit(1000 + 7 * X, y)
    unseen = points(1000 + 7 * X)
    found = answers(pipeline, unseen)
    if "variable" in found:
        expected = pipeline.predict(unseen)[:, None]
        np.testing.assert_allclose(found["variable"], expected, rtol=1e-9, atol=1e-9)
        return
    expected = pipeline.decision_function(unseen)
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found["label"], pipeline.predict(unseen))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_one_feature(scaler, kernel):
    """onnxruntime turns a factor before a matrix product into a float32 attribute of it."""
    X, y = wine()
    X = 3 * X[:, :1] + 0.1
    machine = SVC(kernel=kernel, decision_function_shape="ovo")
    pipeline = make_pipeline(scaler, machine).fit(X, y)
    scores = answers(pipeline, X)["scores"]
    np.testing.assert_allclose(scores, pipeline.decision_function(X), rtol=1e-9, atol=1e-9)


def test_data_far_from_the_origin():
    """Distances would lose six digits without centring."""
    X, y = wine()
    check_classifier(SVC(gamma=0.1).fit(X + 1e4, y), X + 1e4)


@pytest.mark.parametrize(
    "labels", [["kama", "rosa", "canadian"], [-7, 0, 3], [0.0, 1.0, 2.0], [False, True, False]]
)
def test_labels_keep_their_kind(labels):
    X, y = wine()
    machine = SVC().fit(X, np.array(labels)[y])
    np.testing.assert_array_equal(answers(machine, X)["label"], machine.predict(X))


def test_sparse_training_data_and_dense_input():
    X, y = wine()
    check_classifier(SVC().fit(sp.csr_matrix(X), y), X)


def test_precomputed_kernel():
    X, y = wine()
    check_classifier(SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T)


def test_kernel_function_is_refused():
    X, y = wine()
    with pytest.raises(TypeError, match="a Python function"):
        answers(SVC(kernel=lambda A, B: A @ B.T).fit(X, y), X)


def test_float32_input_is_widened():
    X, y = wine()
    X = X.astype(np.float32).astype(np.float64)
    machine = SVC().fit(X, y)
    found = answers(machine, X, FloatTensorType, np.float32)
    np.testing.assert_allclose(found["scores"], machine.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "machine", [SVC(), LinearSVC(multi_class="weston_watkins", random_state=0)]
)
def test_calibrated_by_scikit_learn(machine, classes):
    X, y = wine(classes)
    calibrated = CalibratedClassifierCV(machine, ensemble=False, cv=3).fit(X, y)
    graph = skl2onnx.to_onnx(
        calibrated,
        initial_types=[("X", DoubleTensorType([None, X.shape[1]]))],
        options={id(calibrated): {"zipmap": False}},
    )
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(None, {"X": X})
    np.testing.assert_allclose(probabilities, calibrated.predict_proba(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(label, calibrated.predict(X))
