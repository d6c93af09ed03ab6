"""MLIR bytecode of strangers, read by a process of its own first.

MLIR's reader trusts what it reads: bytes that were changed, by chance or on purpose, may end the process that reads
them. So another process reads them and writes the module anew, and only what it has written is read here. It is started
when it is first needed (0.6 s), and stays for a minute after each use. Then reading takes 10 ms longer, and a third
longer for large programs (0.6 s instead of 0.4 for 20,000 ops). Of 400 programs with one to four bytes changed three
ended the process, and one kept it busy for ever.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.diagnostics.progress import telling

SECONDS = 10.0
SECONDS_PER_BYTE = 1e-5
"""How long reading a program may take: twenty times as long as it does."""


class _Reader:
    """The process, and the conversation with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, data: bytes) -> bytes:
        """The bytecode written anew.

        Raises ProgramError (WL0501) where it holds no module, or where it ends the process that reads it.
        """
        with self.lock:
            answer = self._ask(data)
            if answer is None and self._status() == 0:
                answer = self._ask(data)  # it had just ended for want of work
            if answer is None:
                status = self._status()
                self.end()
                raise _refusal("reading it takes too long" if status == -9 else "MLIR's reader does not survive it")
        kind, content = answer
        if kind == b"E":
            raise _refusal(content.decode(errors="replace"))
        return content

    def _ask(self, data: bytes) -> tuple[bytes, bytes] | None:
        """What the process answers; None if it ends without an answer."""
        process = self._started()
        timer = threading.Timer(SECONDS + len(data) * SECONDS_PER_BYTE, process.kill)
        timer.daemon = True
        timer.start()
        given, taken = process.stdin, process.stdout
        assert given is not None and taken is not None
        try:
            given.write(len(data).to_bytes(8, "little") + data)
            given.flush()
            head = taken.read(9)
            content = taken.read(int.from_bytes(head[1:], "little")) if len(head) == 9 else b""
        except BrokenPipeError:
            return None
        except BaseException:
            self.end()  # a signal's handler raised: nobody takes the answer
            raise
        finally:
            timer.cancel()
        return None if len(head) < 9 else (head[:1], content)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            script = Path(__file__).with_name("reader_process.py")
            folders = [each for each in sys.path if each]
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", str(script), *folders],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError as error:
                raise _refusal(f"no process could be started to read it: {error}") from None
        return self._process

    def _status(self) -> int | None:
        """How the process ended, if it does now."""
        if self._process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0)
        return None

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def forget(self) -> None:
        """In a forked child: the process is its parent's."""
        self.lock = threading.Lock()
        self._process = None


_reader = _Reader()
atexit.register(_reader.end)
os.register_at_fork(after_in_child=_reader.forget)


def _refusal(reason: str) -> ProgramError:
    return ProgramError(Diagnostic("WL0501", f"this is not StableHLO bytecode: {reason}"))


def read_apart(data: bytes) -> bytes:
    """MLIR bytecode, or a portable StableHLO artifact, as bytecode that MLIR of this version has written itself.

    Raises ProgramError (WL0501) where the bytes are neither.
    """
    with telling("reading bytecode"):
        return _reader.read(data)
