"""Risk of a released file against intruders, and against a file of the population.

The prosecutor knows that a person is in the file, the journalist does not, and the marketer wants
many matches rather than a certain one.

References
----------
.. [1] Dankar, El Emam: A method for evaluating marketer re-identification risk, PAIS 2010.
.. [2] El Emam: Guide to the de-identification of personal health information, 2013, chapter 16
   (prosecutor, journalist and marketer risk).
.. [3] Sweeney: Computational disclosure control, 2001; El Emam, Dankar: Protecting privacy using
   k-anonymity, Journal of the American Medical Informatics Association 15, 2008 (k-map).
.. [4] Nergiz, Atzori, Clifton: Hiding the presence of individuals from shared databases, SIGMOD
   2007 (delta-presence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of, row_label
from tablecloak.microdata.risk.keys import KeyCells


@dataclass(frozen=True, eq=False)
class IntruderRisk:
    """Groups of a released file, in the file and in the population.

    Parameters
    ----------
    sample : numpy.ndarray of int, shape (n_records,)
        f: number of released records that are equal in the keys, a missing one being a value of
        its own.
    population : numpy.ndarray of int, shape (n_records,)
        F: number of persons of the population who agree with what a record shows; f without a file
        of the population.
    least_presence : float
        Smallest probability, over the persons of the population, to be in the file.
    """

    sample: Integers
    population: Integers
    least_presence: float

    @property
    def prosecutor(self) -> Floats:
        """Probability 1 / f of a right match of each record by one who knows it is there [2]_."""
        return 1.0 / self.sample

    @property
    def journalist(self) -> Floats:
        """Probability 1 / F of a right match of each record by one who does not know [2]_."""
        return 1.0 / self.population

    @property
    def marketer(self) -> float:
        """Expected share of records that are matched rightly, the mean of 1 / F [1]_."""
        return float(self.journalist.mean())

    @property
    def k_map(self) -> int:
        """Smallest number of persons who agree with a record [3]_."""
        return int(self.population.min())

    @property
    def presence(self) -> tuple[float, float]:
        """Range of f / F, the probability that a person is in the file (delta-presence [4]_)."""
        return self.least_presence, float((self.sample / self.population).max())

    def summary(self) -> str:
        """Return the risks in one line."""
        low, high = self.presence
        return (
            f"largest risk {self.prosecutor.max():.4g} (prosecutor), {self.journalist.max():.4g} "
            f"(journalist); {self.marketer:.4g} of the records matched rightly (marketer); "
            f"{self.k_map}-map; presence from {low:.4g} to {high:.4g}"
        )


def intruder_risk(
    released: pd.DataFrame, keys: Sequence[str], population: pd.DataFrame | None = None
) -> IntruderRisk:
    """Measure the risk of a released file by keys.

    Parameters
    ----------
    released : pandas.DataFrame
    keys : sequence of str
        Attributes that an intruder knows.
    population : pandas.DataFrame, optional
        All persons, those of the file included, with the keys as the release shows them; by
        default the file is the whole population.

    Raises
    ------
    InputError
        If a column does not exist, or fewer persons than records agree with a record, so that the
        file is not part of the population.

    Examples
    --------
    >>> import pandas as pd
    >>> file = pd.DataFrame({"age": [20, 20, 30]})
    >>> everybody = pd.DataFrame({"age": [20, 20, 20, 20, 30, 40]})
    >>> risk = intruder_risk(file, ["age"], everybody)
    >>> float(risk.journalist.max()), risk.k_map, risk.presence
    (1.0, 1, (0.0, 1.0))
    """
    names = names_of(keys, "keys")
    n = len(released)
    if population is None:
        cells = KeyCells.of(CodedRecords.of(released, names))
        size = cells.count[cells.of_record]
        return IntruderRisk(size, size, 1.0)
    CodedRecords.of(population, names)
    both = pd.concat([released[names], population[names]], ignore_index=True)
    cells = KeyCells.of(CodedRecords.of(both, names))
    mine, theirs = cells.of_record[:n], cells.of_record[n:]
    size = np.bincount(mine, minlength=len(cells.count))
    persons = cells.agreeing(np.bincount(theirs, minlength=len(cells.count)).astype(np.float64))
    f, big = size[mine], persons.astype(np.int64)[mine]
    if np.any(big < f):
        row = row_label(released, int(np.flatnonzero(big < f)[0]))
        raise InputError(
            f"Fewer persons of the population than records of the file have the keys of row {row}. "
            "Give a population that contains the file, with its keys recoded alike."
        )
    outside = np.any(fitting(population, released, [names]) == 0)
    return IntruderRisk(f, big, 0.0 if outside else float((f / big).min()))


def fitting(
    original: pd.DataFrame,
    released: pd.DataFrame,
    combinations: Sequence[Sequence[str]],
    strata: Sequence[str] = (),
) -> Integers:
    """Count for each person the released records that may be theirs, by all that is released.

    A released record may be that of a person if it agrees in each key that it has. Of several
    combinations, the smallest count is taken.

    Parameters
    ----------
    original : pandas.DataFrame
        What an outsider knows of persons.
    released : pandas.DataFrame
    combinations : sequence of sequence of str
    strata : sequence of str

    Returns
    -------
    numpy.ndarray of int, shape (n_persons,)
    """
    least = np.full(len(original), len(released), dtype=np.int64)
    for keys in combinations:
        names = [*strata, *keys]
        both = pd.concat([original[names], released[names]], ignore_index=True)
        cells = KeyCells.of(CodedRecords.of(both, names))
        # A stratum is a value of its own also where it is missing.
        cells.missing[:, : len(strata)] = False
        of_person, of_record = np.split(cells.of_record, [len(original)])
        number = np.bincount(of_record, minlength=len(cells.count))
        count = np.zeros(len(cells.count), dtype=np.int64)
        for mine, label, _ in cells.patterns():
            if number[mine].any():
                fits = np.bincount(label[mine], number[mine], minlength=int(label.max()) + 1)
                count += fits[label].astype(np.int64)
        least = np.minimum(least, count[of_person])
    return least
