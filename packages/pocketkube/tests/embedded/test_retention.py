from hypothesis import given, strategies as st

from pocketkube.apiserver.storage.retention import Retention, Window


def test_nothing_is_forgotten_while_everything_fits() -> None:
    retention = Retention(Window(age=300, events=1_000, size=1_000_000))
    for version in range(2, 1_000):
        retention.note(version, 10, now=version / 100)
    assert retention.floor(999, now=10) == 0


@given(
    st.lists(st.tuples(st.integers(0, 500), st.floats(0, 20)), min_size=1, max_size=200),
    st.builds(
        Window,
        age=st.floats(10, 100),
        events=st.integers(1, 100),
        size=st.integers(1_000, 10_000),
    ),
)
def test_what_is_kept_is_bounded_and_no_more_is_forgotten_than_has_to_be(
    changes: list[tuple[int, float]], window: Window
) -> None:
    retention, floor, now = Retention(window), 1, 0.0
    kept: list[tuple[int, int, float]] = []
    for version, (weight, pause) in enumerate(changes, start=2):
        now += pause
        kept.append((version, weight, now))
        if not retention.note(version, weight, now):
            continue
        asked = retention.floor(version, now)
        if asked:
            forgotten = [change for change in kept if floor < change[0] <= asked]
            first_kept = [change for change in kept if change[0] > forgotten[-1][0]]
            assert (
                version - asked >= window.events
                or forgotten[-1][2] <= now - window.age
                or sum(change[1] for change in first_kept) > window.size
            )
            floor = asked
        rest = [change for change in kept if change[0] > floor]
        assert len(rest) <= window.events + window.step
        assert sum(change[1] for change in rest) <= window.size * 5 / 4 + 2 * 500
