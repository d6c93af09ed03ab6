"""The cheapest program of a graph of equalities, by integer linear programming.

Each node has a price (`windlass.facts.cost.price_of`): what it adds within a kernel, and what is added if its result is
written out. Products, convolutions and reductions ask that their operands are written out; what is free (reshapes,
broadcasts) passes that on. With variables for what is written out fusion is linear, and what is shared counts once.

Choices may not go in circles: within strongly connected components of classes, which alone can hold circles, each class
has a place in an order, and a node comes after its operands. (To exclude circles as they appear takes far longer.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windlass.facts.cost import Device, Price, price_of
from windlass.rewriting.equality.graph import EqualityGraph, Node

Choice = dict[int, Node]
"""For each class that is computed the node that does it."""

MOST_BRANCHES = 20
"""Nodes of the solver's search: later ones rarely find anything better."""
MOST_VARIABLES, FEWER_MEMBERS = 800, (6, 4, 3, 2, 1)
"""Of larger programs fewer nodes are taken of each class."""
GAP = 1e-2
"""How far from the best a solution may be, relative to it: prices are no better."""
TIE = 1e-15


class Extraction:
    """What the nodes of a graph cost on a device, and the choices among them."""

    def __init__(self, graph: EqualityGraph, roots: Sequence[int], device: Device) -> None:
        self.graph = graph
        self.roots = tuple(dict.fromkeys(map(graph.find, roots)))
        self.prices: dict[Node, Price] = {node: price_of(node.op, device) for node in graph.nodes.values()}

    def is_given(self, number: int) -> bool:
        return self.graph.classes[number].given is not None

    # -- by trees ---------------------------------------------------------------------------------------------------

    def choose_trees(self) -> Choice:
        """For each class the cheapest tree, in which everything is written out and what is shared counts each time."""
        best: dict[int, float] = {number: 0.0 for number, each in self.graph.classes.items() if each.given is not None}
        chosen: Choice = {}
        changed = True
        while changed:
            changed = False
            for node, price in self.prices.items():
                if any(each not in best for each in node.operands):
                    continue
                total = price.inside + price.written + sum(best[each] for each in node.operands)
                for home in node.homes:
                    if total < best.get(home, np.inf) - TIE:
                        best[home], chosen[home] = total, node
                        changed = True
        return self.reached(chosen)

    def reached(self, chosen: Mapping[int, Node]) -> Choice:
        """The part of a choice that the roots need."""
        kept: Choice = {}
        pending = list(self.roots)
        while pending:
            number = pending.pop()
            if number not in kept and not self.is_given(number):
                kept[number] = chosen[number]
                pending += chosen[number].operands
        return kept

    def price(self, chosen: Mapping[int, Node]) -> float:
        """What a choice costs: each node counts once, and what is written out is what someone asks for."""
        nodes = dict.fromkeys(chosen.values())
        written: dict[int, None] = {}
        pending = [*self.roots]
        pending += [each for node in nodes if self.prices[node].needs_written for each in node.operands]
        while pending:
            number = pending.pop()
            if number in chosen and number not in written:
                written[number] = None
                if chosen[number].op.is_free:
                    pending += chosen[number].operands
        out = {chosen[number] for number in written}
        return sum(self.prices[node].inside + (self.prices[node].written if node in out else 0.0) for node in nodes)

    # -- by integer linear programming ------------------------------------------------------------------------------

    def choose(self, known: Choice) -> Choice | None:
        """The cheapest choice, of those that cost about what a known one costs at the most.

        Where the program is too large, some nodes are left out of it: those that cost most, but for the known choice.
        None where no choice is found within the solver's limits.
        """
        everything = self._members(self.price(known))
        for most in (len(self.prices), *FEWER_MEMBERS):
            members = {number: nodes[:most] for number, nodes in everything.items()}
            for number, node in known.items():
                if node not in members.setdefault(number, []):
                    members[number].append(node)
            program = _Program(self, self._reached_by(members), members)
            if program.size <= MOST_VARIABLES:
                return program.solve()
        return None

    def _reached_by(self, members: Mapping[int, list[Node]]) -> list[int]:
        """The classes that the roots may need."""
        reached: dict[int, None] = {}
        pending = [each for each in self.roots if not self.is_given(each)]
        while pending:
            number = pending.pop()
            if number not in reached:
                reached[number] = None
                nodes = members.get(number, ())
                pending += [each for node in nodes for each in node.operands if not self.is_given(each)]
        return list(reached)

    def _members(self, at_most: float) -> dict[int, list[Node]]:
        """The nodes of each class that can be part of a choice that costs no more than this, the cheapest first."""
        least = self._least()
        members: dict[int, list[tuple[float, Node]]] = defaultdict(list)
        for node, price in self.prices.items():
            total = price.inside + max((least.get(each, np.inf) for each in node.operands), default=0.0)
            if total > at_most * (1 + GAP) + TIE or not set(node.homes).isdisjoint(node.operands):
                continue
            for home in dict.fromkeys(node.homes):
                members[home].append((total, node))
        return {
            number: [node for _, node in sorted(found, key=lambda each: each[0])] for number, found in members.items()
        }

    def _least(self) -> dict[int, float]:
        """What each class costs at the least: a node, and the dearest of its operands, as others may be shared."""
        least: dict[int, float] = {number: 0.0 for number, each in self.graph.classes.items() if each.given is not None}
        changed = True
        while changed:
            changed = False
            for node, price in self.prices.items():
                if all(each in least for each in node.operands):
                    total = price.inside + max((least[each] for each in node.operands), default=0.0)
                    for home in node.homes:
                        if total < least.get(home, np.inf) - TIE:
                            least[home] = total
                            changed = True
        return least


