"""Who is heard again in the second round of mutation.

Webhooks and policies that wish it (`IfNeeded`) are asked once more if anybody changed the object after them; nobody is
asked for the first time in a second round.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from pocketkube.apiserver.admission.attributes import Attributes


@dataclass(slots=True)
class Hearing:
    """What one plugin remembers about who was heard."""

    attributes: Attributes
    _heard: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)
    _left: Any = None

    def open(self) -> None:
        """Begins a round: what others changed since the last one counts."""
        if self.attributes.rounds.second and self._heard and self._left != self.attributes.object:
            self._recall()

    def admits(self, key: str) -> bool:
        """Whether somebody is to be heard in this round."""
        return not self.attributes.rounds.second or key in self._again

    def heard(self, key: str, *, changed: bool, wants_more: bool) -> None:
        """Somebody was heard."""
        if changed:
            self._recall()
            self.attributes.rounds.again = True
        if wants_more:
            self._heard.add(key)

    def close(self, *, touched: bool = False) -> None:
        """Ends a round; whoever touched the object, even without a change, has all heard again."""
        if touched:
            self._recall()
            self.attributes.rounds.again = True
        if self._heard:
            # A copy, because others change the object in place.
            self._left = msgspec.json.decode(msgspec.json.encode(self.attributes.object))

    def _recall(self) -> None:
        self._again |= self._heard
        self._heard.clear()


def hearing(attributes: Attributes, plugin: str) -> Hearing:
    """The memory of a plugin for one write."""
    notes = attributes.rounds.notes
    found = notes.get(plugin)
    if not isinstance(found, Hearing):
        found = notes[plugin] = Hearing(attributes)
    return found
