"""Tasks on a dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tablecloak.budget import running
from tablecloak.errors import InputError
from tablecloak.executors.executor import EXECUTORS, Executor, workers_of
from tablecloak.extras import required

PATIENCE = 5
"""Seconds in which a scheduler must answer."""

HEARING = 0.5
"""Seconds between two looks whether the search is stopped."""

T = TypeVar("T")
R = TypeVar("R")


@EXECUTORS.register
class DaskExecutor(Executor):
    """Tasks on a cluster of dask.distributed, or on one that is started on this machine.

    Parameters
    ----------
    address : str, optional
        Address of the scheduler; by default a cluster of processes is started on this machine.
    workers : int, default=2
        Number of workers of a cluster that is started here.
    """

    name = "dask"
    forms = ("dask", "dask:4", "dask:tcp://scheduler:8786")

    def __init__(self, address: str = "", workers: int = 2) -> None:
        self.address, self._started = address, workers

    @property
    def workers(self) -> int:  # type: ignore[override]
        """Workers of the cluster."""
        if not self.address:
            return self._started
        with _client(self.address) as client:
            return max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)

    @classmethod
    def of(cls, argument: str) -> Executor:
        """Return an executor for the scheduler at an address, or of so many workers here."""
        if "://" in argument:
            return cls(argument)
        if argument and not argument.isdigit():
            raise InputError(
                f"Executor 'dask:{argument}': the address of a scheduler is written as in "
                f"'dask:tcp://scheduler:8786'. Write 'dask' to start a cluster here, 'dask:4' for "
                f"one of four workers."
            )
        return cls(workers=workers_of(cls.name, argument))

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result; dask repeats tasks of dead workers."""
        required("distributed", "Tasks on a dask cluster")
        from distributed import LocalCluster, wait

        cluster: Any = None
        if not self.address:
            cluster = LocalCluster(
                n_workers=self._started,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
            )
        try:
            with _client(cluster or self.address) as client:
                futures = client.map(function, list(tasks), pure=False)
                number = {future.key: at for at, future in enumerate(futures)}
                budget = running()
                while futures and not (budget is not None and budget.hears_stop()):
                    try:
                        done, _ = wait(futures, timeout=HEARING, return_when="FIRST_COMPLETED")
                    except TimeoutError:
                        continue
                    futures = [future for future in futures if future not in done]
                    for future in done:
                        yield number[future.key], future.result()
                client.cancel(futures)
        finally:
            if cluster is not None:
                cluster.close()


def _client(place: Any) -> Any:
    """Connect to a cluster, or say that none answers."""
    from distributed import Client

    try:
        return Client(place, timeout=f"{PATIENCE} s")
    except (OSError, ValueError) as error:
        raise InputError(
            f"Executor 'dask:{place}': no scheduler answers there within {PATIENCE} seconds "
            f"({type(error).__name__}). Start one, or correct the address."
        ) from error
