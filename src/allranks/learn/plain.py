"""Plain data: what crosses between the checker and a learner's process, both ways, as JSON.

Numbers, truth values, text, None, fractions, lists, tuples, dictionaries and Counters, nested; Op;
and a schedule, which arrives as a list of steps of `Transfer(src, dst, chunk, op)`. JSON has no
tuples, fractions or dictionaries with numbers as keys, so those are objects with one key that says
what they are. `pack` writes what is ours, `take` what a learner's function returned, and `unpack`
reads both. Every limit holds on both sides, for what a learner's process sends may be forged.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NoReturn

from allranks.schedule import Op, Schedule, Transfer

MAX_VALUES = 20_000
MAX_DEPTH = 16
MAX_TEXT = 10_000
MAX_NUMBER = 2**53
MAX_FRACTION_BITS = 512

Wire = Any
Path = tuple[object, ...]
# what a Fraction is made of, whatever a class built on it says
FRACTION_PARTS = (Fraction.__dict__["numerator"], Fraction.__dict__["denominator"])
ADVICE = {
    "set": "a set has no order and no counts; return a list, or a Counter",
    "frozenset": "a set has no order and no counts; return a list, or a Counter",
    "coroutine": "a coroutine holds no value yet; write def, not async def",
    "function": "a function is no answer; call it",
    "method": "a method is no answer; call it",
    "builtin_function_or_method": "a function is no answer; call it",
    "type": "a class is no answer; return a value",
    "complex": "a complex number is no answer; return a real number",
    "bytes": "bytes are no answer; return numbers, or text",
    "bytearray": "bytes are no answer; return numbers, or text",
}
LATER = "it holds no values yet; return them in a list, as list(...) does"
ITERABLE = "it is neither a list nor a tuple; list(...) makes a list of it"
OTHER = "return numbers, text, or lists and dictionaries of them"


class NotPlainError(ValueError):
    """A value that cannot cross; the message finishes a sentence that began with what it is in."""


def pack(value: object) -> Wire:  # noqa: PLR0911 - one form for each kind
    """Return a value of ours as JSON can carry it; a Schedule becomes its steps.

    >>> pack([1, (2, Fraction(1, 3)), {0: 1}])
    [1, {'tuple': [2, {'fraction': [1, 3]}]}, {'dict': [[0, 1]]}]
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"fraction": [value.numerator, value.denominator]}
        case Op():
            return {"op": value.value}
        case Schedule():
            return {"steps": [[[*t[:3], t.op.value] for t in step] for step in value.steps]}
        case Counter() | dict():
            name = "counter" if isinstance(value, Counter) else "dict"
            return {name: [[pack(key), pack(each)] for key, each in value.items()]}
        case tuple():
            return {"tuple": [pack(each) for each in value]}
        case list():
            return [pack(each) for each in value]
    message = f"{value!r} is no plain data; a case holds numbers, text, lists, dicts, a Schedule"
    raise TypeError(message)


def unpack(wire: Wire) -> Any:  # noqa: ANN401 - plain data of any shape
    """Return a fresh value from what `pack` or `take` wrote.

    Raises:
        NotPlainError: nobody of ours wrote this, or it is beyond the limits.

    >>> unpack({"counter": [[2, 1]]}), unpack({"steps": [[[0, 1, 0, "copy"]]]})
    (Counter({2: 1}), [[Transfer(src=0, dst=1, chunk=0, op=<Op.COPY: 'copy'>)]])
    """
    return _Unpacking().value(wire, 0)


class _Unpacking:
    def __init__(self) -> None:
        self._room = MAX_VALUES

    def value(self, wire: Wire, depth: int) -> Any:  # noqa: ANN401
        self._room -= 1
        if self._room < 0 or depth > MAX_DEPTH:
            message = "it is larger than any answer"
            raise NotPlainError(message)
        if wire is None or isinstance(wire, bool | int | float | str):
            return wire
        if isinstance(wire, list):
            return [self.value(each, depth + 1) for each in wire]
        if isinstance(wire, dict) and len(wire) == 1:
            ((name, content),) = wire.items()
            try:
                return self._tagged(name, content, depth + 1)
            except NotPlainError:
                raise
            except (TypeError, ValueError, ZeroDivisionError) as error:
                message = f"it is no answer ({error})"
                raise NotPlainError(message) from error
        message = "it is no answer"
        raise NotPlainError(message)

    def _tagged(self, name: str, content: Wire, depth: int) -> Any:  # noqa: ANN401
        if name == "op":
            return Op(content)
        if not isinstance(content, list):
            message = f"a {name} without content"
            raise NotPlainError(message)
        if name == "tuple":
            return tuple(self.value(each, depth) for each in content)
        if name in ("dict", "counter"):
            pairs = ((self._key(key, depth), self.value(each, depth)) for key, each in content)
            return dict(pairs) if name == "dict" else Counter(dict(pairs))
        if name == "fraction":
            above, below = content
            return Fraction(_whole(above), _whole(below))
        if name == "steps":
            return [[self._transfer(row) for row in step] for step in content]
        message = f"unknown form {name}"
        raise NotPlainError(message)

    def _key(self, wire: Wire, depth: int) -> Any:  # noqa: ANN401
        key = self.value(wire, depth)
        hash(key)  # raises TypeError for what cannot be a key
        return key

    def _transfer(self, row: Wire) -> Transfer:
        self._room -= 1
        if self._room < 0:
            message = "it is larger than any answer"
            raise NotPlainError(message)
        src, dst, chunk, op = row
        return Transfer(_whole(src), _whole(dst), _whole(chunk), Op(op))


