"""OpenMP as clang lowers it, turned back into serial loops: the runtime becomes a team of one thread, inlined.

Clang gives clauses their meaning (private copies, reductions, collapsed loops, schedules, lastprivate); what is left to
the runtime are calls of `__kmpc_*`, and a team of one answers each with a constant, a direct call or nothing. What a
program means is thereby its serial elision. That its worksharing loops may run in any order is kept as calls of
markers, which touch no memory that programs see:

    call void @__windlass_enter(i32 7)        before loop 7, outside of it
    call void @__windlass_iteration(i32 7)    once in each of its iterations
    call void @__windlass_in_order()          where iterations wait for one another: critical, ordered, flush, locks
    call void @__windlass_own_thread()        where memory of a thread's own is asked for: its number, threadprivate

The text is rewritten before any optimization, when blocks bear clang's names (`omp.inner.for.body`). The loop level
reads the markers in `windlass.parallel.independence`.
"""

from __future__ import annotations

import re

from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, OWN_THREAD

_CALL = re.compile(
    r"^(?P<lead>\s*(?:(?P<result>%[\w.]+) = )?)(?:tail )?call (?P<type>[^@]*?)"
    r"@(?P<name>__kmpc_\w+|omp_\w+|llvm\.threadlocal\.address\.p0)\((?P<arguments>.*)\)(?P<tail>.*)$"
)
_DEFINED = re.compile(r"^define [^@\n]*@([-\w$.]+)\(", re.MULTILINE)
_LOCATION = re.compile(r", !dbg !\d+")
_LABEL = re.compile(r"^([-\w$.]+):")
_BRANCH_ROUND = re.compile(r"^\s*br label %(omp\.(?:inner\.for|dispatch)\.cond\d*),?")
_BRANCH_IN = re.compile(r"^\s*br i1 [^,]+, label %([-\w$.]+), label %[-\w$.]+")
_ORDERED_ACCESS = re.compile(
    r"^\s*(?:%[\w.]+ = )?(?:fence|(?:load|store|atomicrmw|cmpxchg)\b.*\b(?:acquire|release|acq_rel|seq_cst)\b"
    r"|(?:load|store)(?: atomic)? volatile)\b"
)
_OUTLINED = re.compile(
    r"^(define internal [^@\n]*@[-\w$.]*omp_(?:outlined|task_entry)[-\w$.]*\(.*\)[^#\n]*?)(?:#\d+ )?(!dbg |\{)",
    re.MULTILINE,
)
_STATIC_CHUNKED, _STATIC, _DYNAMIC, _ORDERED, _DISTRIBUTE = 33, 34, 35, 64, (91, 92)
_MODIFIERS = 3 << 29

_ANSWERS = {
    1: """__kmpc_reduce __kmpc_reduce_nowait __kmpc_single __kmpc_master __kmpc_masked
        omp_get_num_threads omp_get_max_threads omp_get_num_procs omp_get_num_teams omp_get_thread_limit
        omp_get_team_size omp_get_max_active_levels omp_is_initial_device omp_test_lock omp_test_nest_lock""",
    0: """__kmpc_global_thread_num __kmpc_cancel __kmpc_cancellationpoint __kmpc_cancel_barrier __kmpc_barrier
        __kmpc_end_reduce __kmpc_end_reduce_nowait __kmpc_end_single __kmpc_end_master __kmpc_end_masked
        __kmpc_for_static_fini __kmpc_dispatch_fini_4 __kmpc_dispatch_fini_4u __kmpc_dispatch_fini_8
        __kmpc_dispatch_fini_8u __kmpc_dispatch_deinit __kmpc_push_num_threads __kmpc_push_num_teams
        __kmpc_push_proc_bind __kmpc_critical __kmpc_critical_with_hint __kmpc_end_critical __kmpc_flush __kmpc_ordered
        __kmpc_end_ordered __kmpc_doacross_init __kmpc_doacross_fini __kmpc_doacross_post __kmpc_doacross_wait
        __kmpc_omp_taskwait __kmpc_omp_taskwait_deps_51 __kmpc_taskgroup __kmpc_end_taskgroup __kmpc_omp_taskyield
        __kmpc_copyprivate __kmpc_serialized_parallel __kmpc_end_serialized_parallel __kmpc_omp_task_begin_if0
        __kmpc_omp_task_complete_if0 __kmpc_omp_wait_deps
        omp_get_thread_num omp_get_ancestor_thread_num omp_get_team_num omp_in_parallel omp_in_final omp_get_level
        omp_get_active_level omp_get_dynamic omp_get_nested omp_get_num_devices omp_get_default_device
        omp_get_cancellation omp_get_proc_bind
        omp_set_num_threads omp_set_dynamic omp_set_nested omp_set_max_active_levels omp_set_schedule
        omp_set_default_device omp_init_lock omp_init_lock_with_hint omp_destroy_lock omp_set_lock omp_unset_lock
        omp_init_nest_lock omp_destroy_nest_lock omp_set_nest_lock omp_unset_nest_lock""",
}
_ANSWER = {name: number for number, names in _ANSWERS.items() for name in names.split()}
"""What a team of one answers; where nothing is asked, the call goes."""
_WAITS = re.compile(r"__kmpc_(?:critical|flush|ordered|doacross)|omp_(?:set|test)_(?:nest_)?lock")
_OWN = frozenset({"omp_get_thread_num", "omp_get_ancestor_thread_num", "omp_get_team_num"})


