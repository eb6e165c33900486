"""Fixtures of all simulations."""

from collections.abc import Iterator

import pytest
import structlog

from korder.testing.seeds import hush


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = structlog.get_config()
    hush()
    yield
    structlog.configure(**before)
