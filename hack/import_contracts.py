"""Import contracts that import-linter does not have: slices whose rules are pure, and modules without cycles."""

from collections.abc import Iterator
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PureRules(Contract):
    """In a slice everything is a pure rule but a few modules that are known by their names.

    Options: `packages` whose modules are judged, `impure` names of modules that may reach outside, `forbidden` modules and packages
    that no other module may import, not even indirectly.
    """

    packages = fields.ListField(subfield=fields.StringField())
    impure = fields.SetField(subfield=fields.StringField())
    forbidden = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001
        """Looks for the shortest chain of imports from each pure module to what is forbidden."""
        chains = [chain for module in self._pure(graph) for chain in self._outward(graph, module)]
        return ContractCheck(kept=not chains, metadata={"chains": chains})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints each chain on a line."""
        for chain in cast("list[tuple[str, ...]]", check.metadata["chains"]):
            output.print_error(" -> ".join(chain), bold=False)

    def _pure(self, graph: ImportGraph) -> Iterator[str]:
        impure = cast("set[str]", self.impure)
        for package in cast("list[str]", self.packages):
            for module in sorted(graph.find_descendants(package)):
                parts = module.removeprefix(f"{package}.").split(".")
                if not impure.intersection(parts):
                    yield module

    def _outward(self, graph: ImportGraph, module: str) -> Iterator[tuple[str, ...]]:
        reached = graph.find_upstream_modules(module)
        for forbidden in sorted(cast("set[str]", self.forbidden)):
            hit = [m for m in reached if m == forbidden or m.startswith(f"{forbidden}.")]
            chain = graph.find_shortest_chain(module, min(hit)) if hit else None
            if chain:
                yield tuple(chain)


class NoModuleCycles(Contract):
    """No module imports itself through others. Slices may know each other, their modules never in a circle."""

    packages = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001
        """Looks for modules that are upstream of themselves."""
        cycles = []
        for package in cast("list[str]", self.packages):
            for module in sorted({package, *graph.find_descendants(package)}):
                direct = graph.find_modules_directly_imported_by(module)
                back = [m for m in sorted(direct) if module in graph.find_upstream_modules(m)]
                cycles.extend((module, each) for each in back)
        return ContractCheck(kept=not cycles, metadata={"cycles": cycles})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints each import that closes a circle."""
        for module, imported in cast("list[tuple[str, str]]", check.metadata["cycles"]):
            output.print_error(f"{module} -> {imported} -> ... -> {module}", bold=False)
