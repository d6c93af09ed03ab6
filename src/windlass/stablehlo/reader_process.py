"""A process that reads MLIR bytecode for another one, and writes it anew: run as a script, by `reading_apart`.

It imports nothing of Windlass or JAX, so that it starts quickly. On standard input it gets a length of 8 bytes and so
many bytes of bytecode, over and over; on standard output it gives "M" and the module as this MLIR writes it, or "E"
and what is wrong with the bytes, each with its length. It ends with its input, and after a minute without any.
"""

from __future__ import annotations

import contextlib
import io
import select
import sys
from typing import Any

IDLE_SECONDS = 60.0
MOST_BYTES = 16 << 30
"""How much memory it may take: damaged lengths may ask for any amount."""


def main() -> None:
    """Answer until there is no more to read. The folders that modules are found in are the script's arguments."""
    sys.path.extend(sys.argv[1:])
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    given, taken = sys.stdin.buffer, sys.stdout.buffer
    while select.select([given], [], [], IDLE_SECONDS)[0]:
        head = given.read(8)
        if len(head) < 8:
            return
        data = given.read(int.from_bytes(head, "little"))
        kind, answer = _read(data)
        taken.write(kind + len(answer).to_bytes(8, "little") + answer)
        taken.flush()


def _make_context() -> Any:
    """A context with every dialect that jaxlib knows, as `private_jax.make_context` gives it."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, mpmd, sdy, stablehlo

    extension: Any = _jax_mlir_ext
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    context: Any = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (chlo, mpmd, sdy, stablehlo):
        dialect.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    context.allow_unregistered_dialects = True
    return context


def _read(data: bytes) -> tuple[bytes, bytes]:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    context = _make_context()
    complaints: list[str] = []

    def hear(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            complaints.append(str(diagnostic.message))
        return True

    with context, ir.Location.unknown(context):
        context.emit_error_diagnostics = True
        context.attach_diagnostic_handler(hear)
        try:
            if b"StableHLO_v" in data[:64]:
                parsed: Any = stablehlo.deserialize_portable_artifact(context, data)
            else:
                parsed = ir.Module.parse(data, context)
            written = io.BytesIO()
            parsed.operation.write_bytecode(written)
        except Exception as error:
            return b"E", (complaints[0] if complaints else str(error)).encode(errors="replace")
    return b"M", written.getvalue()


if __name__ == "__main__":
    main()