def as_team_of_one(llvm_ir: str) -> str:
    """The module with OpenMP's runtime as a team of one, and its loops marked.

    Calls that a team of one has no answer to stay as they are: who comes to one is told so.

    >>> print(as_team_of_one("  %1 = call i32 @omp_get_num_threads(), !dbg !7").splitlines()[0])
      %1 = add i32 0, 1, !dbg !7
    """
    team = _Team(llvm_ir)
    team.run()
    text = "\n".join(team.lines) + "\n"
    # Outlined functions forbid to be inlined, by their attributes.
    text = _OUTLINED.sub(r"\1\2", text)
    text = re.sub(r"^(@[^\n]*?= [^\n]*?)\bthread_local(?:\(\w+\))? ", r"\1", text, flags=re.MULTILINE)
    # Loops that programs want vectorized are left to what reads this.
    text = text.replace('!"llvm.loop.vectorize.enable", i1 true', '!"llvm.loop.vectorize.enable", i1 false')
    effect = "nounwind willreturn memory(inaccessiblemem: readwrite)"
    return (
        f"{text}\n@.windlass.zero = internal constant i32 0\n"
        f"declare void @{ENTER}(i32) {effect}\ndeclare void @{ITERATION}(i32) {effect}\n"
        f"declare void @{IN_ORDER}() {effect}\ndeclare void @{OWN_THREAD}() {effect}\n"
    )