def _whole(value: Wire) -> int:
    if type(value) is int and value.bit_length() <= MAX_FRACTION_BITS:
        return value
    message = "a whole number was due"
    raise NotPlainError(message)


class Taking:
    """Writes what a learner's function returned, without asking more of it than it must.

    `whole` returns an int for an int or an integer of another library and None for anything else;
    `show` returns how a value looks, whatever its own repr does.
    """

    def __init__(
        self, whole: Callable[[object], int | None], show: Callable[[object], str]
    ) -> None:
        self._whole = whole
        self._show = show
        self._room = MAX_VALUES

    def answer(self, value: object) -> Wire:
        """Return the answer as JSON can carry it.

        NumPy's numbers and arrays become numbers and lists. Containers are read as what they are
        built from, so that a class of the learner's own cannot show one content and hold another.

        Raises:
            NotPlainError: it, or something in it, is no plain data, or it is too large.
        """
        self._room = MAX_VALUES
        return self._take(value, value, ())

    def _take(self, value: Any, outer: object, path: Path) -> Wire:  # noqa: ANN401, C901, PLR0911
        self._room -= 1
        if self._room < 0:
            self._refuse(f"holds more than {MAX_VALUES} values; return what is asked for, no more")
        if len(path) > MAX_DEPTH:
            self._refuse(f"is nested more than {MAX_DEPTH} deep, or contains itself")
        kind = type(value)
        if value is None or kind is bool:
            return value
        number = self._whole(value)
        if number is not None:
            if not -MAX_NUMBER < number < MAX_NUMBER:
                self._wrong(value, outer, path, "out of range; return a finite number below 2^53")
            return number
        if issubclass(kind, float):
            return float.__add__(value, 0.0)
        if issubclass(kind, str):
            text = str.__str__(value)
            if len(text) > MAX_TEXT:
                self._refuse(f"holds a text of more than {MAX_TEXT} letters")
            return text
        if kind is Op:
            return {"op": value.value}
        if issubclass(kind, Fraction):
            return self._fraction(*(part.__get__(value) for part in FRACTION_PARTS))
        return self._take_container(value, outer, path)

    def _take_container(self, value: Any, outer: object, path: Path) -> Wire:  # noqa: ANN401
        kind = type(value)
        if issubclass(kind, dict):
            name = "counter" if issubclass(kind, Counter) else "dict"
            return {name: list(self._pairs(value, outer, path))}
        for base in (list, tuple, range):
            if issubclass(kind, base):
                items = enumerate(base.__iter__(value))
                taken = [self._take(each, outer, (*path, index)) for index, each in items]
                return {"tuple": taken} if base is tuple else taken
        return self._of_other_libraries(value, outer, path)

    def _pairs(
        self, value: dict[object, object], outer: object, path: Path
    ) -> Iterator[list[Wire]]:
        for key, each in dict.items(value):
            if not self._is_key(key):
                self._wrong(key, outer, (*path, key), "a key must be a number, text or a tuple")
            yield [self._take(key, outer, (*path, key)), self._take(each, outer, (*path, key))]

    def _is_key(self, key: object) -> bool:
        if isinstance(key, tuple):
            return all(map(self._is_key, tuple.__iter__(key)))
        return key is None or isinstance(key, str | float) or self._whole(key) is not None

    def _of_other_libraries(self, value: Any, outer: object, path: Path) -> Wire:  # noqa: ANN401
        kind = type(value)
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            if value.size > self._room:
                self._refuse(f"holds {value.size} values; return what is asked for, no more")
            return self._take(value.tolist(), outer, path)
        decimal = sys.modules.get("decimal")
        if decimal and issubclass(kind, decimal.Decimal) and value.is_finite():
            return self._fraction(*decimal.Decimal.as_integer_ratio(value))
        for convert in ("item", "__float__"):
            method = getattr(value, convert, None)
            if callable(method) and not isinstance(value, type):
                result = method()
                if type(result) in (bool, int, float):
                    return self._take(result, outer, path)
        advice = ITERABLE if hasattr(kind, "__iter__") else OTHER
        advice = LATER if hasattr(kind, "__next__") else advice
        return self._wrong(value, outer, path, ADVICE.get(kind.__name__, advice))

    def _fraction(self, above: object, below: object) -> Wire:
        if type(above) is not int or type(below) is not int:
            self._refuse("is no fraction of whole numbers")
        if max(above.bit_length(), below.bit_length()) > MAX_FRACTION_BITS:
            self._refuse(f"is a fraction with more than {MAX_FRACTION_BITS} bits; simplify it")
        return {"fraction": [above, below]}

    def _wrong(self, value: object, outer: object, path: Path, advice: str) -> NoReturn:
        """Raise: what was returned, where in it the fault lies, and what to do instead."""
        if not path:
            message = f"{self._show(value)}; {advice}"
        else:
            where = "".join(f"[{self._show(step)}]" for step in path)
            message = f"{self._show(outer)}, and its {where} is {self._show(value)}; {advice}"
        raise NotPlainError(message)

    def _refuse(self, sentence: str) -> NoReturn:
        message = f"something that {sentence}"
        raise NotPlainError(message)
