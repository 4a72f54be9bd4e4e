"""Training, saving, loading and predicting with LIBSVM itself (the package libsvm-official)."""

import ctypes

import numpy as np

KINDS = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}
KERNELS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3, "precomputed": 4}


def rows_of(X, precomputed=False):
    """Rows in LIBSVM's form; with a precomputed kernel, each begins with its serial number."""
    if precomputed:
        return [{0: i + 1, **dict(enumerate(map(float, row), 1))} for i, row in enumerate(X)]
    return [{j: float(v) for j, v in enumerate(row, 1) if v != 0} for row in X]


def train(path, kind, kernel, X, y, options):
    from libsvm.svmutil import svm_parameter, svm_problem, svm_save_model, svm_train

    precomputed = kernel == "precomputed"
    problem = svm_problem([float(v) for v in y], rows_of(X, precomputed), isKernel=precomputed)
    text = f"-q -s {KINDS[kind]} -t {KERNELS[kernel]} {options}"
    model = svm_train(problem, svm_parameter(text))
    svm_save_model(str(path), model)


def predict(path, X):
    """Labels and decision values (one per pair of classes) of the model in a file.

    This calls the library directly, because the wrapper's svm_predict allocates memory for only
    one decision value of nu-SVC, whatever the number of classes.
    """
    from libsvm.svm import libsvm
    from libsvm.svmutil import svm_load_model

    model = svm_load_model(str(path))
    precomputed = model.param.kernel_type == KERNELS["precomputed"]
    classes = model.get_nr_class()
    pairs = max(classes * (classes - 1) // 2, 1)
    return _predict(libsvm.svm_predict_values, model, rows_of(X, precomputed), pairs)


def predict_probabilities(path, X):
    """Labels and class probabilities; the classes are in the model's order."""
    from libsvm.svm import libsvm
    from libsvm.svmutil import svm_load_model

    model = svm_load_model(str(path))
    return _predict(libsvm.svm_predict_probability, model, rows_of(X), model.get_nr_class())


def _predict(function, model, rows, count):
    from libsvm.svm import gen_svm_nodearray

    precomputed = model.param.kernel_type == KERNELS["precomputed"]
    room = (ctypes.c_double * count)()
    labels, values = [], []
    for row in rows:
        nodes, _ = gen_svm_nodearray(row, isKernel=precomputed)
        labels.append(function(model, nodes, room))
        values.append(list(room))
    return np.array(labels), np.array(values)
