"""A cluster on this machine for each module of tests."""

import pytest


@pytest.fixture(scope="module")
def client(request):
    """Two workers, in threads unless the module has WORKERS_ARE_PROCESSES."""
    distributed = pytest.importorskip("distributed")
    processes = getattr(request.module, "WORKERS_ARE_PROCESSES", False)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found
