"""Linear machines on a Dask cluster of threads: the same optimum, certificate and bits."""

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from softmargin import LinearSVC, LinearSVR
from softmargin.checkpoint import Checkpoint, CheckpointError
from tests.cases.linear import iris

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from softmargin.dask import ClusterError, DaskLinearSVC, DaskLinearSVR  # noqa: E402

pytestmark = pytest.mark.thread_unsafe(reason="a cluster of its own")
OPTIONS = {"tol": 1e-2, "C": 0.01, "random_state": 0}


def arrays(rows=40, columns=4, layout=np.asarray):
    X, y = iris()
    X = da.from_array(X, chunks=(rows, columns)).map_blocks(layout)
    return X, da.from_array(y, chunks=rows)


@pytest.mark.parametrize(
    "options",
    [{"multi_class": "weston_watkins"}, {"loss": "hinge"}, {"class_weight": {0: 2.0}}],
    ids=str,
)
@pytest.mark.parametrize("blocks", [1, 4])
def test_the_optimum_and_the_bits_of_local_blocks(client, options, blocks):
    X, y = iris()
    found = DaskLinearSVC(n_blocks=blocks, **OPTIONS, **options).fit(*arrays())
    best = LinearSVC(**{**OPTIONS, "tol": 1e-6}, **options).fit(X, y).solution_
    assert found.solution_.converged
    assert found.solution_.relative_gap <= OPTIONS["tol"]
    assert found.solution_.dual_objective <= best.primal_objective * (1 + 1e-9)
    assert found.solution_.primal_objective >= best.dual_objective * (1 - 1e-9)
    if blocks > 1:
        local = LinearSVC(n_blocks=blocks, **OPTIONS, **options).fit(X, y)
        np.testing.assert_array_equal(found.coef_, local.coef_)
        assert found.solution_.primal_objective == local.solution_.primal_objective
    assert found.traffic_["losses"] == 0
    assert found.traffic_["sent"] > 0
    assert found.traffic_["received"] > 0


def test_chunks_of_sparse_rows_in_several_columns_of_chunks(client):
    dense = DaskLinearSVC(n_blocks=3, **OPTIONS).fit(*arrays(columns=2))
    sparse = DaskLinearSVC(n_blocks=3, **OPTIONS).fit(*arrays(layout=sp.csr_matrix))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    X, _ = arrays(layout=sp.csr_matrix)
    np.testing.assert_array_equal(
        sparse.predict(X).compute(), sparse.to_local().predict(sp.csr_matrix(iris()[0]))
    )


def test_uneven_blocks_empty_ones_and_blocks_that_lack_classes(client):
    """The classes of iris are sorted: most of these blocks have one."""
    X, y = iris()
    sizes = (1, 0, 99, 3, 47)
    found = DaskLinearSVC(**OPTIONS).fit(
        da.from_array(X).rechunk((sizes, 4)), da.from_array(y).rechunk((sizes,))
    )
    assert found.solution_.converged
    assert "5 blocks" in found.solution_.working_set_reason
    best = LinearSVC(**{**OPTIONS, "tol": 1e-6}).fit(X, y).solution_.primal_objective
    assert found.solution_.primal_objective == pytest.approx(best, rel=1e-2)


def test_weights_are_repetitions(client):
    X, y = iris()
    weight = np.arange(len(y)) % 3
    options = {**OPTIONS, "tol": 1e-5, "n_blocks": 2}
    weighted = DaskLinearSVC(**options).fit(arrays()[0], y, weight.astype(float)).solution_
    repeated = LinearSVC(**{**OPTIONS, "tol": 1e-5}).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.primal_objective == pytest.approx(repeated.solution_.primal_objective, rel=2e-5)


def test_regression_and_lazy_predictions(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, 0.0, -1.0, 2.0] + rng.standard_normal(60)
    found = DaskLinearSVR(n_blocks=3, epsilon=0.2, **OPTIONS).fit(da.from_array(X), y)
    local = LinearSVR(n_blocks=3, epsilon=0.2, **OPTIONS).fit(X, y)
    np.testing.assert_array_equal(found.coef_, local.coef_)
    chunks = da.from_array(X).rechunk(((20, 0, 40), 4))
    predicted = found.predict(chunks)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    np.testing.assert_array_equal(found.predict(X), local.predict(X))


def test_scores_of_classes_that_are_names(client):
    X, y = arrays()
    names = np.array(["setosa", "versicolor", "virginica"])
    found = DaskLinearSVC(n_blocks=2, **OPTIONS).fit(X, y.map_blocks(lambda codes: names[codes]))
    local = found.to_local()
    assert found.classes_.tolist() == names.tolist()
    assert set(found.predict(X).compute()) == set(names)
    np.testing.assert_allclose(
        found.decision_function(X).compute(), local.decision_function(iris()[0])
    )
    copied = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copied.predict(iris()[0]), local.predict(iris()[0]))
    assert clone(DaskLinearSVC(client=client)).client is client


