"""Tasks on a dask cluster, by address or started here."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.executors.dask import DaskExecutor


class Client:
    """A client that does tasks at once and gives their results backwards."""

    seen: list[object] = []  # noqa: RUF012

    def __init__(self, cluster: object, timeout: str) -> None:
        if cluster == "tcp://nobody:1":
            raise OSError(f"no answer in {timeout}")
        self.seen.append(cluster)

    def __enter__(self) -> Client:
        return self

    def cancel(self, futures: list[Done]) -> None:
        self.seen.append([future.key for future in futures])

    def __exit__(self, *_: object) -> None:
        self.seen.append("left")

    def map(self, function, tasks, pure):
        assert not pure, "tasks write files: equal ones must not be merged"
        return [Done(f"key {number}", function, task) for number, task in enumerate(tasks)]


class Done:
    def __init__(self, key, function, task) -> None:
        self.key, self.function, self.task = key, function, task

    def result(self):
        return self.function(self.task)


class Cluster:
    closed = 0

    def __init__(self, **options: object) -> None:
        self.options = options

    def close(self) -> None:
        Cluster.closed += 1


@pytest.fixture
def distributed(monkeypatch):
    library = ModuleType("distributed")
    library.Client, library.LocalCluster = Client, Cluster
    library.wait = lambda futures, timeout, return_when: (set(futures[-1:]), None)
    monkeypatch.setitem(sys.modules, "distributed", library)
    monkeypatch.setattr(Client, "seen", [])
    monkeypatch.setattr(Cluster, "closed", 0)


def test_a_cluster_is_asked_at_its_address_and_left_alone_afterwards(distributed):
    found = dict(DaskExecutor("tcp://host:8786").run(abs, [-1, -2, -3]))
    assert found == {0: 1, 1: 2, 2: 3}
    assert Client.seen == ["tcp://host:8786", [], "left"]
    assert Cluster.closed == 0


def test_without_an_address_a_cluster_for_this_machine_alone_is_started_and_closed(distributed):
    assert sorted(DaskExecutor(workers=3).run(abs, [-1, -2])) == [(0, 1), (1, 2)]
    options = Client.seen[0].options
    assert (options["n_workers"], options["host"]) == (3, "127.0.0.1")
    assert options["dashboard_address"] is None
    assert Cluster.closed == 1


def test_what_has_not_ended_when_the_search_is_stopped_is_cancelled(distributed):
    budget = Budget.of()
    with budget.interruptible():
        found = []
        for one in DaskExecutor("tcp://host:8786").run(abs, [-1, -2, -3]):
            found.append(one)
            budget.stop()
    assert found == [(2, 3)]
    assert Client.seen[1] == ["key 0", "key 1"]


def test_a_cluster_is_closed_also_after_an_error(distributed):
    with pytest.raises(ValueError, match="invalid literal"):
        list(DaskExecutor().run(int, ["x"]))
    assert Cluster.closed == 1


def test_without_the_library_nothing_is_started(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="Tasks on a dask cluster need the library distributed"):
        list(DaskExecutor().run(abs, [-1]))


def test_a_scheduler_that_does_not_answer_is_named(distributed):
    with pytest.raises(InputError, match="'dask:tcp://nobody:1': no scheduler answers"):
        list(DaskExecutor("tcp://nobody:1").run(str, [1]))


@pytest.mark.parametrize("argument", ["x", "-1", "scheduler:8786"])
def test_an_address_names_how_the_scheduler_is_reached(argument):
    with pytest.raises(InputError, match="tcp://scheduler:8786"):
        DaskExecutor.of(argument)
