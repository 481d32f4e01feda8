"""What is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from ._outcome import GuestException


class Cause(Exception):
    """What an error came of."""


class Error(Exception):
    """A call that could not be done, or a run that a limit or a crash ended.

    `code` is a stable name that never changes its meaning, `message` one sentence, `hint` what to do about it, and `causes`
    what it came of, nearest first; they are also its chain of `__cause__`.
    """

    code: str
    message: str
    hint: str
    causes: Sequence[str]

    def __init__(self, code: str, message: str, hint: str = "", causes: Sequence[str] = ()) -> None:
        super().__init__(code, message, hint, tuple(causes))
        self.code, self.message, self.hint, self.causes = code, message, hint, tuple(causes)
        above: BaseException = self
        for text in self.causes:
            above.__cause__ = Cause(text)
            above = above.__cause__

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}" + (f"\nhint: {self.hint}" if self.hint else "")

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Error:
        """The error of an answer."""
        return cls(fields["code"], fields["message"], fields.get("hint") or "")


class SnippetError(Exception):
    """A run was asked for its value and has none: the snippet raised, or ended itself with another status than 0.

    `exception` is what it raised, or None; `exit_code` its status.
    """

    exception: Optional[GuestException]
    exit_code: int

    def __init__(self, exception: Optional[GuestException], exit_code: int) -> None:
        super().__init__(exception, exit_code)
        self.exception, self.exit_code = exception, exit_code

    def __str__(self) -> str:
        if self.exception is None:
            return f"the snippet ended itself with status {self.exit_code}"
        return self.exception.traceback or str(self.exception)
