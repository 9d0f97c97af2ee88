"""The page of a run in a real browser: its filters, with and without JavaScript, wide and narrow."""

from __future__ import annotations

import json
from pathlib import Path

import tiny_set
from browser import open_browser
from report_makers import EVIL, make_run

from gst_ros.bench.records import read_run
from gst_ros.report.page import write_report

SHOWN = "Array.from(document.querySelectorAll('.card')).filter(c => c.offsetParent !== null).map(c => c.dataset.uid)"


def test_the_filters_in_a_real_browser(tmp_path: Path) -> None:
    tiny_set.make_set(tmp_path / "set")
    asked = [{**tiny_set.make_question(n, "clip0"), "scene": EVIL if n == 3 else f"scene_{n % 2}"} for n in range(8)]
    run = make_run(tmp_path / "run", tiny_set.write_questions(tmp_path / "set" / "questions.json", asked))
    write_report(read_run(run))
    url = (run / "report.html").as_uri()
    choose = f"""(name, value) => {{
        const field = document.getElementById("filters").elements[name];
        field.value = value;
        field.dispatchEvent(new Event("input", {{bubbles: true}}));
        return {SHOWN};
    }}"""

    def names(*numbers: int) -> list[str]:
        return [f"question_{number:03d}" for number in numbers]

    with open_browser() as browser:

        def chosen(name: str, value: str) -> list[str]:
            return browser.value(f"({choose})({json.dumps(name)}, {json.dumps(value)})")

        browser.show(url)
        assert browser.value(SHOWN) == names(0, 4, 1, 5, 2, 6, 3, 7)
        assert chosen("task", "=ed_v") == names(0, 4)
        assert chosen("verdict", "=wrong") == names(4)
        assert chosen("verdict", "=partly") == []
        assert browser.value("document.getElementById('none').offsetParent !== null")
        assert browser.value("location.hash") == "#task=ed_v&verdict=partly"
        assert chosen("task", "") == names(5, 6)
        chosen("verdict", "")
        assert chosen("scene", f"={EVIL}") == names(3)
        chosen("scene", "")
        assert chosen("step", "=map") == names(0, 4, 2, 6)
        assert chosen("find", "QUESTION_00") == names(0, 4, 2, 6) and chosen("find", "_006") == names(6)
        assert browser.value("document.getElementById('shown').value") == "1 of 8 questions"
        browser.value("document.querySelector('#filters button').click()")
        assert len(browser.value(f"new Promise(done => setTimeout(() => done({SHOWN}), 50))")) == 8
        # A number in the tables leads to its questions; so does an address.
        browser.value("document.querySelector('#lost a[data-filter*=\"tds_medium\"]').click()")
        assert browser.value(SHOWN) == names(3, 7)
        browser.show(f"{url}#verdict=wrong&task=tds_medium")
        assert browser.value(SHOWN) == names(7)
        assert browser.requests and all(request.startswith("file:") for request in browser.requests)
        assert not browser.errors  # also none of the page's own policy against scripts

        browser.show(url, scripts=False)
        assert len(browser.value(SHOWN)) == 8
        assert browser.value("document.getElementById('filters').offsetParent === null")
        for width in (400, 1280):
            browser.show(url, width=width)
            assert browser.value("document.documentElement.scrollWidth") <= width
