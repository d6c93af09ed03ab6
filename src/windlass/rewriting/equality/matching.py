"""Rules on a graph of equalities: the catalogue's as they are, one level of classes deep, and equalities.

For each node, ops are built that have in each operand's place the value that represents its class, or an op that is
equal to it; the rules are tried on those. Below that, patterns and guards see what represents the classes. What a rule
gives is made equal to the node's results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice, product

from windlass.diagnostics import WindlassError
from windlass.diagnostics.deadline import is_late
from windlass.ir import Op, TypeFault, Value
from windlass.ir.captures import captures
from windlass.ops import While
from windlass.ops.control import Branching
from windlass.rewriting.driver import failed
from windlass.rewriting.equalities import Equality
from windlass.rewriting.equality.graph import EqualityGraph, Node
from windlass.rewriting.rule import Application, Rule, RuleSet
from windlass.rewriting.sharing import left_open

MOST_OPTIONS, MOST_COMBINATIONS = 6, 24
"""How many values are tried in one operand's place, and how many combinations of them on one node."""


@dataclass(frozen=True)
class Limits:
    """How far a graph grows. They count steps, not seconds, so that builds repeat."""

    nodes: int = 1000
    rounds: int = 8
    steps: int = 4000
    """Ops that rules are tried on."""
    unions: int = 60
    """A rule that makes more classes equal in a round is left out of the next ones, for longer each time."""


def usable(rules: Iterable[Rule]) -> RuleSet:
    """The rules that are tried on graphs, as they are there.

    Not those that come last, which give XLA what it wants and ask for the ops around; loops and branches are left as
    they are.
    """
    kept = (rule for rule in rules if not rule.last and not all(issubclass(r, While | Branching) for r in rule.roots))
    return RuleSet(rule.with_sharing_open() for rule in kept)


class Saturation:
    """Applies rules to a graph, round by round, until they say nothing new or a limit is reached."""

    def __init__(
        self, graph: EqualityGraph, rules: RuleSet, equalities: Collection[Equality] = (), limits: Limits | None = None
    ) -> None:
        self.graph = graph
        self.rules = rules
        self.equalities = equalities
        self.limits = limits or Limits()
        self.steps = 0
        self.fired: Counter[str] = Counter()
        """How often each rule made classes equal that were not."""
        self._banned: dict[str, tuple[int, int]] = {}
        """Until which round a rule is left out, and how often it has been."""
        self._tried: set[tuple[Node, tuple[Value, ...]]] = set()

    def run(self) -> str:
        """Saturate the graph; gives what ended it: "saturated" or the limit that was reached."""
        graph = self.graph
        with left_open():
            for number in range(self.limits.rounds):
                before = len(graph.nodes), graph.unions
                counts: Counter[str] = Counter()
                for each in self.equalities:
                    if self.reached() is None and self._may_go(each.name, number):
                        counts[each.name] += self._apply_equality(each)
                graph.rebuild()
                for node in list(graph.nodes.values()):
                    if self.reached() is not None:
                        break
                    self._apply_rules(node, number, counts)
                graph.rebuild()
                self._ban(counts, number)
                limit = self.reached()
                if limit is not None:
                    return limit
                if (len(graph.nodes), graph.unions) == before and not any(
                    end > number for end, _ in self._banned.values()
                ):
                    return "saturated"
        return "rounds"

    def reached(self) -> str | None:
        """The limit that is reached, if one is."""
        if len(self.graph.nodes) >= self.limits.nodes:
            return "nodes"
        if self.steps >= self.limits.steps:
            return "steps"
        return "seconds" if is_late() else None

    def _apply_equality(self, each: Equality) -> int:
        """Enter the pairs of an equality; gives how many of them were not known to be equal."""
        graph, news = self.graph, 0
        try:
            with graph.build() as builder:
                # What is left out comes in a later round.
                pairs = list(islice(each.body(graph), self.limits.unions))
        except TypeFault:
            raise
        except Exception as error:
            raise failed(each.name, error) from error
        for old, new in pairs:
            news += graph.unite(graph.enter(old), graph.enter(new, each.name))
        self._tidy(builder.placed)
        self.fired[each.name] += news
        return news

    def _apply_rules(self, node: Node, number: int, counts: Counter[str]) -> None:
        graph = self.graph
        if type(node.op) not in self.rules.by_root:
            return
        classes = [graph.classes[graph.find(each)] for each in node.operands]
        seen = tuple(len(each.members) for each in classes)
        if seen == node.seen:
            return
        node.seen = seen
        places: list[list[Value]] = []
        for each in classes:
            members = [member.op.results[index] for member, index in each.members]
            places.append(list(dict.fromkeys((each.value, *members)))[:MOST_OPTIONS])
        for values in islice(product(*places), MOST_COMBINATIONS):
            if self.reached() is not None:
                return
            if (node, values) not in self._tried:
                self._tried.add((node, values))
                self.steps += 1
                self._try_on(node, values, number, counts)

    def _try_on(self, node: Node, values: tuple[Value, ...], number: int, counts: Counter[str]) -> None:
        """Try all rules on the node's op with these operands."""
        graph = self.graph
        op = graph.on(node.op, values)
        for rule, application in self.rules.candidates(op):
            if self._may_go(rule.name, number) and self._try_rule(rule, application, op, node):
                counts[rule.name] += 1
        if op is not node.op:
            self._tidy([op])

    def _try_rule(self, rule: Rule, application: Application, op: Op, node: Node) -> bool:
        """Whether the rule says something new of the node.

        What a loop that a rule makes takes from around it is no operand, for which a class could stand: it isn't taken.
        """
        graph = self.graph
        try:
            with graph.build() as builder:
                builder.source = op.source
                replacement = application(op)
        except (TypeFault, WindlassError):
            raise
        except Exception as error:
            raise failed(rule.name, error, op) from error
        is_news = False
        if replacement is not None and not any(
            captures(region) for op in builder.placed or () for region in op.regions
        ):
            news = replacement if isinstance(replacement, tuple) else (replacement,)
            for home, old, new in zip(node.homes, op.results, news, strict=True):
                if new.type != old.type:
                    raise TypeFault(f"rule {rule.name} replaced {old.type} by {new.type}")
                is_news |= graph.unite(home, graph.enter(new, rule.name))
            self.fired[rule.name] += is_news
        self._tidy(builder.placed)
        return is_news

    def _tidy(self, ops: list[Op] | None) -> None:
        """Discard those ops that became no node's."""
        kept = self.graph.kept
        self.graph.discard(op for op in reversed(ops or ()) if op not in kept and op.block is self.graph.block)

    def _may_go(self, name: str, number: int) -> bool:
        return name not in self._banned or self._banned[name][0] <= number

    def _ban(self, counts: Counter[str], number: int) -> None:
        for name, count in counts.items():
            if count >= self.limits.unions:
                times = self._banned.get(name, (0, 0))[1] + 1
                self._banned[name] = (number + 1 + times, times)
