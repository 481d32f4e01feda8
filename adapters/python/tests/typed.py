"""A program that uses all of the package, for checkers of types. It is not run."""

from __future__ import annotations

from typing import List, Optional

import dormouse
from dormouse import answers


async def price(item: str) -> int:
    return len(item)


def used(engine: dormouse.Dormouse, box: dormouse.Sandbox) -> Optional[str]:
    outcome: dormouse.Outcome = engine.run("1", timeout_ms=100, mounts={"/a": dormouse.Mount("/a")}, callbacks={"p": price})
    ran: answers.ExecAnswer = box.exec("ls", cwd="/workspace", timeout_ms=1000)
    forks: List[dormouse.Sandbox] = box.fork(2)
    forks[0].restore(box.checkpoint(note="x")["id"])
    if outcome.exception is not None:
        return outcome.exception.traceback
    return ran["stdout"]


async def awaited(engine: dormouse.AsyncDormouse) -> bytes:
    box: dormouse.AsyncSandbox = await engine.create(name="x", memory_bytes=1 << 28)
    await box.run("1", language="javascript", on_output=lambda stream, text: print(stream, text))
    return await box.read_bytes("/workspace/a")
