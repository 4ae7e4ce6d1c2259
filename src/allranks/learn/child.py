"""The program that runs inside the learner's process: call the function, report plain data.

Run as a script by `learn.process`, in an empty folder, with a request file and a pipe. Nothing that
it says is believed: the parent reads rows of numbers and judges them itself. No security is claimed
here; the limits and refusals below catch accidents (endless loops, floods, a fork too many), and a
class's server puts a real sandbox around the same process.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NoReturn

PUBLIC = ("Op", "Rank", "Step", "Transfer")
ARRAY_PUBLIC = ("ArrayRank",)
REFUSED = "an exercise starts no process and opens no connection; remove the call of {}"
PROCESS_EVENTS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.bind",
        "socket.connect",
        "subprocess.Popen",
    }
)
MAX_INT = 2**53
TEXT_LIMIT = 500
FIELDS = ("src", "dst", "chunk", "op")


class ComplaintError(Exception):
    """What the learner's function returned is not a schedule; says which step and what to do."""

    def __init__(self, message: str, kind: str = "format", **facts: int | None) -> None:
        super().__init__(message)
        self.kind = kind
        self.facts = facts


def main() -> NoReturn:
    """Serve one request and leave, whatever the learner's code has done to this process."""
    leave, write = os._exit, os.write
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        request = json.load(file)
    reply = _reply_to(int(sys.argv[2]), write)
    tools = engine()
    isolate(tools, PUBLIC, library=request["library"])
    limit_resources(request["limits"])
    sys.addaudithook(refuse)
    reply({"event": "ready"})
    try:
        _serve(request, reply, tools)
        reply({"event": "done"})
    finally:
        for stream in (sys.stdout, sys.stderr):
            flush(stream)
        leave(0)


def _reply_to(channel: int, write: Callable[[int, Any], int]) -> Callable[[object], None]:
    dumps = json.dumps

    def reply(event: object) -> None:
        text = dumps(event, separators=(",", ":")).encode()
        rest = memoryview(len(text).to_bytes(4, "big") + text)
        while rest:
            rest = rest[write(channel, rest) :]

    return reply


def flush(stream: Any) -> None:  # noqa: ANN401 - the learner may have replaced it by anything
    """Flush a stream of the learner's; nothing may stop the process from leaving."""
    with contextlib.suppress(BaseException):
        stream.flush()


def engine() -> types.SimpleNamespace:
    """Import what the learner may use from the course's own package, wherever that lies."""
    home = str(Path(__file__).resolve().parents[2])
    sys.path.insert(0, home)
    from allranks import errors  # noqa: PLC0415 - only now on the path
    from allranks.learn import plain  # noqa: PLC0415
    from allranks.program import Rank, trace_program  # noqa: PLC0415
    from allranks.schedule import Op, Step, Transfer  # noqa: PLC0415

    sys.path.remove(home)
    return types.SimpleNamespace(
        Op=Op,
        Rank=Rank,
        Step=Step,
        Transfer=Transfer,
        trace_program=trace_program,
        errors=errors,
        plain=plain,
    )


class _WriteItYourself:
    """Answers every import below `allranks`, except those of the course's own gates."""

    def __init__(self, public: Sequence[str]) -> None:
        self._public = public

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name.partition(".")[0] == "allranks":
            message = _only_public(name, self._public)
            raise ModuleNotFoundError(message, name=name)
        return None


def _only_public(name: str, public: Sequence[str]) -> str:
    if public == ARRAY_PUBLIC:
        held, example = "ArrayRank alone", "ArrayRank"
    else:
        held, example = "Transfer, Op, Rank and Step", "Op, Transfer"
    return (
        f"{name}: write it yourself. In an exercise `allranks` holds {held} "
        f"(from allranks import {example})"
    )


def isolate(engine: types.SimpleNamespace, public: Sequence[str], *, library: bool) -> None:
    """Leave only the `public` names of `allranks` importable, unless a gate runs a solution."""
    if library:
        sys.path.append(str(Path(__file__).resolve().parents[2]))
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "allranks"]:
        del sys.modules[name]
    face = types.ModuleType("allranks", f"What an exercise may use: {', '.join(public)}.")
    face.__path__ = []
    for name in public:
        setattr(face, name, getattr(engine, name))

    def missing(name: str) -> NoReturn:
        raise AttributeError(_only_public(f"allranks.{name}", public))

    face.__dict__["__getattr__"] = missing
    face.__dict__["__all__"] = list(public)
    sys.modules["allranks"] = face
    sys.meta_path.insert(0, _WriteItYourself(public))


