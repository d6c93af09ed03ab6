"""What the runtime library found wrong, told to the user: source line, block and thread, parameter and element."""

from __future__ import annotations

import math

from windlass.diagnostics import Diagnostic, EmulationError, Position
from windlass.emulator.arguments import BoundArguments
from windlass.emulator.library import FaultRecord
from windlass.emulator.module import ARGUMENT, CompiledModule, MemoryPiece
from windlass.emulator.sites import Site
from windlass.ir.signature import KernelSignature
from windlass.llvm.names import collective_name
from windlass.loops.variable_names import readable

(
    FINISHED,
    PAUSED,
    OUT_OF_BOUNDS,
    MISALIGNED,
    READ_ONLY,
    FOREIGN_LOCAL,
    UNINITIALIZED,
    RACE,
    DIVERGENT_BARRIER,
    INCOMPLETE_COLLECTIVE,
    LANE_NOT_IN_MASK,
    LANE_TAKES_NO_PART,
    ASSERTION,
    TRAP,
    STACK_OVERFLOW,
    LOCAL_EXHAUSTED,
    BAD_FUNCTION,
    UNSUPPORTED,
    BAD_FREE,
    BAD_TEXTURE,
    OUTSIDE_SURFACE,
) = range(21)


class FaultReport:
    """Builds the error for one failed launch."""

    def __init__(
        self,
        module: CompiledModule,
        signature: KernelSignature,
        bound: BoundArguments,
        memories: list[MemoryPiece],
        block: tuple[int, int, int],
        fault: FaultRecord,
    ) -> None:
        self.module = module
        self.signature = signature
        self.bound = bound
        self.memories = memories
        self.block_shape = block
        self.fault = fault
        self.site: Site = module.instrumented.sites[fault.site]

    # ---- pieces of messages

    def _thread(self, block: tuple[int, int, int], thread: int) -> str:
        x, y, _ = self.block_shape
        place = (thread % x, thread // x % y, thread // (x * y))
        return f"block ({', '.join(map(str, block))}), thread ({', '.join(map(str, place))})"

    def _self(self) -> str:
        return self._thread(tuple(self.fault.block), self.fault.thread)

    def _other(self) -> str:
        return self._thread(tuple(self.fault.other_block), self.fault.other_thread)

    def _position(self, site: Site) -> tuple[Position | None, tuple[str, ...], str | None]:
        position, callers = self.module.positions.find(site.debug)
        notes = tuple(f"called from {caller}" for caller in callers)
        return position, notes, self.module.code.source_line(position)

    def _error(self, code: str, headline: str, notes: tuple[str, ...] = (), help: str | None = None) -> EmulationError:
        position, callers, source = self._position(self.site)
        notes = (f"in kernel {self.signature.name}, {self._self()}", *callers, *notes)
        return EmulationError(Diagnostic(code, headline, position, source=source, notes=notes, help=help))

    def _second_position(self, site: int, says: str) -> tuple[str, ...]:
        position, callers, source = self._position(self.module.instrumented.sites[site])
        if position is None:
            return (says,)
        text = source if source is not None else position.source_line()
        return (f"{says} at {position}" + (f": {text.strip()}" if text else ""), *callers)

    def _access(self) -> str:
        size = self.fault.size
        verb = {"load": "read", "store": "write", "atomic": "atomic update"}.get(self.site.kind, "access")
        return f"{verb} of {size} byte{'s' if size != 1 else ''}"

    def _element(self, memory: MemoryPiece) -> str:
        """Which element of which array the address is."""
        offset = self.fault.address - memory.address
        candidates = [
            (name, array, address)
            for name, (array, address) in self.bound.arrays.items()
            if memory.kind == ARGUMENT and memory.address <= address <= memory.address + memory.size
        ]
        containing = [
            entry for entry in candidates if entry[2] <= self.fault.address < entry[2] + entry[1].nbytes
        ] or candidates
        if containing:
            name, array, address = containing[0]
            offset = self.fault.address - address
            item = array.dtype.itemsize
            index = f"element {offset // item}" + (f" (byte {offset % item} of it)" if offset % item else "")
            kind = f"records of {item} bytes" if array.dtype.names else f"elements of {array.dtype}"
            return f"{index} of '{name}', which has {array.size} {kind}"
        return f"byte {offset} of {self._variable(memory)}, which has {memory.size} bytes"

    @staticmethod
    def _variable(memory: MemoryPiece) -> str:
        """A variable's name as the source has it."""
        return f"'{readable(memory.name)}'"

    def _nearest(self) -> MemoryPiece | None:
        """The memory that the access was probably meant for: the one that is nearest to its address."""
        address = self.fault.address

        def distance(memory: MemoryPiece) -> int:
            return max(memory.address - address, address - (memory.address + memory.size), 0)

        near = min(self.memories, key=distance, default=None)
        return near if near is not None and distance(near) < 8 << 30 else None

    # ---- one method per kind of fault

    def error(self) -> EmulationError:
        """The error to raise."""
        makers = {
            OUT_OF_BOUNDS: self._out_of_bounds,
            MISALIGNED: self._misaligned,
            READ_ONLY: self._read_only,
            FOREIGN_LOCAL: self._foreign_local,
            UNINITIALIZED: self._uninitialized,
            RACE: self._race,
            DIVERGENT_BARRIER: self._divergent_barrier,
            INCOMPLETE_COLLECTIVE: self._incomplete_collective,
            LANE_NOT_IN_MASK: self._lane_not_in_mask,
            LANE_TAKES_NO_PART: self._lane_takes_no_part,
            ASSERTION: self._assertion,
            TRAP: self._trap,
            STACK_OVERFLOW: self._stack_overflow,
            LOCAL_EXHAUSTED: self._local_exhausted,
            BAD_FUNCTION: self._bad_function,
            UNSUPPORTED: self._unsupported,
            BAD_FREE: self._bad_free,
            BAD_TEXTURE: self._bad_texture,
            OUTSIDE_SURFACE: self._outside_surface,
        }
        return makers[self.fault.outcome]()

    def _local(self) -> str:
        variable = self.module.instrumented.sites[self.fault.local_site].text
        name = readable(variable) or "a local variable"
        offset = self.fault.local_offset if self.fault.local_offset < 1 << 31 else self.fault.local_offset - (1 << 32)
        return f"byte {offset} of local variable '{name}', which has {self.fault.local_size} bytes"

    def _out_of_bounds(self) -> EmulationError:
        if self.fault.local_site:
            return self._error("WL0602", f"{self._access()} out of bounds", (self._local(),))
        if self.fault.address < 4096:
            return self._error(
                "WL0602", f"{self._access()} through a null pointer", (f"address {self.fault.address:#x}",)
            )
        near = self._nearest()
        where = self._element(near) if near is not None else f"address {self.fault.address:#x} is in no array"
        return self._error("WL0602", f"{self._access()} out of bounds", (where,))

    def _misaligned(self) -> EmulationError:
        known = self.fault.region >= 0
        where = (self._element(self.memories[self.fault.region]),) if known else ()
        return self._error(
            "WL0609",
            f"{self._access()} at an address that is no multiple of {self.site.alignment}",
            where,
            "vector types are read and written at multiples of their size",
        )

    def _read_only(self) -> EmulationError:
        return self._error("WL0613", "write to constant memory", (self._element(self.memories[self.fault.region]),))

    def _foreign_local(self) -> EmulationError:
        return self._error(
            "WL0602",
            f"{self._access()} in another thread's local memory",
            (),
            "a pointer to a local variable means something to its own thread only",
        )

    def _uninitialized(self) -> EmulationError:
        where = self._local() if self.fault.local_site else self._element(self.memories[self.fault.region])
        space = "local" if self.fault.local_site else "shared"
        return self._error("WL0606", f"{self._access()} of {space} memory that nothing has written", (where,))

    def _race(self) -> EmulationError:
        fault = self.fault
        sites = self.module.instrumented.sites

        def describe(is_write: bool, site: Site) -> str:
            return "an atomic update" if site.kind == "atomic" else "a write" if is_write else "a read"

        mine = describe(bool(fault.is_write), self.site)
        other = describe(bool(fault.other_is_write), sites[fault.other_site])
        same_block = tuple(fault.block) == tuple(fault.other_block)
        where = self._element(self.memories[fault.region]) if fault.region >= 0 else f"address {fault.address:#x}"
        help_text = (
            "put a __syncthreads() between them"
            if same_block
            else "blocks run in any order: use an atomic, or a launch of its own for the second part"
        )
        return self._error(
            "WL0603",
            f"data race: {mine} and {other} with nothing to order them",
            (where, *self._second_position(fault.other_site, f"{other} by {self._other()}")),
            help_text,
        )

    def _divergent_barrier(self) -> EmulationError:
        if self.site.text == "__windlass_barrier_wait":
            return self._error(
                "WL0604",
                "deadlock: threads wait at a barrier for arrivals that do not come",
                self._second_position(self.fault.other_site, f"{self._other()} waits"),
                "as many threads must arrive as the barrier was initialized for",
            )
        return self._error(
            "WL0604",
            "threads of one block wait at different barriers",
            self._second_position(self.fault.other_site, f"{self._other()} waits"),
            "every thread of the block that has not exited must come to the same __syncthreads()",
        )

    def _incomplete_collective(self) -> EmulationError:
        name = collective_name(self.site.text)
        return self._error(
            "WL0605",
            f"deadlock: {name} waits for lanes of its mask that do not come",
            self._second_position(self.fault.other_site, f"{self._other()} waits"),
            "the mask must name exactly the lanes that take part",
        )

    def _lane_not_in_mask(self) -> EmulationError:
        name = collective_name(self.site.text)
        return self._error("WL0605", f"a lane calls {name} with a mask that does not name it")

    def _lane_takes_no_part(self) -> EmulationError:
        other, threads = self.fault.other_thread, math.prod(self.block_shape)
        is_beyond = other >= threads
        why = f"is beyond the block's {threads} threads" if is_beyond else "has left, waits elsewhere or is not named"
        return self._error(
            "WL0618",
            f"{collective_name(self.site.text)} reads from a lane that takes no part, and the result depends on it",
            (f"lane {other % 32} of the warp {why}",),
            "what such a lane gives is undefined: let all lanes that are read take part",
        )

    def _assertion(self) -> EmulationError:
        message, file, line, function = self.fault.message.decode(errors="replace").split("\n")[-4:]
        place = f"asserted at {file}:{line}" + (f" in {function}" if function else "")
        return self._error("WL0607", f"assertion failed: {message}", (place,) if file else ())

    def _trap(self) -> EmulationError:
        if self.site.kind == "unreachable":
            return self._error("WL0608", "control reached a place that the compiler holds to be unreachable")
        return self._error("WL0608", "the kernel trapped")

    def _stack_overflow(self) -> EmulationError:
        return self._error("WL0612", f"stack overflow in {self.site.function}", (), "is the recursion endless?")

    def _local_exhausted(self) -> EmulationError:
        return self._error("WL0612", "more local memory than the 512 KiB that a thread may have")

    def _bad_function(self) -> EmulationError:
        address = f"address {self.fault.address:#x}"
        return self._error("WL0614", "call through a pointer that is no function", (address,))

    def _unsupported(self) -> EmulationError:
        if self.site.text == "__windlass_grid_sync":
            return self._error(
                "WL0611",
                "the emulator runs blocks one after another: it can't carry out a barrier across the grid",
                help="use a grid of one block, or split the kernel at the barrier into two launches",
            )
        if "vprintf" in self.site.text:
            return self._error(
                "WL0619", "printf with %n, which devices do not have", help="count what is printed yourself"
            )
        return self._error("WL0611", f"the emulator can't carry out {self.site.text or self.site.kind}")

    def _bad_free(self) -> EmulationError:
        return self._error("WL0616", "free of a pointer that malloc did not give")

    def _bad_texture(self) -> EmulationError:
        what = "surface" if "surface" in self.site.text else "texture"
        if self.site.text == "__windlass_bound_texture":
            return self._error(
                "WL0617",
                "the texture reference is bound to nothing",
                help="bind it before the launch: cudaBindTexture, or module.textures['name'] = wl.cuda.texture(...)",
            )
        if self.fault.size:
            return self._error("WL0617", f"the memory of the {what} is no longer there", help="was it freed too early?")
        address = f"the value is {self.fault.address:#x}"
        return self._error(
            "WL0617", f"the value is no {what} object", (address,), "was the object destroyed too early?"
        )

    def _outside_surface(self) -> EmulationError:
        x, y, z = (each - (1 << 32) if each >> 31 else each for each in self.fault.other_block)
        place = f"{self.fault.size} bytes at byte {x} of row {y}, slice or layer {z}"
        return self._error("WL0602", "access outside of a surface", (place,), "x counts bytes, not elements")