class _Team:
    """The text as it is rewritten, line by line, and what is known at the current one."""

    def __init__(self, llvm_ir: str) -> None:
        self.source = llvm_ir.splitlines()
        self.defined = frozenset(_DEFINED.findall(llvm_ir))
        self.lines: list[str] = []
        self.loops = 0
        self.entry = 0
        """Behind which line the entry block of the current function begins."""
        self.label = ""
        self.is_shared = False
        """Whether the worksharing loop that begins next is one whose iterations may run in any order."""
        self.heads: dict[str, tuple[int, str]] = {}
        """For the condition block of a marked loop the loop's number, and a location."""
        self.bodies: dict[str, tuple[int, str]] = {}
        self.tasks: dict[str, str] = {}

    def run(self) -> None:
        for place, line in enumerate(self.source):
            if line.startswith("define "):
                self.label, self.is_shared, self.heads, self.bodies, self.tasks = "", False, {}, {}, {}
                self.entry = len(self.lines) + 2
            elif label := _LABEL.match(line):
                self.label = label[1]
                self.lines.append(line)
                if found := self.bodies.get(self.label):
                    self.mark(ITERATION, *found)
                continue
            elif branch := _BRANCH_ROUND.match(line):
                self.branch(line, branch[1], place)
                continue
            elif (branch := _BRANCH_IN.match(line)) and self.label in self.heads:
                self.bodies[branch[1]] = self.heads[self.label]
            elif _ORDERED_ACCESS.match(line):
                self.lines.append(f"  call void @{IN_ORDER}(){self.location(line)}")
            call = _CALL.match(line)
            if call is None or call["name"] in self.defined or not self.answer(call):
                self.lines.append(line)

    def mark(self, marker: str, number: int, location: str) -> None:
        self.lines.append(f"  call void @{marker}(i32 {number}){location}")

    def location(self, line: str) -> str:
        """The location of an instruction. A call without one would void the debug info of all."""
        return "".join(_LOCATION.findall(line))

    def branch(self, line: str, target: str, place: int) -> None:
        """A branch to the condition of a worksharing loop, or to that of the loop over its chunks."""
        if target.startswith("omp.dispatch.cond") and self.label.startswith("omp.dispatch.inc"):
            # A team of one has one chunk: on to what follows, not back.
            following = next((found[1] for each in self.source[place:] if (found := _LABEL.match(each))), "")
            if following.startswith("omp.dispatch.end"):
                self.lines.append(f"  br label %{following}{self.location(line)}")
                return
        elif target.startswith("omp.inner.for.cond") and not self.label.startswith("omp.inner.for.inc"):
            if self.is_shared:
                self.heads[target] = self.loops, self.location(line)
                self.mark(ENTER, self.loops, self.location(line))
                self.loops += 1
            self.is_shared = False
        self.lines.append(line)

    def answer(self, call: re.Match[str]) -> bool:
        """Puts what a team of one does in the place of a call; whether it knows."""
        name, result = call["name"], call["result"]
        arguments = split_arguments(call["arguments"])
        location = self.location(call["tail"])
        if _WAITS.match(name):
            self.lines.append(f"  call void @{IN_ORDER}(){location}")
        if name in _OWN or name.startswith(("__kmpc_threadprivate", "llvm.threadlocal")):
            self.lines.append(f"  call void @{OWN_THREAD}(){location}")
        if name in _ANSWER:
            if result:
                type_ = call["type"].split("(")[0].split()[-1]
                self.lines.append(f"{call['lead']}add {type_} 0, {_ANSWER[name]}{location}")
            return True
        values = [each.split()[-1] if each else "" for each in arguments]
        match name:
            case "__kmpc_fork_call" | "__kmpc_fork_teams":
                given = ", ".join(["ptr @.windlass.zero", "ptr @.windlass.zero", *arguments[3:]])
                self.lines.append(f"  call void {values[2]}({given}){location}")
            case "__kmpc_threadprivate_cached" | "llvm.threadlocal.address.p0":
                place = values[2] if name.startswith("__kmpc") else values[0]
                self.lines.append(f"{call['lead']}getelementptr i8, ptr {place}, i64 0{location}")
            case "__kmpc_omp_task" | "__kmpc_omp_task_with_deps" if values[2] in self.tasks:
                self.lines.append(f"{call['lead']}call i32 {self.tasks[values[2]]}(i32 0, ptr {values[2]}){location}")
            case "__kmpc_omp_task_alloc" if result and values[3].isdigit() and values[4].isdigit():
                self.allocate_task(result, int(values[3]), int(values[4]), values[5], location)
            case _ if name.startswith(("__kmpc_for_static_init", "__kmpc_distribute_static_init")):
                self.begin(int(values[2]), values[8])
                self.lines.append(f"  store i32 1, ptr {values[3]}{location}")
                self.take_all(values[4], values[5], values[6], "i64" if "_8" in name else "i32", location)
            case _ if name.startswith("__kmpc_dispatch_init"):
                self.begin(int(values[2]), values[6])
            case _ if name.startswith("__kmpc_dispatch_next") and result:
                self.lines.append(f"  store i32 1, ptr {values[2]}{location}")
                self.lines.append(f"{call['lead']}add i32 0, 1{location}")
            case _:
                return False
        return True

    def begin(self, schedule: int, chunk: str) -> None:
        """A worksharing loop with that schedule begins.

        Programs may rely on it that the iterations of a chunk run in order.
        """
        schedule &= ~_MODIFIERS
        is_chunked = schedule in (_STATIC_CHUNKED, _DYNAMIC) and chunk != "1"
        self.is_shared = schedule < _ORDERED and not is_chunked
        if schedule in _DISTRIBUTE:
            self.is_shared = False

    def take_all(self, lower: str, upper: str, stride: str, type_: str, location: str) -> None:
        """Have one chunk, from the lower bound to the upper one: the next would begin where it ends."""
        number = f"%windlass.bounds{len(self.lines)}"
        self.lines += [
            f"  {number}.lower = load {type_}, ptr {lower}{location}",
            f"  {number}.upper = load {type_}, ptr {upper}{location}",
            f"  {number}.less = sub {type_} {number}.upper, {number}.lower{location}",
            f"  {number}.size = add {type_} {number}.less, 1{location}",
            f"  store {type_} {number}.size, ptr {stride}{location}",
        ]

    def allocate_task(self, result: str, size: int, shared: int, entry: str, location: str) -> None:
        """Memory for a task, which is done with it before there is another."""
        self.tasks[result] = entry
        number = len(self.lines)
        self.lines[self.entry : self.entry] = [f"  %windlass.task{number} = alloca [{size + shared} x i8], align 16"]
        self.lines += [
            f"  {result} = getelementptr i8, ptr %windlass.task{number}, i64 0{location}",
            f"  %windlass.shared{number} = getelementptr i8, ptr {result}, i64 {size}{location}",
            f"  store ptr %windlass.shared{number}, ptr {result}{location}",
        ]


def split_arguments(text: str) -> list[str]:
    """Arguments, split at the commas outside of brackets.

    >>> split_arguments("ptr align 4 %x, { i32, i32 } %y")
    ['ptr align 4 %x', '{ i32, i32 } %y']
    """
    parts: list[str] = []
    depth = start = 0
    for place, each in enumerate(text):
        depth += (each in "([{<") - (each in ")]}>")
        if each == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()] if text.strip() else []