def refuse(event: str, _arguments: object) -> None:
    """Refuse to start processes and to open connections, as an audit hook."""
    if event in PROCESS_EVENTS:
        raise PermissionError(REFUSED.format(event))


def limit_resources(limits: Mapping[str, int]) -> None:
    """Bound memory, computing time, files and processes; a limit the system lacks is left out."""
    import resource  # noqa: PLC0415 - Unix only, like the whole process

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + limits["cpu_seconds"]) + 1
    bounds = {
        resource.RLIMIT_CPU: (seconds, seconds + 2),
        resource.RLIMIT_AS: (limits["memory_bytes"],) * 2,
        resource.RLIMIT_FSIZE: (limits["file_bytes"],) * 2,
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
    }
    tasks = _tasks_of_this_user()
    if tasks is not None:
        # the limit counts everything that this user runs, so leave room above what runs now
        bounds[resource.RLIMIT_NPROC] = (tasks + limits["processes"],) * 2
    for which, (soft, hard) in bounds.items():
        _, ceiling = resource.getrlimit(which)
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
        try:
            resource.setrlimit(which, (soft, hard))
        except (OSError, ValueError):
            continue  # macOS, for one, refuses RLIMIT_AS; the clock still ends the process


def _tasks_of_this_user() -> int | None:
    if not sys.platform.startswith("linux"):
        return None
    total = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == os.getuid():
                    total += sum(1 for _ in Path(entry.path, "task").iterdir())
            except OSError:
                continue  # it ended while we looked
    return total


def _serve(
    request: Mapping[str, Any], reply: Callable[[object], None], engine: types.SimpleNamespace
) -> None:
    filename = request["filename"]
    number: int | None = None
    total = 0
    try:
        function = load(request, reply)
        if function is None:
            return
        form = _form(function)
        reply({"event": "loaded", "form": form})
        for number, case in enumerate(request["cases"]):
            answer = _answer_or_refusal(function, form, request, case, engine)
            if isinstance(answer, list):
                total += len(answer) + sum(map(len, answer))
            _bound(total, request["limits"]["total"])
            reply({"event": "case", "case": number, "answer": answer})
    except ComplaintError as complaint:
        reply(
            {
                "event": "complaint",
                "case": number,
                "kind": complaint.kind,
                "message": str(complaint),
                **complaint.facts,
            }
        )
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are answers too
        reply({"event": "raised", "case": number, **describe(error, filename)})


def _bound(total: int, most: int) -> None:
    """Stop a file whose cases together would take longer to judge than a check may take."""
    if total > most:
        message = (
            f"more than {most} steps and transfers in the cases up to here; does a loop repeat "
            "what is done already?"
        )
        raise ComplaintError(message, "endless")


def load(request: Mapping[str, Any], reply: Callable[[object], None]) -> Callable[..., Any] | None:
    """Run the file as a fresh module; return its entry, or None after saying that it has none."""
    source, filename = request["source"], request["filename"]
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    module = types.ModuleType("answer")
    module.__file__ = filename
    sys.modules["answer"] = module  # dataclasses look their module up
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    found: list[Callable[..., Any]] = [
        each for each in map(module.__dict__.get, request["entry"]) if callable(each)
    ]
    more = request["more_entries"]
    missing = next((name for name in more if not callable(module.__dict__.get(name))), None)
    if found and missing is None:
        return found[0]
    defined = [
        name
        for name, value in module.__dict__.items()
        if isinstance(value, types.FunctionType) and value.__module__ == "answer"
    ]
    named = {"missing": missing} if found else {}
    reply({"event": "no_entry", "defined": defined[:8], **named})
    return None


def _form(function: Callable[..., Any]) -> list[str]:
    """Return the names of the function's parameters, in order."""
    import inspect  # noqa: PLC0415 - a fresh process starts faster without it

    return list(inspect.signature(function).parameters)


def _answer_or_refusal(
    function: Callable[..., Any],
    parameters: list[str],
    request: Mapping[str, Any],
    case: Mapping[str, Any],
    engine: types.SimpleNamespace,
) -> object:
    """Return the answer, or {"refused": its sentence} where a ValueError is one."""
    try:
        return _answer(function, parameters, request, case, engine)
    except ValueError as error:
        if not case.get("may_refuse") or not _raised_on_purpose(error, request["filename"]):
            raise
        return {"refused": str(error)[:TEXT_LIMIT]}


