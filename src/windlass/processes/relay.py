"""What the first rank prints, passed on as it comes.

It prints to a terminal of its own where ours is one, so that progress bars work, otherwise to a pipe. The lines in
which JAX's library for communication between CPUs tells of each connection are left out.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import termios
import threading
import tty
from contextlib import suppress

NOISE = re.compile(rb"\[Gloo\] Rank |\d+ is connected to \d+ peer")
"""How such lines begin. Several threads write them, into one another."""
MAYBE_NOISE = re.compile(rb"\[(G(l(o(o(\](\s(R(a(n(k\s?)?)?)?)?)?)?)?)?)?)?|\d+( [a-z ]{0,16}\d* ?[per]{0,4})?")
"""What may become the beginning of one."""
REST_OF_NOISE = re.compile(
    rb"[\d ]*(is connected to [\d ]*peer ranks\. Expected number of connected peer ranks is : )?[\d ]*\n"
)
"""What is left of a line that another was written into."""


class Filter:
    """Bytes as they come, without the lines of noise.

    >>> passed = Filter()
    >>> passed.add(b"a\\n[Gl"), passed.add(b"oo] Rank 0 is connected\\nb"), passed.add(b"\\n[G"), passed.end()
    (b'a\\n', b'b', b'\\n', b'[G')
    >>> Filter().add(b"[Gloo] Rank [Gloo] Rank 01 is connected to 3 peer ranks.\\n3\\n3\\n")
    b'3\\n'
    """

    def __init__(self) -> None:
        self._held = b""
        self._is_within_line = False
        self._rests = 0

    def add(self, received: bytes) -> bytes:
        """What can be passed on, now that this came too."""
        rest, passed = self._held + received, b""
        while rest:
            newline = rest.find(b"\n") + 1
            line = rest[:newline] if newline else rest
            if not self._is_within_line:
                if NOISE.match(line):
                    if not newline:
                        break
                    self._rests += line.count(b"[Gloo]") - 1
                    rest = rest[newline:]
                    continue
                if self._rests > 0 and REST_OF_NOISE.fullmatch(line):
                    self._rests -= 1
                    rest = rest[newline:]
                    continue
                if not newline and MAYBE_NOISE.fullmatch(line):
                    break
            rest = rest[len(line) :]
            passed += line
            self._is_within_line = not newline
        self._held = rest
        return passed

    def end(self) -> bytes:
        """What was held back."""
        return b"" if NOISE.match(self._held) else self._held


class Relay:
    """The other end of what a rank is given as standard output: `handle`, to be closed once the rank has it."""

    def __init__(self) -> None:
        self._target = sys.stdout.fileno()
        if os.isatty(self._target):
            self._reader, self.handle = os.openpty()
            tty.setraw(self.handle)
            with suppress(OSError):
                fcntl.ioctl(self.handle, termios.TIOCSWINSZ, fcntl.ioctl(self._target, termios.TIOCGWINSZ, bytes(8)))
        else:
            self._reader, self.handle = os.pipe()
        self._thread = threading.Thread(target=self._pass_on, name="windlass-relay", daemon=True)

    def start(self) -> None:
        """The rank has its end: pass on what it prints."""
        os.close(self.handle)
        self._thread.start()

    def finish(self, seconds: float = 5.0) -> None:
        """Wait until all is passed on; not for ever, as a child of the rank may go on printing."""
        self._thread.join(seconds)

    def _pass_on(self) -> None:
        passed = Filter()
        while received := self._read():
            self._write(passed.add(received))
        self._write(passed.end())
        os.close(self._reader)

    def _read(self) -> bytes:
        try:
            return os.read(self._reader, 1 << 16)
        except OSError as error:
            if error.errno == errno.EIO:  # so a terminal tells that nobody writes to it any more
                return b""
            raise

    def _write(self, text: bytes) -> None:
        with suppress(BrokenPipeError):  # whoever reads, `head` say, has had enough
            while text:
                text = text[os.write(self._target, text) :]
