"""Check a suppression certificate without trusting tablecloak: needs numpy and scipy only.

Copy this file anywhere and run ``python verify_certificate.py CERTIFICATE.npz [ORIGINAL.jj]``.
It checks by sparse products that every sensitive cell is protected against every intruder
listed; with the original, also that the certificate speaks of it. Format: docs/certificate.md.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csr_array

TOLERANCE = 1e-7  # accepted error of a witness, as a share of the median protection level


class RefusedError(Exception):
    """The certificate does not prove what it claims."""


def require(condition, reason):
    if not condition:
        raise RefusedError(reason)


def needs(data, low, high):
    """Distances up, down and across that each sensitive cell must be able to cover."""
    cells = np.flatnonzero(data["status"] == "u")
    upper, lower = data["upper_protection"][cells], data["lower_protection"][cells]
    width, nothing = data["sliding_protection"][cells], np.zeros(len(cells))
    if data["requirement"] == "width":
        width, upper, lower = np.maximum(width, upper + lower), nothing, nothing
    elif data["requirement"] == "upper":
        lower, width = nothing, nothing
    else:
        require(data["requirement"] == "two-sided", "unknown requirement")
    # Nothing can be protected beyond what an intruder knows beforehand.
    upper, lower = np.minimum(upper, high[cells]), np.minimum(lower, -low[cells])
    return cells, upper, lower, np.minimum(width, (high - low)[cells])


def moves(witnesses, numbers, cells, usable):
    require(np.all((numbers >= -1) & (numbers < witnesses.shape[0])), "a witness is missing")
    reach, moved = np.zeros(len(cells)), numbers >= 0
    if np.any(moved):
        reach[moved] = np.asarray(witnesses[numbers[moved], cells[moved]]).reshape(-1)
        reach[moved] *= usable[numbers[moved]]
    return reach


def check_needs(data, witnesses, low, high, upper, lower, usable, tolerance, who):
    cells, need_up, need_down, need_width = needs(data, low, high)
    require(len(upper) == len(cells) == len(lower), "witnesses and sensitive cells do not match")
    slack = np.minimum(tolerance, 1e-6 * np.maximum(need_up, need_down)) + 1e-9 * need_width
    up, down = moves(witnesses, upper, cells, usable), -moves(witnesses, lower, cells, usable)
    met = (up >= need_up - slack) & (down >= need_down - slack)
    met &= up + down >= need_width - 2 * slack
    require(np.all(met), f"{int(np.sum(~met))} sensitive cells are not proved against {who}")


def verify(data):
    """Raise RefusedError unless everything is proved; return (sensitive cells, intruders)."""
    require(data["format"] == "tablecloak suppression certificate", "not a certificate")
    require(int(data["version"]) == 1, "unknown version")
    values, hidden, status = data["values"], data["suppressed"], data["status"]
    n = len(values)
    relations = csr_array((data["relation_data"], data["relation_cells"], data["relation_starts"]),
                          shape=(len(data["right_hand_side"]), n))  # fmt: skip
    witnesses = csr_array((data["witness_data"], data["witness_cells"], data["witness_starts"]),
                          shape=(len(data["witness_starts"]) - 1, n))  # fmt: skip
    sensitive = status == "u"
    levels = np.concatenate(
        [data[f"{side}_protection"][sensitive] for side in ("lower", "upper", "sliding")]
    )
    tolerance = TOLERANCE * (float(np.median(levels[levels > 0])) if np.any(levels > 0) else 1.0)
    low, high = data["lower_bound"] - values, data["upper_bound"] - values
    require(np.all((low <= 0) & (high >= 0)), "the true table breaks its bounds")
    size = abs(relations) @ np.abs(values) + np.abs(data["right_hand_side"])
    residual = np.abs(relations @ values - data["right_hand_side"])
    require(np.all(residual <= 1e-9 * size), "the true table is not additive")
    require(np.all(hidden[sensitive | (status == "m")]), "a cell that must be hidden is published")
    require(not np.any(hidden[status == "z"]), "a frozen cell is hidden")
    require(np.all(hidden[witnesses.indices]), "a witness moves a published cell")
    require(np.all(np.isfinite(witnesses.data)), "a witness holds no number")
    broken = abs(relations @ witnesses.T)
    require(broken.nnz == 0 or broken.max() <= tolerance, "a witness breaks a relation")
    at = witnesses.indices
    inside = (witnesses.data >= low[at] - tolerance) & (witnesses.data <= high[at] + tolerance)
    require(np.all(inside), "a witness breaks an external bound")
    upper, lower, by_cell = data["upper_witness"], data["lower_witness"], csc_array(witnesses)
    usable, far = np.ones(witnesses.shape[0]), np.full(n, np.inf)
    check_needs(data, witnesses, -far, far, upper, lower, usable, tolerance, "everybody")
    for number, name in enumerate(data["intruder_names"]):
        known = slice(*data["intruder_starts"][number : number + 2])
        claim = slice(*data["claim_starts"][number : number + 2])
        cells = data["intruder_cells"][known]
        low_k, high_k, upper_k, lower_k = low.copy(), high.copy(), upper.copy(), lower.copy()
        low_k[cells] = data["intruder_lower"][known] - values[cells]
        high_k[cells] = data["intruder_upper"][known] - values[cells]
        require(np.all((low_k <= tolerance) & (high_k >= -tolerance)), f"{name} excludes the truth")
        moved = by_cell[:, cells].toarray()
        outside = (moved < low_k[cells] - tolerance) | (moved > high_k[cells] + tolerance)
        usable = 1.0 - np.any(outside, axis=1)
        upper_k[data["claim_index"][claim]] = data["claim_upper"][claim]
        lower_k[data["claim_index"][claim]] = data["claim_lower"][claim]
        check_needs(data, witnesses, low_k, high_k, upper_k, lower_k, usable, tolerance, name)
    return int(np.sum(sensitive)), len(data["intruder_names"])


def compare(data, path):
    """Require that a JJ file holds the problem of the certificate."""
    raw = Path(path).read_bytes()
    raw = gzip.decompress(raw) if str(path).endswith(".gz") else raw
    words = raw.decode().replace("(", " ").replace(")", " ").replace(":", " ").split()
    n = int(words[1])
    cells = np.array(words[2 : 2 + 9 * n]).reshape(n, 9)
    columns = {"values": 1, "lower_bound": 4, "upper_bound": 5, "lower_protection": 6,
               "upper_protection": 7, "sliding_protection": 8}  # fmt: skip
    for name, column in columns.items():
        require(np.array_equal(cells[:, column].astype(float), data[name]), f"{name} differ")
    require(np.array_equal(cells[:, 3], data["status"]), "statuses differ")
    rest, at = words[2 + 9 * n + 1 :], 0
    for row in range(int(words[2 + 9 * n])):
        count = int(rest[at + 1])
        part = np.array(rest[at + 2 : at + 2 + 2 * count], dtype=float).reshape(count, 2)
        own = slice(*data["relation_starts"][row : row + 2])
        same = sorted(zip(data["relation_cells"][own], data["relation_data"][own], strict=True))
        require(same == sorted(map(tuple, part.tolist())), f"relation {row} differs")
        require(float(rest[at]) == data["right_hand_side"][row], f"relation {row} differs")
        at += 2 + 2 * count


def main(arguments):
    try:
        with np.load(arguments[0], allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
        if len(arguments) > 1:
            compare(data, arguments[1])
        sensitive, intruders = verify(data)
    except Exception as error:  # whatever is wrong with a file, it proves nothing
        print(f"REFUSED: {error}")
        return 1
    print(f"PROVED: {sensitive} sensitive cells, against everybody and {intruders} insiders")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