def _raised_on_purpose(error: ValueError, filename: str) -> bool:
    """Tell whether a `raise` of the learner's file raised it, and not a call that went wrong."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename != filename:
        return False
    opcode = trace.tb_frame.f_code.co_code[trace.tb_lasti]
    return opcode == _opcode("RAISE_VARARGS")


def _opcode(name: str) -> int:
    import opcode  # noqa: PLC0415 - only a refusal needs it

    return opcode.opmap[name]


def _answer(
    function: Callable[..., Any],
    parameters: list[str],
    request: Mapping[str, Any],
    case: Mapping[str, Any],
    engine: types.SimpleNamespace,
) -> object:
    if request["kind"] == "value":
        return _value(function, parameters, request, case, engine)
    first = parameters[0] if parameters else None
    arguments: dict[str, int] = case["arguments"]
    if first == "rank":
        extra = {name: value for name, value in arguments.items() if name in parameters[1:]}
        steps = _traced(lambda rank: function(rank, **extra), request, case, engine)
        return list(_rows(steps, request["limits"]))
    if first != "world_size":
        seen = "it has no parameter" if first is None else f"it is called {first!r}"
        message = (
            f"{request['entry'][0]}: the first parameter decides what you wrote, and {seen}; call "
            "it world_size (a generator of steps) or rank (a program that every rank runs)"
        )
        raise ComplaintError(message)
    if set(arguments) <= set(parameters):
        result = function(case["world_size"], **arguments)
    else:
        result = function(case["world_size"], *arguments.values())
    return list(_rows(result, request["limits"]))


def _value(
    function: Callable[..., Any],
    parameters: list[str],
    request: Mapping[str, Any],
    case: Mapping[str, Any],
    engine: types.SimpleNamespace,
) -> dict[str, Any]:
    """Return the answer to one call as plain data, and the arguments that the call changed."""
    if case["function"] != request["entry"][0]:
        function = vars(sys.modules["answer"])[case["function"]]
        parameters = _form(function)
    arguments: dict[str, Any] = engine.plain.unpack(case["arguments"])
    result = _called(function, parameters, arguments, case["function"])
    taking = engine.plain.Taking(_whole, _show)
    try:
        data = taking.answer(result)
    except engine.plain.NotPlainError as error:
        message = f"it returned {error}"
        raise ComplaintError(message, "value") from error
    changed: list[str] = []
    if case["keeps_arguments"]:
        before = engine.plain.unpack(case["arguments"])
        changed = [name for name in before if _differ(arguments[name], before[name], taking)]
    return {"data": data, "changed": changed}


def _called(
    function: Callable[..., Any], parameters: list[str], arguments: dict[str, Any], name: str
) -> object:
    """Call by position, or by name if the learner has put the parameters in another order."""
    import inspect  # noqa: PLC0415 - loaded by then

    reordered = list(arguments) != parameters and set(arguments) <= set(parameters)
    values, named = ((), arguments) if reordered else (tuple(arguments.values()), {})
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError as error:
        message = (
            f"{name} is called with {', '.join(arguments)}, and that does not fit: {error}; keep "
            "the parameters of the stub"
        )
        raise ComplaintError(message, "value") from error
    return function(*values, **named)


def _differ(after: object, before: object, taking: Any) -> bool:  # noqa: ANN401
    try:
        return bool(taking.answer(after) != taking.answer(before))
    except ValueError:
        return True  # something that is no plain data was put into it


def _traced(
    program: Callable[[Any], Any],
    request: Mapping[str, Any],
    case: Mapping[str, Any],
    engine: types.SimpleNamespace,
) -> object:
    """Return the steps of a rank program; what the program itself raised comes out as it was."""
    try:
        return engine.trace_program(
            program,
            collective=request["collective"],
            world_size=case["world_size"],
            root=case["root"],
            num_chunks=case["num_chunks"],
        ).steps
    except engine.errors.RankFailed as error:
        raise error.__cause__ or error from None
    except engine.errors.CollectiveError as error:
        facts = {
            name: getattr(error, name) for name in ("step", "src", "dst", "chunk", "rank", "peer")
        }
        raise ComplaintError(error.message, error.kind, **facts) from error


def _rows(result: object, limits: Mapping[str, int]) -> Iterator[list[list[Any]]]:
    """Yield the steps as rows [src, dst, chunk, op], and stop an endless schedule."""
    if result is None:
        message = "the function returned nothing; yield steps, or return a list of steps"
        raise ComplaintError(message)
    transfers = 0
    for number, step in enumerate(_iterate(result, "the function returned", "a list of steps")):
        if number >= limits["steps"]:
            message = f"more than {limits['steps']} steps; does the loop ever end?"
            raise ComplaintError(message, "endless", step=number)
        if _is_one_transfer(step):
            message = (
                f"step {number} is a single transfer; a step is a list of transfers that happen "
                "together: yield [Transfer(...)]"
            )
            raise ComplaintError(message, step=number)
        rows = []
        for index, item in enumerate(_iterate(step, f"step {number} is", "a list of transfers")):
            transfers += 1
            if transfers > limits["transfers"]:
                message = f"more than {limits['transfers']} transfers; does the loop ever end?"
                raise ComplaintError(message, "endless", step=number)
            rows.append(_row(item, number, index))
        yield rows


def _iterate(value: object, where: str, what: str) -> Iterator[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        message = f"{where} {_show(value)}; it must be {what}"
        raise ComplaintError(message)
    return iter(value)


def _is_one_transfer(step: object) -> bool:
    if isinstance(step, tuple | list):
        return len(step) == len(FIELDS) and all(_whole(value) is not None for value in step[:3])
    return all(hasattr(step, name) for name in FIELDS)


def _row(item: object, step: int, index: int) -> list[Any]:
    where = f"step {step}, transfer {index}"
    if isinstance(item, Mapping):
        values = [item.get(name) for name in FIELDS]
    elif all(hasattr(item, name) for name in FIELDS):
        values = [getattr(item, name) for name in FIELDS]
    elif isinstance(item, tuple | list) and len(item) == len(FIELDS):
        values = list(item)
    else:
        message = f"{where} is {_show(item)}; write Transfer(src, dst, chunk, op)"
        raise ComplaintError(message, step=step)
    numbers = [
        _number(value, where, name, step) for value, name in zip(values, FIELDS, strict=False)
    ]
    return [*numbers[:3], _op(values[3], where, step)]


def _number(value: object, where: str, name: str, step: int) -> int | None:
    if name == "op":
        return None
    number = _whole(value)
    if number is not None and not -MAX_INT < number < MAX_INT:
        message = f"{where}: {name} is {_show(value)}, out of range; it must be a rank or a chunk"
        raise ComplaintError(message, step=step)
    if number is None:
        advice = "; divide with //" if isinstance(value, float) else ""
        message = f"{where}: {name} is {_show(value)}; it must be a whole number{advice}"
        raise ComplaintError(message, step=step)
    return number


def _whole(value: object) -> int | None:
    """Return an int for an int or a NumPy integer, None for anything else (True, 2.0, "2")."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return None
    try:
        return int.__add__(operator.index(value), 0)  # type: ignore[arg-type]
    except TypeError:
        return None


