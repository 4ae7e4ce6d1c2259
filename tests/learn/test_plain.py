"""What may cross between the checker and a learner's process, and what is said about the rest."""

from __future__ import annotations

import itertools
import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from allranks.algorithms import build
from allranks.learn.child import _show, _whole
from allranks.learn.plain import (
    MAX_DEPTH,
    MAX_TEXT,
    MAX_VALUES,
    NotPlainError,
    Taking,
    pack,
    unpack,
)
from allranks.schedule import Op, Schedule, Transfer

Pair = namedtuple("Pair", "alpha beta")  # noqa: PYI024 - what a learner writes


def over(wire: Any) -> Any:
    """Return what arrives on the other side."""
    return unpack(json.loads(json.dumps(wire)))


def taken(value: object) -> Any:
    return over(Taking(_whole, _show).answer(value))


PLAIN = [
    None,
    True,
    0,
    -(2**53) + 1,
    1.5,
    float("inf"),
    "",
    "a [b] {c}",
    Fraction(-7, 3),
    [],
    (),
    {},
    [1, [2, (3, [])]],
    {"a": 1, 2: [None], (0, 1): "x"},
    Counter({0: 2, 3: 0}),
    [[Counter({0: 1}), Counter()]],
    Op.REDUCE,
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_data_cross_unchanged_in_both_directions(value):
    for arrived in (over(pack(value)), taken(value)):
        assert arrived == value
        assert type(arrived) is type(value)


def test_a_schedule_arrives_as_a_list_of_steps_of_transfers():
    schedule = build("all_reduce", "ring", world_size=3)
    arrived = over(pack(schedule))
    assert arrived == [list(step) for step in schedule.steps]
    assert all(type(each) is Transfer for step in arrived for each in step)


def test_two_readings_share_nothing_that_can_change():
    wire = pack({"start": [[Counter({0: 1})]]})
    one, two = unpack(wire), unpack(wire)
    one["start"][0][0][7] += 1
    one["start"].append([])
    assert two == {"start": [[Counter({0: 1})]]}


TAKEN_AS = {
    "an int of NumPy": (np.int32(7), 7),
    "a float of NumPy": (np.float32(0.5), 0.5),
    "a truth value of NumPy": (np.bool_(1), True),
    "an array": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "an array without dimensions": (np.array(2.5), 2.5),
    "an array of objects": (np.array([Fraction(1, 3), None], dtype=object), [Fraction(1, 3), None]),
    "a range": (range(3), [0, 1, 2]),
    "a decimal": (Decimal("0.1"), Fraction(1, 10)),
    "a named tuple": (Pair(1, 2), (1, 2)),
    "a default dictionary": (defaultdict(list, {0: [1]}), {0: [1]}),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
    "keys of NumPy": ({np.int64(3): np.int64(4)}, {3: 4}),
    "a Transfer": ([Transfer(0, 1, 2, Op.COPY)], [(0, 1, 2, Op.COPY)]),
}


@pytest.mark.parametrize("name", TAKEN_AS)
def test_what_people_return_is_taken_as_what_they_mean(name):
    value, meant = TAKEN_AS[name]
    assert taken(value) == meant


class Liar(list):
    """Shows another content than it holds."""

    def __iter__(self):
        return iter([9, 9])

    def __len__(self):
        return 2

    def __eq__(self, other):
        return True

    __hash__ = None


class LyingDict(dict):
    """Lists other pairs than it holds."""

    def items(self):
        return [("x", 1)]


class LyingFraction(Fraction):
    """Says that it is one."""

    numerator = denominator = 1


@dataclass
class Own:
    """A class that a learner may write."""

    alpha: float = 1.0


def test_a_class_of_the_learners_is_read_as_what_it_is_built_from():
    assert taken(Liar([1, 2, 3])) == [1, 2, 3]
    assert taken(LyingDict(a=2)) == {"a": 2}
    assert taken(LyingFraction(2, 3)) == Fraction(2, 3)


def itself() -> list[object]:
    inner: list[object] = []
    inner.append(inner)
    return inner


def deep(levels: int) -> list[object]:
    outer: list[object] = []
    for _ in range(levels):
        outer = [outer]
    return outer


REFUSED = {
    "a set": ({1, 2}, "{1, 2}; a set has no order and no counts; return a list, or a Counter"),
    "a generator": ((i for i in "ab"), "it holds no values yet; return them in a list"),
    "a map": (map(abs, [1]), "it holds no values yet; return them in a list"),
    "an endless iterator": (itertools.count(), "it holds no values yet; return them in a list"),
    "a view": ({1: 2}.values(), "dict_values([2]); it is neither a list nor a tuple"),
    "a queue": (deque([1]), "deque([1]); it is neither a list nor a tuple; list(...) makes a list"),
    "a function": (deep, "a function is no answer; call it"),
    "a built-in": (len, "<built-in function len>; a function is no answer; call it"),
    "a class": (Own, "a class is no answer; return a value"),
    "an object": (Own(), "Own(alpha=1.0); return numbers, text, or lists and dictionaries of them"),
    "a complex number": (1j, "1j; a complex number is no answer; return a real number"),
    "bytes": (b"ab", "b'ab'; bytes are no answer"),
    "a set in a list": ([[1], {2}], "[[1], {2}], and its [1] is {2}; a set has no order"),
    "a set in a dictionary": ({"a": [{2}]}, "and its ['a'][0] is {2}; a set has no order"),
    "a key that is a set": ({frozenset([1]): 2}, "a key must be a number, text or a tuple"),
    "a list in itself": (itself(), "something that is nested more than 16 deep, or contains"),
    "a deep list": (deep(MAX_DEPTH + 1), "something that is nested more than 16 deep"),
    "a long list": ([0] * (MAX_VALUES + 1), "something that holds more than 20000 values"),
    "a long array": (np.zeros(10**7), "something that holds 10000000 values"),
    "a long range": (range(10**12), "something that holds more than 20000 values"),
    "a long text": ("x" * (MAX_TEXT + 1), "something that holds a text of more than 10000"),
    "a huge int": ([10**5000], "and its [0] is a whole number of 16610 bits; out of range"),
    "a huge fraction": (
        Fraction(1, 3**999),
        "something that is a fraction with more than 512 bits",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_refused_in_a_sentence_that_shows_it(name):
    value, said = REFUSED[name]
    with pytest.raises(NotPlainError) as caught:
        taken(value)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


FORGED = {
    "an unknown form": {"code": ["x"]},
    "two forms": {"tuple": [], "dict": []},
    "a form without content": {"tuple": 3},
    "a pair of three": {"dict": [[1, 2, 3]]},
    "a key that cannot be one": {"dict": [[[1], 2]]},
    "pairs that are none": {"counter": [5]},
    "a fraction over nothing": {"fraction": [1, 0]},
    "a fraction of text": {"fraction": ["1", "2"]},
    "a fraction of one": {"fraction": [1]},
    "a huge fraction": {"fraction": [1, 2**5000]},
    "an op that is none": {"op": "sum"},
    "an op of lists": {"op": [[]]},
    "steps of text": {"steps": ["ab"]},
    "a transfer of truth values": {"steps": [[[True, False, 0, "copy"]]]},
    "a long list": [0] * (MAX_VALUES + 1),
    "a long schedule": {"steps": [[[0, 1, 0, "copy"]] * (MAX_VALUES + 1)]},
    "a deep list": deep(MAX_DEPTH + 1),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_nobody_of_ours_wrote_is_refused(name):
    with pytest.raises(NotPlainError):
        unpack(FORGED[name])


def test_a_case_of_ours_that_is_no_plain_data_is_our_fault_at_once():
    with pytest.raises(TypeError, match="is no plain data"):
        pack([{1, 2}])


def test_an_empty_schedule_crosses():
    assert over(pack(Schedule("all_reduce", "none", 1, 1, ()))) == []
