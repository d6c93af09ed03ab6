"""Random kernels with all of C's control flow, to compare the interpreted loop level with the emulator."""

from __future__ import annotations

import random

TYPES = ("int", "unsigned", "long long", "short", "float")


class KernelWriter:
    """Writes one kernel `void NAME(int n, const int *in, int *out)`: every thread works on its own results."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[str] = []
        self.count = 0
        self.loop_depth = 0

    def write(self, name: str) -> str:
        choose = self.random
        lines = [f"__global__ void {name}(int n, const int *in, int *out) {{", "int t = threadIdx.x, fuel = 60;"]
        for index in range(3):
            type_ = choose.choice(TYPES)
            self.variables.append(f"v{index}")
            lines.append(f"{type_} v{index} = in[(t * 3 + {index}) % n];")
        lines.append("int a[8]; for (int i = 0; i < 8; i++) a[i] = in[i] + i;")
        lines += self.block(3)
        lines.append("finish: out[t * 4] = (int)v0; out[t * 4 + 1] = (int)v1; out[t * 4 + 2] = (int)v2;")
        lines.append("out[t * 4 + 3] += a[t & 7]; }")
        return "\n".join(lines)

    def expression(self) -> str:
        choose = self.random
        match choose.randrange(8):
            case 0:
                return str(choose.randint(-9, 9))
            case 1:
                return f"in[(unsigned)({self.integer()}) % 8]"
            case 2:
                return f"a[({self.integer()}) & 7]"
            case 3:
                return f"({self.condition()} ? {self.integer()} : {self.integer()})"
            case 4 | 5:
                operator = choose.choice(("+", "-", "^", "&", "|"))
                return f"((int)({self.integer()}) {operator} (int)({self.integer()}))"
            case _:
                return choose.choice([*self.variables, "t", "n"])

    def integer(self) -> str:
        name = self.random.choice([*self.variables, "t", "fuel"])
        return f"(int){name} % {self.random.randint(2, 9)}"

    def condition(self) -> str:
        choose = self.random
        left, right = (
            f"{self.integer()} {choose.choice(('<', '>', '==', '!=', '<='))} {choose.randint(-2, 4)}" for _ in "ab"
        )
        return choose.choice((left, f"({left} && {right})", f"({left} || {right})", f"!({left})"))

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        choose = self.random
        kind = choose.randrange(14 if depth > 0 else 5)
        match kind:
            case 0 | 1 | 2:
                return [f"{choose.choice(self.variables)} = {self.expression()};"]
            case 3:
                return [f"a[({self.integer()}) & 7] += {self.expression()};"]
            case 4:
                if self.loop_depth and choose.random() < 0.6:
                    return [f"if ({self.condition()}) {choose.choice(('break', 'continue'))};"]
                if choose.random() < 0.4:
                    leave = choose.choice(("return", "goto finish", "{ out[t * 4] = 5; return; }"))
                    return [f"if (({self.condition()}) && t % 3 == {choose.randrange(3)}) {leave};"]
                return [f"out[t * 4 + 3] += {self.expression()};"]
            case 5 | 6:
                return [f"if ({self.condition()}) {{", *self.block(depth - 1), "}"]
            case 7:
                return [f"if ({self.condition()}) {{", *self.block(depth - 1), "} else {", *self.block(depth - 1), "}"]
            case 8 | 9 | 10:
                return self.counted(depth)
            case 11 | 12:
                self.loop_depth += 1
                body = self.block(depth - 1)
                self.loop_depth -= 1
                test = f"fuel-- > 0 && {self.condition()}"
                if choose.random() < 0.5:
                    return [f"while ({test}) {{", *body, "}"]
                return ["do {", *body, f"}} while ({test});"]
            case _:
                lines = [f"switch ((unsigned)({self.integer()}) % 5) {{"]
                depth_before, self.loop_depth = self.loop_depth, 0
                for case in choose.sample(range(5), choose.randint(2, 4)):
                    lines += [f"case {case}:", *self.block(0)]
                    if choose.random() < 0.7:
                        lines.append("break;")
                if choose.random() < 0.5:
                    lines += ["default:", *self.block(0)]
                self.loop_depth = depth_before
                return [*lines, "}"]

    def counted(self, depth: int) -> list[str]:
        choose = self.random
        self.count += 1
        name = f"i{self.count}"
        bound = choose.choice(("n", "t", f"in[{choose.randrange(8)}] % 7", str(choose.randint(0, 9))))
        start = choose.choice(("0", "1", "t", "-3"))
        step = choose.choice(("1", "2", "3", "(t + 1)"))
        type_ = choose.choice(("int", "long long", "short"))
        head = choose.choice((
            f"for ({type_} {name} = {start}; {name} < {bound}; {name} += {step})",
            f"for ({type_} {name} = {start}; {name} <= {bound}; {name} += {step})",
            f"for ({type_} {name} = {bound}; {name} > {start}; {name} -= {step})",
            f"for ({type_} {name} = {bound}; {name} >= {start}; {name} -= {step})",
            f"for (unsigned {name} = (unsigned)t; {name} < (unsigned)n; {name} += {step})",
            f"for (unsigned {name} = {choose.randint(1, 40)}; {name} > 0; {name} >>= 1)",
            f"for (int {name} = 0; {name} != {choose.randint(0, 7)}; ++{name})",
            f"for (const int *{name} = in + (t & 3); {name} != in + 8; ++{name})",
        ))  # fmt: skip
        self.loop_depth += 1
        use = f"*{name}" if "const int *" in head else name
        body = [f"{choose.choice(self.variables)} += (int){use};", *self.block(depth - 1)]
        self.loop_depth -= 1
        return [f"{head} {{", *body, "}"]