def test_dataframes(client):
    pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    import dask.dataframe as dd

    X, y = iris()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["y"] = y
    parts = dd.from_pandas(frame, npartitions=3)
    found = DaskLinearSVC(**OPTIONS).fit(parts[list("abcd")], parts["y"])
    assert found.solution_.converged
    assert found.feature_names_in_.tolist() == list("abcd")
    predicted = found.predict(parts[list("abcd")]).compute()
    np.testing.assert_array_equal(predicted, found.to_local().predict(frame[list("abcd")]))
    with pytest.raises(ValueError, match=r"fitted to \['a', 'b', 'c', 'd'\]"):
        found.predict(parts[list("badc")])


def test_limits_callbacks_and_no_task_left(client):
    seen = []
    stopping = DaskLinearSVC(
        n_blocks=3, callbacks=[lambda s: seen.append(s) or s.iterations >= 3], **OPTIONS
    )
    with pytest.warns(UserWarning, match="callback"):
        stopping.fit(*arrays())
    assert stopping.n_iter_ == 3
    assert 0 < stopping.solution_.relative_gap < 1
    with pytest.warns(UserWarning, match="time limit"):
        late = DaskLinearSVC(n_blocks=3, time_limit=0.0, **OPTIONS).fit(*arrays())
    assert late.n_iter_ == 0
    with pytest.warns(UserWarning, match="max_iter=2"):
        DaskLinearSVC(n_blocks=3, max_iter=2, **OPTIONS).fit(*arrays())

    def interrupt(status):
        if status.iterations:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DaskLinearSVC(n_blocks=3, callbacks=[interrupt], **OPTIONS).fit(*arrays())
    assert not [key for key in client.processing().values() if key]
    assert not any("softmargin" in str(key) for key in client.futures)


def test_a_checkpoint_resumes_after_the_client_has_died(client, tmp_path):
    def die(status):
        if status.iterations == 25:
            raise RuntimeError("the end of this client")

    path = tmp_path / "fit"
    options = {**OPTIONS, "C": 1.0, "tol": 1e-3, "checkpoint": Checkpoint(path, 0.0), "n_blocks": 3}
    machine = DaskLinearSVC(callbacks=[die], loss="hinge", **options)
    with pytest.raises(RuntimeError, match="this client"):
        machine.fit(*arrays())
    assert not hasattr(machine, "coef_")
    with pytest.raises(CheckpointError, match="other data"):
        machine.set_params(callbacks=None).fit(arrays()[0] + 1, arrays()[1])
    seen = []
    resumed = DaskLinearSVC(callbacks=[seen.append], loss="hinge", **options).fit(*arrays())
    assert seen[0].iterations >= 10
    assert resumed.solution_.converged
    assert not path.exists()


def test_waits_have_a_limit_and_say_what_they_wait_for(client):
    X, y = arrays()
    stuck = X.map_blocks(slowly, meta=np.empty((0, 0)))
    with pytest.raises(ClusterError, match=r"Waited 0.5 s for the data of 4 blocks.*2 workers"):
        DaskLinearSVC(wait_limit=0.5, **OPTIONS).fit(stuck, y)


def slowly(block):
    time.sleep(2.0)
    return block


def test_errors(client):
    X, y = arrays()
    with pytest.raises(ValueError, match="NaN"):
        DaskLinearSVC().fit(X.map_blocks(lambda block: np.where(block > 2, np.nan, block)), y)
    with pytest.raises(TypeError, match=r"X is of the type ndarray.*from_array"):
        DaskLinearSVC().fit(*iris())
    with pytest.raises(ValueError, match="X has 150 rows, and y has 149"):
        DaskLinearSVC().fit(X, y[1:])
    with pytest.raises(ValueError, match="number of classes"):
        DaskLinearSVC().fit(X, da.zeros(150, chunks=40))
    with pytest.raises(ValueError, match=r"C.*must be"):
        DaskLinearSVC(C=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="wait_limit=0"):
        DaskLinearSVC(wait_limit=0).fit(X, y)
    with pytest.raises(TypeError, match="not asynchronous"):
        DaskLinearSVC(client="here").fit(X, y)
    with pytest.raises(ValueError, match="all samples have zero"):
        DaskLinearSVR().fit(X, y, da.zeros(150, chunks=40))


def test_without_dask_the_message_says_what_to_install():
    code = "import sys; sys.modules['distributed'] = None; import softmargin.dask"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "pip install 'softmargin[dask]'" in ran.stderr


def test_without_a_client_the_message_says_how_to_start_one(monkeypatch):
    def none():
        raise ValueError("No global client found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match="no Dask client"):
        DaskLinearSVC().fit(*arrays())


def test_without_its_scheduler_a_fit_ends_with_a_message():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        own = distributed.Client(cluster, set_as_default=False)

        def shut(status):
            if status.iterations == 2:
                own.close()

        with pytest.raises(ClusterError, match="connection to the scheduler is lost"):
            DaskLinearSVC(client=own, callbacks=[shut], n_blocks=2, **OPTIONS).fit(*arrays())
