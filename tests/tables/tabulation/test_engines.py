"""One job, several engines: the same table to the last digit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from postgres_server import NoServerError, postgres_server
from random_records import assert_same_tables, random_records, through
from tablecloak.errors import InterruptedSearch
from tablecloak.jobs.job_file import Job, read_job
from tablecloak.jobs.load import load_problem
from tablecloak.tables.tabulation.engines.engine import ENGINES
from tablecloak.tables.tabulation.records import engine_errors

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Four machines of Java for half a minute: compiling well costs more than running badly."""


def processes(folder: Path, pyspark: Path) -> tuple[list[subprocess.Popen], str]:
    """A master and a worker of Spark on the loopback."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(pyspark),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_TOOL_OPTIONS": QUICK_JAVA,
    }

    def start(name: str, *arguments: str) -> tuple[subprocess.Popen, Path]:
        log = folder / f"{name}.log"
        with log.open("w") as file:
            command = [str(pyspark / "bin" / "spark-class"), *arguments]
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        return process, log

    deploy = "org.apache.spark.deploy"
    ports = ["--host", "127.0.0.1", "--webui-port", "0"]
    master, log = start("master", f"{deploy}.master.Master", "--port", "0", *ports)
    found = None
    for _ in range(3000):
        found = re.search(r"spark://127\.0\.0\.1:\d+", log.read_text())
        if found:
            break
        time.sleep(0.1)
    assert found, log.read_text()
    work = ["--work-dir", str(folder / "work"), "--cores", "1", "--memory", "1g"]
    worker, _ = start("worker", f"{deploy}.worker.Worker", *ports, *work, found.group())
    return [master, worker], found.group()


JOB = """
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
holding = "group"
waiver = "waiver"
waiver_p = "own"
[dimensions.region]
[dimensions.industry]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
"""


def job_with_waivers(folder: Path) -> Job:
    frame = tc.examples.firms(60)
    said = ["yes", "", "No", "1", "TRUE", "0"]
    frame["waiver"], frame["own"] = (said * 10)[: len(frame)], [5, None, None, 12.5, 0] * 12
    frame["group"] = frame["group"].where(frame.index % 3 > 0)
    frame.to_csv(folder / "firms.csv", index=False)
    (folder / "job.toml").write_text(JOB)
    return read_job(folder / "job.toml")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not shutil.which("java"), reason="no Java on this machine")
def test_the_same_job_gives_the_same_table_through_duckdb_and_a_spark_cluster(
    tmp_path, monkeypatch
):
    pyspark = pytest.importorskip("pyspark")
    started, address = processes(tmp_path, Path(pyspark.__file__).parent)
    try:
        job = job_with_waivers(tmp_path)
        one = load_problem(job)
        monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        few = "--conf spark.sql.shuffle.partitions=1 --conf spark.ui.enabled=false pyspark-shell"
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", few)
        other = load_problem(job, address)
        assert assert_same_tables(one.table, other.table) > 20
        assert np.array_equal(one.status, other.status)
        assert np.array_equal(one.upper_protection, other.upper_protection)
        assert one.table.contributions.waivers.full.sum() > 10
        # The work was done by the cluster.
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        assert session.sparkContext.master == address
        session.stop()
    finally:
        for process in started:
            process.terminate()
            process.wait(60)


def test_ctrl_c_in_an_engine_is_no_fault_of_ours_nor_of_the_file(tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise RuntimeError("Query interrupted")

    with pytest.raises(InterruptedSearch), engine_errors("firms.csv"):
        interrupted()
    path = tmp_path / "firms.csv"
    path.write_text("r,v\na,1\n")
    monkeypatch.setattr(ENGINES["duckdb"], "open", interrupted)
    with pytest.raises(InterruptedSearch):
        tc.tabulate(path, ["r"], "v")


def test_unknown_engines_and_databases_are_explained(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("r,v\na,1\nb,2\n")
    with pytest.raises(tc.InputError, match="no engine 'sparc'.*spark"):
        tc.tabulate(path, ["r"], "v", engine="sparc")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(tc.InputError, match=r"tablecloak\[spark\]"):
        tc.tabulate(path, ["r"], "v", engine="spark")
    text = '[data]\nconnection = "postgresql://nobody:secret@127.0.0.1:1/x"\n{}value = "v"\n'
    text += '[dimensions.r]\n[[rules]]\nrule = "minimum-frequency"\nminimum = 3\n[suppression]\n'
    (tmp_path / "job.toml").write_text(text.format(""))
    with pytest.raises(tc.InputError, match="name of a table"):
        read_job(tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(text.format('table = "firms"\n'))
    with pytest.raises(tc.InputError) as error:
        load_problem(read_job(tmp_path / "job.toml"))
    assert "secret" not in str(error.value)
    assert "no server answers" in str(error.value)


def test_a_missing_driver_of_a_database_is_named_with_what_to_type():
    # Ibis loads a backend once, and hides which library it lacks.
    program = """
