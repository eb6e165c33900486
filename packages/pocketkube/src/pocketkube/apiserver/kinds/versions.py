"""Which of two versions of an API is the better one: `v2` before `v1`, `v1` before `v1beta1`.

Discovery lists versions in this order, and warnings about old versions recommend the best.
"""

import re
from typing import Final

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES: Final = {None: 0, "beta": 1, "alpha": 2}


def rank(version: str) -> tuple[int, int, int, str]:
    """Stable versions first, then beta, then alpha; larger numbers first; then anything else by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    return (_STAGES[found[2]], -int(found[1]), -int(found[3] or 0), version)