class _Program:
    """The integer program of an extraction. Its variables are, in this order:

    x, for each node: it is chosen; m, for each node: it is chosen and a result of it is written out; w, for each class:
    it is written out; and the place of each class in the order.
    """

    def __init__(self, extraction: Extraction, classes: list[int], members: Mapping[int, list[Node]]) -> None:
        self.extraction = extraction
        self.members = members
        self.classes = classes
        self.nodes = list(dict.fromkeys(node for number in classes for node in members.get(number, ())))
        count = len(self.nodes)
        self.chosen = {node: place for place, node in enumerate(self.nodes)}
        self.both = {node: count + place for place, node in enumerate(self.nodes)}
        self.written = {number: 2 * count + place for place, number in enumerate(classes)}
        self.place = {number: 2 * count + len(classes) + place for place, number in enumerate(classes)}
        self.size = 2 * (count + len(classes))
        self.rows: list[tuple[dict[int, float], float]] = []
        """What is at least so much: coefficients by variable, and the bound."""

    def demand(self, row: dict[int, float], least: float) -> None:
        self.rows.append((row, least))

    def solve(self) -> Choice | None:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_matrix

        prices, component = self.extraction.prices, self._components()
        cost = np.zeros(self.size)
        for node in self.nodes:
            cost[self.chosen[node]], cost[self.both[node]] = prices[node].inside, prices[node].written
            self._demand_of(node, component)
        for root in self.extraction.roots:
            if not self.extraction.is_given(root):
                self.demand({self.chosen[node]: 1 for node in self.members.get(root, ())}, 1)
                self.demand({self.written[root]: 1}, 1)
        if not self.rows:
            return {}
        entries = [(i, j, value) for i, (row, _) in enumerate(self.rows) for j, value in row.items()]
        lines, columns, values = map(np.array, zip(*entries, strict=True))
        matrix = csr_matrix((values.astype(float), (lines, columns)), (len(self.rows), self.size))
        whole = np.zeros(self.size)
        whole[: len(self.nodes)] = 1
        most = np.ones(self.size)
        for number, place in self.place.items():
            most[place] = component[number][1] - 1
        scale = 1 / max(float(cost.max(initial=0.0)), TIE)
        least: Any = np.array([least for _, least in self.rows], float)
        highest: Any = most
        found: Any = milp(
            cost * scale,
            constraints=LinearConstraint(matrix, least, np.inf),
            integrality=whole,
            bounds=Bounds(0, highest),
            options={"node_limit": MOST_BRANCHES, "mip_rel_gap": GAP},
        )
        return None if found.x is None else self._read(found.x)

    def _demand_of(self, node: Node, component: Mapping[int, tuple[int, int]]) -> None:
        """What a node that is chosen demands of its operands' classes."""
        x, m = self.chosen[node], self.both[node]
        homes = [home for home in dict.fromkeys(node.homes) if home in self.written]
        for home in homes:
            self.demand({m: 1, x: -1, self.written[home]: -1}, -1)
        for operand in dict.fromkeys(node.operands):
            if self.extraction.is_given(operand):
                continue
            self.demand({**{self.chosen[each]: 1.0 for each in self.members.get(operand, ())}, x: -1}, 0)
            if self.extraction.prices[node].needs_written:
                self.demand({self.written[operand]: 1, x: -1}, 0)
            elif node.op.is_free:
                for home in homes:
                    self.demand({self.written[operand]: 1, x: -1, self.written[home]: -1}, -1)
            for home in homes:
                if component[home][0] == component[operand][0]:
                    many = component[home][1]
                    self.demand({self.place[home]: 1, self.place[operand]: -1, x: -many}, 1 - many)
                    for back in self.members.get(operand, ()):
                        # Follows from the order, but not if part of a node may be chosen, as the solver tries at first.
                        if home < operand and home in back.operands:
                            self.demand({x: -1, self.chosen[back]: -1}, -1)

    def _components(self) -> dict[int, tuple[int, int]]:
        """For each class its strongly connected component, and how many classes that has."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        places = {number: place for place, number in enumerate(self.classes)}
        links = [
            (places[home], places[operand])
            for node in self.nodes
            for home in node.homes
            for operand in node.operands
            if home in places and operand in places
        ]
        pairs = np.array(links, int).reshape(-1, 2)
        edges = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (len(places), len(places)))
        labels: Any = connected_components(edges, connection="strong")[1]
        sizes = np.bincount(labels, minlength=1)
        return {number: (int(labels[place]), int(sizes[labels[place]])) for number, place in places.items()}

    def _read(self, solution: Any) -> Choice | None:
        """The choice that a solution stands for; None should it leave out a class, being off from whole numbers."""
        chosen: Choice = {}
        for node in self.nodes:
            if solution[self.chosen[node]] > 0.5:
                for home in node.homes:
                    chosen.setdefault(home, node)
        try:
            return self.extraction.reached(chosen)
        except KeyError:
            return None


def goes_in_circles(chosen: Mapping[int, Node]) -> bool:
    """Whether some class is computed from itself."""
    state: dict[int, bool] = {}
    for root in chosen:
        stack = [root]
        while stack:
            number = stack[-1]
            if number not in chosen or state.get(number) is True:
                stack.pop()
                continue
            if number in state:
                state[number] = True
                stack.pop()
                continue
            state[number] = False
            for operand in chosen[number].operands:
                if state.get(operand) is False:
                    return True
                if operand in chosen and operand not in state:
                    stack.append(operand)
    return False
