"""Which column a search branches on."""

from __future__ import annotations

import numpy as np

from tablecloak.solve.branch.pseudocosts import RELIABLE, Pseudocosts
from tablecloak.solve.branch.tree import Node


def test_gains_are_counted_for_each_unit_of_a_move():
    costs = Pseudocosts(3)
    costs.moved[7] = 0.5
    costs.learn(7, Node(0, 1, True, 1.0, 10.0, 1), 12.0)
    assert costs.total[1, 1] == 4.0
    assert costs.count[1].tolist() == [0, 1, 0]
    costs.learn(7, Node(0, 1, True, 1.0, 10.0, 1), 12.0)
    assert costs.count[1, 1] == 1


def test_a_column_is_reliable_once_both_sides_were_seen_often():
    costs = Pseudocosts(1)
    for _ in range(RELIABLE):
        costs.note(0, False, 1.0)
    assert not costs.is_reliable(0)
    for _ in range(RELIABLE):
        costs.note(0, True, 1.0)
    assert costs.is_reliable(0)
    costs.note(0, True, np.inf)
    assert costs.count[1, 0] == RELIABLE


def test_a_column_with_gains_on_both_sides_scores_best():
    costs = Pseudocosts(2)
    for column, gains in enumerate([(1.0, 1.0), (2.0, 0.0)]):
        costs.note(column, False, gains[0])
        costs.note(column, True, gains[1])
    half = np.full(2, 0.5)
    scores = costs.scores(np.arange(2), half, half)
    assert scores[0] > scores[1]


def test_unseen_columns_score_by_their_guess():
    guess = np.array([1.0, 3.0])
    assert Pseudocosts(2).scores(np.arange(2), np.full(2, 0.5), guess).tolist() == [1.0, 3.0]
