"""Agencies on machines of their own: results, drop-outs, late and malformed messages."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f as f_distribution

import tablecloak as tc
from tablecloak.microdata.agencies import Study, make_certificate, read_study, take_part, wire
from tablecloak.microdata.agencies.agency import Agency, records
from tablecloak.microdata.agencies.regression import secure_regression

NAMES = ["north", "east", "south"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in [*NAMES, "stranger"]:
        make_certificate(name, folder)
    return folder


WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
PORTS = itertools.count(20_000 + 1_000 * WORKER)
"""Below those that the system gives away, and others for each worker."""


def free_port() -> int:
    for port in PORTS:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError


def study_file(folder: Path, certificates: Path, *, names=NAMES, **entries) -> Path:
    chosen = {"kind": "regression", "response": "y", "predictors": ["a", "b"], "timeout": 20}
    lines = [f"{name} = {json.dumps(value)}" for name, value in (chosen | entries).items()]
    for name in names:
        lines += [
            "[[agency]]",
            f'name = "{name}"',
            f'address = "127.0.0.1:{free_port()}"',
            f'certificate = "{certificates / name}.crt"',
        ]
    path = folder / "study.toml"
    path.write_text("\n".join(lines))
    return path


def data(seed: int = 1) -> dict[str, pd.DataFrame]:
    random = np.random.default_rng(seed)
    frames = {}
    for name in NAMES:
        frame = pd.DataFrame(random.normal(40, 10, (60, 2)), columns=["a", "b"])
        frames[name] = frame.assign(y=3 + 2 * frame.a - frame.b + random.normal(0, 5, 60))
    return frames


def run_all(study: Study, agencies: dict[str, Agency], certificates: Path) -> dict[str, object]:
    """Run agencies side by side; what each returns, or the error it ends with."""
    found: dict[str, object] = {}

    def run(name: str, agency: Agency) -> None:
        try:
            found[name] = take_part(study, agency, certificates / f"{name}.key")
        except tc.TablecloakError as error:
            found[name] = error

    threads = [threading.Thread(target=run, args=entry) for entry in agencies.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(found) == set(agencies)
    return found


def holders(frames: dict[str, pd.DataFrame]) -> dict[str, Agency]:
    return {name: records(name, f[["a", "b"]], f["y"]) for name, f in frames.items()}


@pytest.mark.parametrize("shares", [1, 3])
def test_three_agencies_get_the_regression_over_all_records(tmp_path, certificates, shares):
    study = read_study(study_file(tmp_path, certificates, shares=shares))
    frames = data()
    found = run_all(study, holders(frames), certificates)
    everything = pd.concat(frames.values())
    full = np.column_stack([np.ones(len(everything)), everything[["a", "b"]]])
    expected, *_ = np.linalg.lstsq(full, everything["y"], rcond=None)
    residual = everything["y"] - full @ expected
    for result in found.values():
        np.testing.assert_allclose(result.coefficients, expected, rtol=1e-9)
        assert result.n == len(everything)
        total = np.sum((everything["y"] - everything["y"].mean()) ** 2)
        f_statistic = (total - residual @ residual) / 2 / (residual @ residual / (result.n - 3))
        assert result.f_statistic == pytest.approx(f_statistic, rel=1e-7)
        assert f_distribution.sf(f_statistic, 2, result.n - 3) < 1e-6
        assert result.aic == pytest.approx(
            result.n * (np.log(2 * np.pi * residual @ residual / result.n) + 1) + 2 * 4, rel=1e-9
        )


def test_the_size_of_messages_tells_nothing_of_the_numbers(tmp_path, certificates, monkeypatch):
    """Encrypted text is as long as what was encrypted: a total of 3 must not be shorter."""
    sent, send = [], wire.Wire.send

    async def seen(self, name, message, **options):
        sent[-1].append((self.name, name, message.kind, len(message.model_dump_json())))
        await send(self, name, message, **options)

    monkeypatch.setattr(wire.Wire, "send", seen)
    study = read_study(study_file(tmp_path, certificates, kind="sum", response=""))
    for total in (3.0, 3e20, -3e20):
        sent.append([])
        own = {name: Agency(name, lambda *_, v=total: [v / 3, 0.0]) for name in NAMES}
        found = run_all(study, own, certificates)
        assert all(result["a"] == pytest.approx(total) for result in found.values())
    sizes = [sorted(each) for each in sent]
    assert sizes[0] == sizes[1] == sizes[2]


def test_logistic_regression_takes_several_rounds_and_equals_that_in_one_process(
    tmp_path, certificates
):
    frames = {name: frame.assign(y=(frame.y > 43) * 1.0) for name, frame in data().items()}
    study = read_study(study_file(tmp_path, certificates, kind="logistic"))
    found = run_all(study, holders(frames), certificates)
    parts = [(frame[["a", "b"]], frame["y"]) for frame in frames.values()]
    expected = secure_regression(parts, ["a", "b"], logistic=True)
    assert expected.iterations > 2
    eta = np.concatenate(
        [expected.coefficients[0] + x @ expected.coefficients[1:] for x, _ in parts]
    )
    y = np.concatenate([y for _, y in parts])
    chance = 1 / (1 + np.exp(-eta))
    likelihood = -2 * np.sum(np.log(np.where(y == 1, chance, 1 - chance)))
    assert expected.deviance == pytest.approx(likelihood, rel=1e-6)
    for result in found.values():
        np.testing.assert_allclose(result.coefficients, expected.coefficients, rtol=1e-9)
        assert result.iterations == expected.iterations


def test_the_commands_work_in_processes_of_their_own(tmp_path, certificates):
    path = study_file(tmp_path, certificates, kind="sum", predictors=["a", "b"])
    frames = data()
    runs = []
    for name in reversed(NAMES):
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
        command = [sys.executable, "-m", "tablecloak.cli.main", "agencies", "join", str(path)]
        command += [str(tmp_path / f"{name}.csv"), "--as", name]
        command += ["--key", str(certificates / f"{name}.key")]
        command += ["--output", str(tmp_path / f"{name}-result.csv")]
        runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    for run in runs:
        text, _ = run.communicate(timeout=100)
        assert run.returncode == 0, text
    expected = sum(frame[["a", "b"]].sum() for frame in frames.values())
    for name in NAMES:
        result = pd.read_csv(tmp_path / f"{name}-result.csv").set_index("column")["sum"]
        np.testing.assert_allclose(result[["a", "b"]], expected, atol=1e-6)


def test_an_agency_that_never_comes_is_named(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, timeout=1.5))
    agencies = holders(data())
    del agencies["south"]
    found = run_all(study, agencies, certificates)
    assert "Agency 'south' could not be reached." in str(found["north"])
    assert "Agency 'south' could not be reached." in str(found["east"])


def test_an_agency_that_fails_is_named_and_the_others_do_not_learn_why(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates))
    agencies = holders(data())

    def fail(question, argument):
        raise ValueError("the wage of Ms. Miller is missing")

    agencies["east"] = Agency("east", fail)
    found = run_all(study, agencies, certificates)
    for name in ("north", "south"):
        assert isinstance(found[name], tc.SolverError)
        assert "Agency 'east' could not answer." in str(found[name])
    assert "Miller" not in "".join(map(str, found.values()))


def test_a_number_too_large_for_the_modulus_ends_the_study_unsent(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, modulus_bits=50))
    found = run_all(study, holders(data()), certificates)
    assert "could exceed the limit of the modulus" in "".join(map(str, found.values()))
    assert all(isinstance(end, tc.TablecloakError) for end in found.values())


def test_a_late_agency_is_named(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, timeout=1.5, shares=1))
    agencies = holders(data())
    prompt = agencies["south"].values

    def slow(question, argument):
        time.sleep(2.5)
        return prompt(question, argument)

    agencies["south"] = Agency("south", slow)
    found = run_all(study, agencies, certificates)
    assert "Agency 'south' was late in round 1." in str(found["north"])


def test_agencies_with_different_study_files_do_not_start(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, timeout=1.5))
    other = study.model_copy(update={"predictors": ["b", "a"]})
    found: dict[str, object] = {}

    def run(name: str, own: Study) -> None:
        try:
            found[name] = take_part(own, holders(data())[name], certificates / f"{name}.key")
        except tc.TablecloakError as error:
            found[name] = error

    threads = [
        threading.Thread(target=run, args=(name, other if name == "south" else study))
        for name in NAMES
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert "has another study file" in str(found["south"])
    assert all(isinstance(end, tc.SolverError) for end in found.values())


class Rogue:
    """An agency that has a key of the study and sends what it likes."""

    def __init__(self, study: Study, certificates: Path, name: str) -> None:
        self.study = study
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.load_cert_chain(certificates / f"{name}.crt", certificates / f"{name}.key")
        for agency in study.agencies:
            self.context.load_verify_locations(agency.certificate)

    def send(self, to: str, text: bytes) -> bytes:
        host, port = next(a.place for a in self.study.agencies if a.name == to)
        while True:
            # Until the agency listens, however busy the machine is.
            with contextlib.suppress(OSError):
                raw = socket.create_connection((host, port), timeout=60)
                break
            time.sleep(0.05)
        with self.context.wrap_socket(raw) as wrapped:
            wrapped.sendall(struct.pack(">I", len(text)) + text)
            return wrapped.recv(1)

    def message(self, **fields) -> bytes:
        header = {
            "protocol": "tablecloak-sums/1",
            "study": self.study.fingerprint(),
            "session": "5e55",
            "sender": "north",
            "round": 1,
        }
        return json.dumps(header | fields).encode()


def victim(study: Study, certificates: Path) -> tuple[threading.Thread, list[object]]:
    """Start agency `east` alone; its end is put in the list."""
    end: list[object] = []

    def run() -> None:
        try:
            end.append(take_part(study, holders(data())["east"], certificates / "east.key"))
        except tc.TablecloakError as error:
            end.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, end


PASS = {
    "kind": "pass",
    "question": "moments",
    "argument": None,
    "share": 0,
    "route": NAMES,
    "values": ["0"] * 11,
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"no JSON at all", "sent what is not a message"),
        ({"kind": "pass", "more": 1}, "sent what is not a message"),
        ({"sender": "south"}, "sent what is not a message"),
        ({"question": "newton", "argument": [0.0, 0.0, 0.0]}, "not in the study"),
        ({"argument": [1.0, 0.0, 1.0, 0.0]}, "not in the study"),
        ({"route": ["north", "east"]}, "did not keep to the protocol"),
        ({"route": ["north", "south", "east"]}, "did not keep to the protocol"),
        ({"share": 2}, "did not keep to the protocol"),
        ({"round": 2}, "did not keep to the protocol"),
        ({"session": "other"}, "did not keep to the protocol"),
        ({"values": ["0"] * 3}, "sent 3 numbers instead of"),
        ({"values": ["zz"] * 11}, "did not keep to the protocol"),
        ({"values": ["-1"] * 11}, "did not keep to the protocol"),
        ({"kind": "sums"}, "sent what is not a message"),
    ],
)
def test_malformed_or_unagreed_messages_end_the_study(tmp_path, certificates, change, reason):
    study = read_study(study_file(tmp_path, certificates, timeout=2))
    thread, end = victim(study, certificates)
    rogue = Rogue(study, certificates, "north")
    assert rogue.send("east", rogue.message(kind="open", round=0)) == b"\x01"
    text = change if isinstance(change, bytes) else rogue.message(**(PASS | change))
    rogue.send("east", text)
    thread.join(30)
    assert isinstance(end[0], tc.SolverError)
    assert reason in str(end[0])


def test_sums_before_all_shares_were_added_are_refused(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, timeout=2))
    thread, end = victim(study, certificates)
    rogue = Rogue(study, certificates, "north")
    rogue.send("east", rogue.message(kind="open", round=0))
    rogue.send("east", rogue.message(kind="sums", values=["0"] * 11))
    thread.join(30)
    assert "'north' did not keep to the protocol" in str(end[0])


def test_strangers_cannot_speak_to_an_agency(tmp_path, certificates):
    study = read_study(study_file(tmp_path, certificates, timeout=1.5))
    thread, end = victim(study, certificates)
    stranger = Rogue(study, certificates, "stranger")
    try:
        answer = stranger.send("east", stranger.message(kind="open", round=0))
    except (ssl.SSLError, ConnectionError):
        answer = b""
    assert answer == b""
    thread.join(30)
    assert "Agency 'north' did not open the study." in str(end[0])


def test_two_agencies_or_a_missing_certificate_are_refused_in_the_file(tmp_path, certificates):
    with pytest.raises(tc.InputError, match="At least 3 are needed"):
        read_study(study_file(tmp_path, certificates, names=NAMES[:2]))
    with pytest.raises(tc.InputError, match="no certificate of agency 'west'"):
        read_study(study_file(tmp_path, certificates, names=[*NAMES, "west"]))
    with pytest.raises(tc.InputError, match="needs `response`"):
        read_study(study_file(tmp_path, certificates, response=""))
    with pytest.raises(tc.InputError, match=r"study.toml: kind: "):
        read_study(study_file(tmp_path, certificates, kind="median"))
    study = read_study(study_file(tmp_path, certificates))
    with pytest.raises(tc.InputError, match="cannot be used as the private key"):
        take_part(study, holders(data())["east"], certificates / "south.key")
    with pytest.raises(tc.InputError, match="has no agency 'nobody'"):
        take_part(study, Agency("nobody", lambda *_: []), certificates / "south.key")


def test_a_key_is_private_and_not_overwritten(tmp_path):
    key, certificate = make_certificate("office", tmp_path)
    assert key.stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in certificate.read_text()
    with pytest.raises(tc.InputError, match="exists already"):
        make_certificate("office", tmp_path)
