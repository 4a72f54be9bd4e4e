"""Machines on a Dask cluster: exact, certified, and surviving lost workers."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"softmargin.dask needs Dask ({error}). Install it with: pip install 'softmargin[dask]'"
    ) from error

from softmargin.dask.cluster import ClusterError
from softmargin.dask.estimators import DaskLinearSVC, DaskLinearSVR
from softmargin.dask.kernel_machines import on_cluster

__all__ = ["ClusterError", "DaskLinearSVC", "DaskLinearSVR", "on_cluster"]
