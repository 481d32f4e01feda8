"""What a run came to."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from ._errors import Error, SnippetError
from ._values import is_cut, plain


class GuestException:
    """What a snippet raised. Everything in it is text that the snippet chose."""

    __slots__ = ("fields",)

    fields: Dict[str, Any]
    """The whole as one dictionary."""

    def __init__(self, fields: Dict[str, Any]) -> None:
        self.fields = fields

    @property
    def class_name(self) -> str:
        """Name of its class."""
        return str(self.fields["class"])

    @property
    def message(self) -> str:
        """Its message."""
        return str(self.fields["message"])

    @property
    def code(self) -> Union[int, float, str, None]:
        """A number or text, where the language has one."""
        code: Union[int, float, str, None] = self.fields.get("code")
        return code

    @property
    def file(self) -> Optional[str]:
        """The file that raised it, as the language names it."""
        file: Optional[str] = self.fields.get("file")
        return file

    @property
    def line(self) -> Optional[int]:
        """The line, from 1."""
        line: Optional[int] = self.fields.get("line")
        return line

    @property
    def column(self) -> Optional[int]:
        """The column, from 1."""
        column: Optional[int] = self.fields.get("column")
        return column

    @property
    def stack_trace(self) -> List[str]:
        """`function (file:line)`, innermost first."""
        return list(self.fields.get("stack_trace", ()))

    @property
    def traceback(self) -> Optional[str]:
        """The language's own rendering."""
        traceback: Optional[str] = self.fields.get("traceback")
        return traceback

    @property
    def hint(self) -> Optional[str]:
        """What to do about it, where there is something to advise; never the snippet's own words."""
        hint: Optional[str] = self.fields.get("hint")
        return hint

    @property
    def previous(self) -> List[GuestException]:
        """Its causes, nearest first."""
        return [GuestException(one) for one in self.fields.get("previous", ())]

    def __str__(self) -> str:
        return f"{self.class_name}: {self.message}" if self.message else self.class_name

    def __repr__(self) -> str:
        return f"<GuestException {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GuestException) and other.fields == self.fields

    def __hash__(self) -> int:
        return hash((self.class_name, self.message))


class Outcome:
    """What a run came to: a value, an exception, an exit, or a limit that ended it. Can be pickled."""

    __slots__ = ("answer",)

    answer: Dict[str, Any]
    """The whole as one dictionary, as the tool `sandbox_eval` answers it."""

    def __init__(self, answer: Dict[str, Any]) -> None:
        self.answer = answer

    @property
    def ok(self) -> bool:
        """Whether the snippet ran to its end, or ended itself with status 0."""
        return bool(self.answer["ok"])

    @property
    def value(self) -> Any:
        """The value of the last expression, as Python's own; None after `exit(0)`.

        Raises `Error` where a limit ended the run, and `SnippetError` where the snippet raised or ended itself with another
        status than 0.
        """
        if self.answer["error"] is not None:
            raise Error.of(self.answer["error"])
        if not self.ok:
            raise SnippetError(self.exception, self.exit_code)
        typed = self.answer["result"]
        return None if typed is None else plain(typed)

    @property
    def typed(self) -> Optional[Dict[str, Any]]:
        """The value in its typed form, as every door of Dormouse gives it; None where there is none."""
        typed: Optional[Dict[str, Any]] = self.answer["result"]
        return typed

    @property
    def is_cut(self) -> bool:
        """Whether something of the value was left out: it has more than 10 000 items, 16 levels, 1 MiB in a string or 8 MiB in all, or
        keys longer than 256 bytes that are the same when they are shortened."""
        return self.typed is not None and is_cut(self.typed)

    @property
    def stdout(self) -> str:
        """Standard output, cut at `output_bytes`. What is no UTF-8 is shown as U+FFFD."""
        return str(self.answer["stdout"])

    @property
    def stderr(self) -> str:
        """Standard error, likewise."""
        return str(self.answer["stderr"])

    @property
    def truncated(self) -> Tuple[int, int]:
        """Bytes of standard output and of standard error that were dropped."""
        cut = self.answer.get("truncated") or {}
        return int(cut.get("stdout_bytes", 0)), int(cut.get("stderr_bytes", 0))

    @property
    def exit_code(self) -> int:
        """0; 1 after an exception; the snippet's own status; 124 after the time limit; 137 after another limit."""
        return int(self.answer["exit_code"])

    @property
    def timed_out(self) -> bool:
        """Whether the time limit ended it."""
        return bool(self.answer["timed_out"])

    @property
    def exception(self) -> Optional[GuestException]:
        """What the snippet raised, or None."""
        fields = self.answer["exception"]
        return None if fields is None else GuestException(fields)

    @property
    def error(self) -> Optional[Error]:
        """The limit or the crash that ended it, or None."""
        fields = self.answer["error"]
        return None if fields is None else Error.of(fields)

    @property
    def duration_ms(self) -> float:
        """Milliseconds that it took."""
        return float(self.answer["duration_ms"])

    @property
    def memory_peak_bytes(self) -> int:
        """Largest memory of the run, interpreter included."""
        return int(self.answer["memory_peak_bytes"])

    @property
    def fuel_used(self) -> Optional[int]:
        """Executed operations, where they were counted."""
        fuel: Optional[int] = self.answer.get("fuel_used")
        return fuel

    @property
    def provider(self) -> str:
        """Who ran it: `wasm`, `docker` or `kubernetes`."""
        return str(self.answer["provider"])

    @property
    def sandbox_id(self) -> Optional[str]:
        """The persistent sandbox that it ran in, or None."""
        sandbox: Optional[str] = self.answer.get("sandbox_id")
        return sandbox

    @property
    def recovery(self) -> Optional[str]:
        """What the variables of its sandbox are after a run that was stopped: `before_run`, `earlier` or `fresh`; else None."""
        recovery: Optional[str] = self.answer.get("recovery")
        return recovery

    @property
    def network(self) -> Optional[Dict[str, Any]]:
        """What it did with its network, or None if it had none: `requests`, `bytes_in`, `bytes_out`, `denied`, `secrets_masked`."""
        network: Optional[Dict[str, Any]] = self.answer.get("network")
        return network

    @property
    def unsaved(self) -> Optional[Error]:
        """Why what the run did could not be saved, or None."""
        fields = self.answer.get("unsaved")
        return None if fields is None else Error.of(fields)

    @property
    def warning(self) -> Optional[Error]:
        """What is to be known besides, or None."""
        fields = self.answer.get("warning")
        return None if fields is None else Error.of(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and other.answer == self.answer

    def __hash__(self) -> int:
        return hash((self.exit_code, self.stdout, self.stderr))

    def __repr__(self) -> str:
        if self.answer["error"] is not None:
            return f"<Outcome stopped: {self.answer['error']['code']}>"
        if self.exception is not None:
            return f"<Outcome raised {self.exception}>"
        if not self.ok or self.typed is None:
            return f"<Outcome exited: {self.exit_code}>"
        shown = repr(self.value)
        return f"<Outcome {shown if len(shown) <= 200 else shown[:200] + '...'}>"