import sys
sys.modules["psycopg"] = None
from tablecloak.errors import InputError
from tablecloak.tables.tabulation.records import open_database
try:
    open_database("postgresql://nobody:secret@127.0.0.1:1/x", "firms")
except InputError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "need the library psycopg, which is not installed" in done.stdout
    assert "tablecloak[postgres]" in done.stdout and "secret" not in done.stdout


@pytest.mark.parametrize(("codes", "below"), [(["01", "1"], "a b/"), (["x", "y"], "")])
def test_a_database_table_is_aggregated_where_it_lies(tmp_path, codes, below):
    """Any database that Ibis opens; DuckDB stands for a server here."""
    import duckdb

    path = tmp_path / below / "firms.duckdb"
    path.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE firms (r VARCHAR, v DOUBLE)")
        connection.executemany("INSERT INTO firms VALUES (?, ?)", [(codes[0], 5), (codes[1], 7)])
    # As all paths of a job, that of a database is one from its file.
    place = f"{below}firms.duckdb" if below else path
    text = (
        f'[data]\nconnection = "duckdb://{place}"\ntable = "firms"\nvalue = "v"\n[dimensions.r]\n'
    )
    text += '[[rules]]\nrule = "minimum-frequency"\nminimum = 2\n[suppression]\n'
    (tmp_path / "job.toml").write_text(text)
    problem = load_problem(read_job(tmp_path / "job.toml"))
    assert problem.table.to_frame().set_index("r")["v"].to_dict() == {
        "Total": 12, codes[0]: 5, codes[1]: 7,
    }  # fmt: skip
    with pytest.raises(tc.InputError, match="is a database.*connection = 'duckdb://"):
        tc.tabulate(path, ["r"], "v")


@pytest.fixture
def postgres():
    pytest.importorskip("psycopg")
    with ExitStack() as opened:
        try:
            address = opened.enter_context(postgres_server())
        except NoServerError as error:
            pytest.skip(str(error))
        yield address


@pytest.mark.filterwarnings("ignore")
def test_a_table_in_postgresql_is_aggregated_there(postgres):
    import ibis

    firms = tc.examples.firms(300).assign(turnover=lambda f: f["turnover"] / 7)
    connection = ibis.connect(postgres)
    connection.create_table("firms", firms)
    dimensions = {"region": ["part", "region"], "industry": None}
    options = {"value": "turnover", "contributor": "firm", "holding": "group"}
    one = tc.tabulate(firms, dimensions, **options)
    two = tc.tabulate(connection.table("firms"), dimensions, **options)
    assert one.keys.equals(two.keys)
    assert np.array_equal(one.values, two.values)
    for level in ("contributions", "holdings"):
        for name in ("count", "total", "largest"):
            assert np.array_equal(
                getattr(getattr(one, level), name), getattr(getattr(two, level), name)
            )
    connection.disconnect()


@pytest.mark.filterwarnings("ignore")
def test_margins_that_postgresql_finds_are_those_of_duckdb(postgres, monkeypatch):
    import ibis

    connection = ibis.connect(postgres)
    cells = 0
    # Decimals, thirds and large numbers; all plans and kinds of values meet in test_plans.py.
    for seed in (0, 2, 3):
        frame, trees, options = random_records(seed)
        connection.create_table("records", frame, overwrite=True)
        through("numpy", monkeypatch)
        here = tc.tabulate(frame, trees, "v", **options)
        through("engine", monkeypatch)
        there = tc.tabulate(connection.table("records"), trees, "v", **options)
        cells += assert_same_tables(here, there)
    assert cells > 90
    connection.disconnect()


