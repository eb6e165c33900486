"""The web page of a run: whole, safe, small, and readable without its pictures."""

from html.parser import HTMLParser
from pathlib import Path
import re
import runpy

import msgspec
import pytest

from pocketkube.simulation.report import page
from pocketkube.simulation.report.workload_rows import Name

_HISTORY = runpy.run_path(str(Path(__file__).with_name("history.py")))
History, NO_ROOM, a_report = (_HISTORY[name] for name in ("History", "NO_ROOM", "a_report"))
WEB = Name("Deployment", "default", "web")
VOID = {"meta", "br"}
OPTIONAL = {"td", "tr", "html", "body"}
"""Elements whose end may be left out."""


class Reader(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag:
            assert self.open.pop() in OPTIONAL, f"</{tag}> inside <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for tag in dict.fromkeys(self.open):
            self.text.setdefault(tag, []).append(data)

    def said(self, tag: str) -> str:
        return " ".join("".join(self.text.get(tag, [])).split())


def a_page() -> str:
    history = History(WEB)
    history.node("node-1")
    history.deployment("web", 2)
    history.web(1, "node-1")
    history.web(2, why=NO_ROOM)
    return page.render(a_report(history.stated()))


def test_the_page_is_whole_and_says_the_verdict_first() -> None:
    read = Reader(a_page())
    assert set(read.open) <= OPTIONAL
    assert read.said("title") == "Not kept: korder simulate, Monday 5 January 2026"
    assert read.said("h1").startswith("Not kept Deployment default/web wants 2, has 1")


def test_the_tables_say_what_the_pictures_show() -> None:
    said = Reader(a_page()).said("table")
    for text in ("default/web", "1/2", "00:00:00", NO_ROOM, "Node node-1", "joined"):
        assert text in said


def test_the_page_needs_nothing_but_itself() -> None:
    text = a_page()
    assert re.search(r"(?:src|href|@import|url\()", text) is None
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_light_dark_and_print_are_thought_of() -> None:
    text = a_page()
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'lang="en"' in text


@pytest.mark.parametrize("field", ["name", "why", "command", "node"])
def test_texts_from_outside_stay_texts(field: str) -> None:
    evil = '<img src=x onerror="alert(1)">&amp;'
    history = History()
    history.node(evil if field == "node" else "node-1")
    name = evil if field == "name" else "web"
    history.deployment(name, 1)
    history.pod("p", ("ReplicaSet", f"{name}-1"), why=evil if field == "why" else "")
    report = a_report(history.stated())
    if field == "command":
        run = msgspec.structs.replace(report.run, command=evil)
        report = msgspec.structs.replace(report, run=run)
    text = page.render(report)
    assert "<img" not in text
    assert "&lt;img src=x" in text


def test_a_thousand_workloads_are_a_page_of_less_than_300_kilobytes() -> None:
    history = History(seconds=86_400)
    for number in range(1000):
        name = f"service-with-a-name-{number}"
        history.after(20).deployment(name, 3)
        for pod in range(3):
            history.pod(f"{name}-{pod}", ("ReplicaSet", f"{name}-1"), why=NO_ROOM)
        history.after(30).pod(f"{name}-0", ("ReplicaSet", f"{name}-1"), "node-1")
    text = page.render(a_report(history.stated()))
    assert text.count("service-with-a-name-") > 1000
    assert len(text.encode()) < 300_000


def test_a_reason_that_many_have_is_reported_once() -> None:
    history = History()
    for number in range(5):
        history.pod(f"pod-{number}-x", why=NO_ROOM)
    text = page.render(a_report(history.stated()))
    assert text.partition("What happened when")[0].count(NO_ROOM) == 1
    assert text.count("as above") == 4
