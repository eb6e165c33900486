"""The contract is as large as it claims."""

import pytest
from tests.contract.behaviours import areas, main

PROMISED = 250


def test_the_contract_holds_as_many_behaviours_as_promised() -> None:
    counted = areas()
    assert sum(counted.values()) >= PROMISED, counted


def test_the_count_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    *rows, total = capsys.readouterr().out.splitlines()
    assert total.split()[1] == "all"
    assert sum(int(row.split()[0]) for row in rows) == int(total.split()[0])