@pytest.mark.parametrize("name", ["data[1].csv", "data[1].parquet", "d*ta?.csv", "v=7/data.csv"])
def test_names_that_look_like_patterns_are_names(tmp_path, name):
    """data[1].csv is not data1.csv, and the folder v=7 is no column v."""
    right = pd.DataFrame({"a": ["x", "z"], "v": [10, 20]})
    wrong = pd.DataFrame({"a": ["x", "y"], "v": [1, 2]})
    for path, frame in ((tmp_path / "data1.csv", wrong), (tmp_path / "dataX.csv", wrong),
                        (tmp_path / name, right)):  # fmt: skip
        path.parent.mkdir(exist_ok=True)
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    wrong.to_parquet(tmp_path / "data1.parquet")
    found = tc.tabulate(tmp_path / name, ["a"], "v")
    assert found.values.tolist() == [30, 10, 20]
    assert found.keys.a.tolist() == ["Total", "x", "z"]


@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
@pytest.mark.parametrize("contributor", [None, "firm"])
def test_an_error_far_down_names_the_line_and_keeps_the_record(tmp_path, contributor, engine):
    """Engines guess types from the first records; what comes later fails while they work."""
    frame = pd.DataFrame({"a": ["x", "y"] * 20_000, "firm": "f", "v": "1.5"})
    frame.loc[35_000] = ["x", "firm 77", "confidential"]
    frame.to_csv(tmp_path / "late.csv", index=False)
    place = "([Ll]ine 35002[,:] )column 'v'"
    with pytest.raises(tc.InputError, match=place) as error:
        tc.tabulate(tmp_path / "late.csv", ["a"], "v", contributor=contributor, engine=engine)
    assert "confidential" not in str(error.value)
    assert "firm 77" not in str(error.value)
    ragged = (tmp_path / "late.csv").read_text().splitlines()
    ragged[30_000] = "x,firm 77,3,confidential"
    (tmp_path / "ragged.csv").write_text("\n".join(ragged[:33_000]))
    with pytest.raises(tc.InputError, match="[Ll]ine 30001.*4 entries.* 3") as error:
        tc.tabulate(tmp_path / "ragged.csv", ["a"], "v", contributor=contributor, engine=engine)
    assert "confidential" not in str(error.value)
    assert "firm 77" not in str(error.value)


def test_columns_that_differ_in_capitals_only_are_refused():
    frame = pd.DataFrame({"a": ["x", "y"], "A": ["p", "q"], "v": [5.0, 7]})
    with pytest.raises(tc.InputError, match="'a' and 'A' differ in capitals only"):
        tc.tabulate(frame, ["a", "A"], "v")


def test_pandas_and_duckdb_read_the_same_codes(tmp_path):
    """NA is a code such as that of Namibia; an empty entry is missing, and 01 is not 1."""
    path = tmp_path / "records.csv"
    path.write_text("a,v,w\n01,0.1,1\nNA,0.2,1\n1,3,1\nnull,1e-3,1\n")
    one, two = (tc.tabulate(path, ["a"], "v", engine=name) for name in ("duckdb", "pandas"))
    assert_same_tables(one, two)
    assert one.keys["a"].tolist() == ["Total", "01", "1", "NA", "null"]
    days = pd.to_datetime(["2026-01-01 00:00", "2026-01-02 12:30"])
    frame = pd.DataFrame({"b": [True, False], "f": [1.0, 2.5], "d": days, "i": [7, 8], "v": [1, 2]})
    for name in ("b", "f", "d", "i"):
        one, two = (tc.tabulate(frame, [name], "v", engine=each) for each in ("duckdb", "pandas"))
        assert_same_tables(one, two)
    (tmp_path / "gap.csv").write_text("a,v\nx,1\n,2\n")
    for engine in ("duckdb", "pandas"):
        with pytest.raises(
            tc.InputError,
            match=r"gap.csv, line 3: the code of dimension 'a' is missing, as in 1 row",
        ):
            tc.tabulate(tmp_path / "gap.csv", ["a"], "v", engine=engine)


@pytest.mark.parametrize("values", [[1e16, 3.5, 7, 2], [2**53 + 1, 1, 2, 3], [-3e40, 0.25, 2, 3]])
@pytest.mark.filterwarnings("ignore")
def test_amounts_with_no_exact_digit_add_up_alike_in_pandas_and_duckdb(tmp_path, values):
    frame = pd.DataFrame({"r": list("aabb"), "firm": list("wxyz"), "v": values})
    frame.to_parquet(tmp_path / "a.parquet")
    for data in (frame, tmp_path / "a.parquet"):
        one, two = (
            tc.tabulate(data, ["r"], "v", contributor="firm", engine=engine)
            for engine in ("duckdb", "pandas")
        )
        assert_same_tables(one, two)
        assert one.values[2] == sum(map(float, values[2:]))