def _op(value: object, where: str, step: int) -> str:
    name = getattr(value, "value", value)
    if isinstance(name, str) and name.lower() in ("copy", "reduce"):
        return name.lower()
    message = f"{where}: op is {_show(value)}; it must be Op.COPY or Op.REDUCE"
    raise ComplaintError(message, step=step)


def _show(value: object) -> str:
    if type(value) is int and not -MAX_INT < value < MAX_INT:
        # the digits of a huge int may be more than Python is willing to write
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001 - a learner's __repr__ may do anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004


def describe(error: BaseException, filename: str) -> dict[str, Any]:
    """Return what was raised, and the last line of the learner's file that was running.

    An exception class of the learner's own may raise from any attribute; what it does not tell is
    left empty.
    """
    text = _told(lambda: str(error))
    line, code = None, ""
    builtin = type(error) in (SyntaxError, IndentationError, TabError)
    if builtin and isinstance(error, SyntaxError) and error.filename == filename:
        line, text = error.lineno, error.msg
    else:
        trace = BaseException.__dict__["__traceback__"].__get__(error)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == filename:
                line = trace.tb_lineno
            trace = trace.tb_next
    if line is not None:
        code = linecache.getline(filename, line).strip()
    return {
        "type": _told(lambda: type(error).__name__),
        "family": [cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"],
        "text": text[:TEXT_LIMIT],
        "line": line,
        "code": code[:TEXT_LIMIT],
        "module": _told(lambda: str(getattr(error, "name", "")))[:80],
    }


def _told(ask: Callable[[], str]) -> str:
    """Return what a learner's object says of itself as a plain str; empty if it raises."""
    try:
        return str.__str__(ask())
    except BaseException:  # noqa: BLE001 - a learner's property or __str__ may do anything
        return ""


if __name__ == "__main__":
    main()
