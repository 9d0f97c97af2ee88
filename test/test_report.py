"""A run as one HTML page: what it says, and what it must never do (test_report_browser.py has it in a browser)."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import xml.etree.ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny_set
from report_makers import EVIL, SCORES, Elements, judged_of, make_run

from gst_ros.bench.metrics import ScoringConfig
from gst_ros.bench.questions import Skipped
from gst_ros.bench.records import RunFolder, RunHeader, read_run
from gst_ros.bench.run_data import AnswerRecord
from gst_ros.bench.scoring import score_run
from gst_ros.cli.main import run as gst
from gst_ros.report.cards import make_cards
from gst_ros.report.judged import MAX_STEPS, NO_STEP, OTHER_STEPS, judge, steps_of
from gst_ros.report.page import make_page, write_report
from gst_ros.report.pictures import LEFT_OUT, NoPictureError, PictureStore, QuestionImages
from gst_ros.report.statistics import by_scene, by_step, lost_points, quantile, reliability


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A run of eight questions, four right."""
    return make_run(tmp_path / "run", tiny_set.make_set(tmp_path / "set", questions=8))


# --- what it says ---------------------------------------------------------------------------------


def test_every_question_has_a_card_with_pictures_and_answers(made: Path) -> None:
    page = make_page(read_run(made))
    elements = Elements(page.html)
    cards = elements.named("article", "card")
    assert [card["data-uid"] for card in cards] == [f"question_{n:03d}" for n in (0, 4, 5, 1, 6, 2, 7, 3)]
    assert [card["data-verdict"] for card in cards] == [
        "right", "wrong", "partly", "right", "partly", "right", "wrong", "right",
    ]  # fmt: skip
    assert {(card["data-task"], card["data-step"]) for card in cards} == {
        ("ed_v", "map"), ("edist_s", "unsure pose"), ("position", "map"), ("tds_medium", "prior"),
    }  # fmt: skip
    assert (page.questions, page.pictures, page.without_picture) == (8, 6, 0)  # options are shown smaller: 2 + 4
    held = {image["id"] for image in elements.named("image")}
    assert {use["href"].removeprefix("#") for use in elements.named("use")} == held
    for words in (
        "explanation 7",
        "180° apart",
        "120 of 999 apart",
        "−6 %",
        "2.5 s",
        "confidence 0.90",
        "Average of 4",
    ):
        assert words in elements.text


def test_the_numbers_are_those_of_the_score(made: Path) -> None:
    run, judged = read_run(made), judged_of(made)
    assert {item.record.uid: item.score for item in judged} == {f"question_{n:03d}": s for n, s in enumerate(SCORES)}
    score = score_run(run)
    lost = {row.task: row for row in lost_points(judged, steps_of(judged))}
    for key, task in score.tasks.items():
        if task.score is not None:
            assert lost[key].score == pytest.approx(task.score)
    assert lost["average"].score == pytest.approx(score.average)
    for row in lost.values():
        assert row.score + sum(row.lost.values()) == pytest.approx(100)
    assert lost["ed_v"].lost == {"map": 50.0, "unsure pose": 0.0, "prior": 0.0}
    assert lost["tds_medium"].lost["prior"] == 50.0
    steps = {group.name: (group.answers, group.score) for group in by_step(judged, steps_of(judged))}
    assert steps == {"map": (4, 70.0), "unsure pose": (2, 95.0), "prior": (2, 50.0)}
    text = Elements(make_page(run).html).text
    assert f"{score.average:.1f}" in text and f"± {score.standard_error:.1f} s.e." in text


def test_scenes_come_worst_first(made: Path) -> None:
    groups = by_scene(judged_of(made))
    assert [(group.name, group.answers, group.score) for group in groups] == [
        ("scene_4", 1, 0.0), ("scene_2", 2, 50.0), ("scene_1", 2, 90.0), ("scene_0", 2, 95.0), ("scene_3", 1, 100.0),
    ]  # fmt: skip
    assert groups[0].standard_error is None and groups[1].standard_error == pytest.approx(50.0)


def records(confidences: Sequence[float | None], scores: Sequence[float]) -> list[AnswerRecord]:
    preds = {1.0: "C", 0.0: "A"}
    return [
        AnswerRecord(f"q{n}", "tds_easy", gt="C", pred=preds[score], confidence=confidence)
        for n, (confidence, score) in enumerate(zip(confidences, scores, strict=True))
    ]


def test_the_reliability_curve_has_even_bins_and_parts_no_equals() -> None:
    confidences = [n / 100 for n in range(100)]
    found = reliability(judge(records(confidences, [float(n >= 50) for n in range(100)]), ScoringConfig()))
    assert [b.answers for b in found.bins] == [10] * 10
    assert [b.score for b in found.bins] == [0.0] * 5 + [100.0] * 5
    assert (found.bins[3].low, found.bins[3].high, found.bins[3].confidence) == (0.30, 0.39, pytest.approx(34.5))
    assert found.calibration_error == pytest.approx(sum(abs(4.5 + 10 * n - 100 * (n >= 5)) for n in range(10)) / 10)
    assert (found.less_sure.score, found.more_sure.score) == (0.0, 100.0)

    ties = reliability(judge(records([0.25] * 7 + [0.5], [1.0] * 4 + [0.0] * 4), ScoringConfig()))
    assert [(b.answers, b.confidence) for b in ties.bins] == [(7, 25.0), (1, 50.0)]
    assert (ties.less_sure.answers, ties.more_sure.answers) == (7, 1)
    same = reliability(judge(records([0.1] * 5, [1.0] * 5), ScoringConfig()))
    assert len(same.bins) == 1 and same.less_sure is None
    assert reliability(judge(records([None, math.nan], [1.0, 0.0]), ScoringConfig())) is None


def test_the_curve_alone_is_an_svg_with_a_dot_for_each_bin(made: Path, tmp_path: Path, capsys) -> None:
    assert gst(["report", str(made), "--curve", str(tmp_path / "curve.svg")]) == 0
    figure = xml.etree.ElementTree.parse(tmp_path / "curve.svg").getroot()
    dots = [(float(e.get("cx")), float(e.get("cy"))) for e in figure.iter() if e.tag.endswith("}circle")]
    assert figure.tag == "{http://www.w3.org/2000/svg}svg"
    # Four answers of confidence 0.8 score 42.5 in the mean, four of 0.9 100.
    assert dots == [(44 + 2.8 * 80, 290 - 2.8 * 42.5), (44 + 2.8 * 90, 10)]
    RunFolder.open(tmp_path / "empty", RunHeader({"name": "memory"})).close()
    assert gst(["report", str(tmp_path / "empty"), "--curve", str(tmp_path / "none.svg")]) == 2
    assert "no curve" in capsys.readouterr().err and not (tmp_path / "none.svg").exists()


def test_quantiles_are_values_that_occur() -> None:
    assert [quantile([3, 1, 2, 4], share) for share in (0.0, 0.25, 0.5, 0.95, 1.0)] == [1, 1, 2, 4, 4]
    assert quantile([], 0.5) is None


def test_steps_are_bounded_and_known_ones_come_first() -> None:
    invented = [
        dataclasses.replace(r, evidence={"step": f"way {n:02d}"}) for n, r in enumerate(records([0.5] * 20, [1.0] * 20))
    ]
    known = [dataclasses.replace(invented[0], uid=s, evidence={"step": s}) for s in ("guess", "map")]
    odd = [dataclasses.replace(invented[0], uid=str(n), evidence={"step": s}) for n, s in enumerate(("", None, ["x"]))]
    steps = steps_of(judge([*invented, *known, *odd], ScoringConfig()))
    assert steps[:3] == ["map", "guess", "way 00"] and steps[-2:] == [OTHER_STEPS, NO_STEP]
    assert len(steps) == MAX_STEPS


# --- where the answers are drawn ------------------------------------------------------------------


def cards_of(run: Path, config: ScoringConfig | None = None) -> dict[str, Any]:
    data = read_run(run)
    images = QuestionImages(Path(data.header.info["evaluation"]["questions"]))
    config = config or ScoringConfig()
    return {c.judged.record.uid: c for c in make_cards(judged_of(run), images, PictureStore(10**7), config)}


def test_points_are_drawn_in_the_pixels_of_the_shown_plan(made: Path) -> None:
    (view, plan) = cards_of(made)["question_006"].shots
    assert (view.role, view.marks, plan.role) == ("query view", (), "plan")
    assert (plan.picture.width, plan.picture.height) == (tiny_set.WIDTH, tiny_set.HEIGHT)
    true, given = plan.marks
    assert (true.which, true.x, true.y) == ("true", round(391 / 999 * 64, 1), round(698 / 999 * 48, 1))
    assert (given.which, given.x, given.y, given.to) == ("given", true.x, round(578 / 999 * 48, 1), None)


def test_compasses_turn_left_for_positive_angles(made: Path, tmp_path: Path) -> None:
    compass = cards_of(made)["question_004"].compass  # true -134: right and behind; given 46
    assert compass.zero == "ahead" and compass.origin == (0.0, -1.0)
    assert compass.true == pytest.approx((math.sin(math.radians(134)), -math.cos(math.radians(134))))
    assert compass.given == pytest.approx((-math.sin(math.radians(46)), -math.cos(math.radians(46))))

    question = tiny_set.make_question(2, "clip0")
    question |= {"task": "Self_Localization_Global_Orientation", "answer": "90", "uid": "heading"}
    questions = tiny_set.write_questions(tmp_path / "set" / "more.json", [question])
    run = make_run(tmp_path / "headings", questions, ["90"])
    config = ScoringConfig(orientation_zero="right", orientation_sense="right")
    card = cards_of(run, config)["heading"]
    assert card.compass.zero == "right on the plan"
    assert card.compass.origin == pytest.approx((1.0, 0.0)) and card.compass.true == pytest.approx((0.0, 1.0))
    (mark, _) = card.shots[-1].marks
    assert (mark.x, mark.y) == (32, 24) and mark.to == (32, round(24 + 0.36 * 48, 1))


def test_options_are_marked(made: Path) -> None:
    shots = cards_of(made)["question_007"].shots
    assert [shot.role for shot in shots] == list("ABCD")
    assert [(shot.is_true, shot.is_given) for shot in shots] == [
        (False, False), (False, True), (True, False), (False, False),
    ]  # fmt: skip
    elements = Elements(make_page(read_run(made)).html)
    assert len(elements.named("figure", "is-true")) == 2 and len(elements.named("figure", "is-given")) == 2


# --- what it must never do ------------------------------------------------------------------------


def test_nothing_from_a_run_becomes_markup(tmp_path: Path) -> None:
    records = [
        {**tiny_set.make_question(n, "clip0"), "uid": f"{EVIL}{n}", "scene": EVIL, "texts": [EVIL, EVIL]}
        for n in range(4)
    ]
    tiny_set.make_set(tmp_path / "set")
    questions = tiny_set.write_questions(tmp_path / "set" / "questions.json", records)
    evil = {"explanation": EVIL, "evidence": {"step": EVIL, EVIL: [EVIL]}, "matched": EVIL, "prompt_sha256": EVIL}
    run = make_run(tmp_path / "run", questions, [f"C {EVIL}", "-134", "3.2"], **evil, video=f"/x/{EVIL}")
    header = json.loads((run / "run.json").read_text())
    header["answerer"] = {"name": EVIL, EVIL: EVIL}
    header["info"]["software"] = {"gst_ros": EVIL}
    (run / "run.json").write_text(json.dumps(header))
    with RunFolder.open(run, read_run(run).header, resume=True) as folder:
        folder.append_skip(Skipped(EVIL, None, EVIL))
        folder.append_event({"event": "stopped", "reason": EVIL})

    html = make_page(read_run(run)).html
    elements = Elements(html)
    assert len(elements.named("script")) == 1 and not elements.named("img") and len(elements.named("style")) == 1
    assert not [name for _, attrs in elements.tags for name in attrs if name.startswith("on")]
    links = [attrs.get("href", "#") for _, attrs in elements.tags]
    assert all(link.startswith(("#", "data:image/jpeg;base64,")) for link in links)
    assert html.count("<script>") == html.count("</script>") == html.count("</style>") == 1
    assert "49</svg>" not in elements.text
    assert [card["data-uid"] for card in elements.named("article")] == [f"{EVIL}{n}" for n in (0, 1, 2, 3)]
    assert elements.text.count("{{ 7 * 7 }}") > 10


def test_the_same_run_gives_the_same_bytes_whatever_the_order(made: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "again" / "run", tmp_path / "set" / "questions.json", order=-1)
    events = [line for line in (made / "records.jsonl").read_text().splitlines() if '"event"' in line]
    lines = [line for line in (other / "records.jsonl").read_text().splitlines() if '"event"' not in line]
    (other / "records.jsonl").write_text("\n".join([*events, *lines]) + "\n")  # the start has the time in it
    first = make_page(read_run(made)).html
    assert first == make_page(read_run(made)).html == make_page(read_run(other)).html


def test_pictures_are_bounded_and_the_worst_answers_keep_theirs(made: Path) -> None:
    whole = make_page(read_run(made))
    limit_mb = 0.62 * whole.pictures_bytes / 1e6
    page = make_page(read_run(made), limit_mb=limit_mb)
    assert 0 < page.pictures < whole.pictures and page.pictures_bytes <= limit_mb * 1e6
    assert sum(len(a["href"]) for a in Elements(page.html).named("image")) == page.pictures_bytes
    assert page.without_picture and LEFT_OUT in page.html and "Pictures are limited" in page.html
    shown = make_cards(
        judged_of(made),
        QuestionImages(made.parent / "set" / "questions.json"),
        PictureStore(round(limit_mb * 1e6)),
        ScoringConfig(),
    )
    complete = {card.judged.record.uid for card in shown if all(shot.picture for shot in card.shots)}
    assert "question_004" in complete and len(complete) < 8  # of the first task, the wrong answer
    assert make_page(read_run(made), limit_mb=0.0).pictures == 0


def test_a_picture_is_held_once_wherever_its_copies_are(tmp_path: Path) -> None:
    tiny_set.write_image(tmp_path / "a.png", 1)
    shutil.copy(tmp_path / "a.png", tmp_path / "b.png")
    store = PictureStore(10**6)
    assert store.take(tmp_path / "a.png", 32) is store.take(tmp_path / "b.png", 32)
    smaller = store.take(tmp_path / "a.png", 32)
    assert (smaller.width, smaller.height, len(store.pictures)) == (32, 24, 1)
    (tmp_path / "c.png").write_bytes((tmp_path / "a.png").read_bytes()[:200])
    for name in ("c.png", "none.png"):
        with pytest.raises(NoPictureError, match=name):
            store.take(tmp_path / name, 32)


def test_media_that_have_been_moved_leave_a_note_and_are_found_where_one_says(
    made: Path, tmp_path: Path, capsys
) -> None:
    (tmp_path / "set").rename(tmp_path / "elsewhere")
    page = make_page(read_run(made))
    assert (page.questions, page.pictures, page.without_picture) == (8, 0, 8)
    assert "the question set is not where it was" in page.html
    assert (
        gst(["report", str(made), "--questions", str(tmp_path / "elsewhere"), "--output", str(tmp_path / "p.html")])
        == 0
    )
    assert "8 questions, 6 pictures" in capsys.readouterr().out
    (tmp_path / "elsewhere" / "view1.png").unlink()
    page = make_page(read_run(made), questions=tmp_path / "elsewhere")
    assert "image view1.png missing" in page.html and page.pictures == 1


def test_a_run_cannot_fetch_images_from_outside_its_question_set(tmp_path: Path) -> None:
    tiny_set.make_set(tmp_path / "set")
    tiny_set.write_image(tmp_path / "secret.png", 7)
    question = {**tiny_set.make_question(0, "clip0"), "images": [{"index": 1, "copied_path": "view0.png"}]}
    questions = tiny_set.write_questions(tmp_path / "set" / "questions.json", [question])
    run = make_run(tmp_path / "run", questions)
    text = (run / "records.jsonl").read_text()
    (run / "records.jsonl").write_text(text.replace("view0.png", "../secret.png"))
    page = make_page(read_run(run))
    assert page.pictures == 0 and "no longer has this question" in page.html
    tiny_set.write_questions(questions, [{**question, "images": [{"index": 1, "copied_path": "../secret.png"}]}])
    page = make_page(read_run(run))
    assert page.pictures == 0 and "outside the data root" in page.html


# --- runs of every kind ---------------------------------------------------------------------------


def test_a_run_without_evidence_or_confidence(tmp_path: Path) -> None:
    questions = tiny_set.make_set(tmp_path / "set", questions=4)
    run = make_run(tmp_path / "run", questions, evidence={}, confidence=None, explanation="")
    html = make_page(read_run(run)).html
    assert "does not say which step answered" in html and 'id="confidence"' not in html
    assert {card["data-step"] for card in Elements(html).named("article")} == {NO_STEP}


def test_half_written_failed_unread_and_unscorable_records(made: Path) -> None:
    def line(uid: str, **fields: Any) -> str:
        record = {"kind": "answer", "uid": uid, "task": "ed_v", "gt": "10", "pred": "", "status": "answered"}
        return json.dumps({**record, **fields}) + "\n"

    more = [
        line("fails", status="failed", explanation="the model is away"),
        line("empty"),
        line("mumbles", pred="it depends " * 900),
        line("no such task", task="smell"),
        line("no truth", gt="north"),
        line(
            "odd",
            pred="10",
            value=10**400,
            seconds=-1,
            confidence=7,
            evidence={"step": 3, "a": [None, {"b": "\ud800"}]},
        ),
        '{"kind": "answer", "uid": "nan", "task": "gp_v", "gt": "<point>1 2</point>", "pred": "<point>1 2</point>",'
        ' "status": "answered", "confidence": NaN, "seconds": Infinity, "value": [NaN, 1e999]}\n',
        '{"kind": "video", "video": "v", "frames_received": NaN}\n',
    ]
    with (made / "records.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("".join(more) + '{"kind": "answer", "uid": "torn')
    page = write_report(read_run(made))
    assert page.questions == 15
    text = Elements((made / "report.html").read_text(encoding="utf-8")).text
    for words in ("the run was killed, or still goes on", "the model is away", "could not be read", "letters more"):
        assert words in text
    verdicts = {item.record.uid: item.verdict for item in judged_of(made)}
    assert (verdicts["fails"], verdicts["empty"], verdicts["no truth"]) == ("failed", "wrong", "not scored")
    assert (verdicts["no such task"], verdicts["odd"], verdicts["nan"]) == ("not scored", "right", "right")


def test_a_run_without_an_answer_yet(tmp_path: Path) -> None:
    RunFolder.open(tmp_path / "run", RunHeader({"name": "memory"})).close()
    html = make_page(read_run(tmp_path / "run")).html
    assert "No question has been answered yet" in html


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("no folder", "is no folder"),
        ("no run", "holds no run.json"),
        ("header", "torn or damaged"),
        ("records", "line 3 is damaged"),
        ("settings", "unknown setting"),
        ("questions", "does not exist"),
        ("output", "is a folder"),
        ("unwritable", "cannot be written"),
    ],
)
def test_bad_input_is_one_line(made: Path, tmp_path: Path, capsys, damage: str, words: str) -> None:
    options: list[str] = []
    if damage == "no folder":
        made = tmp_path / "nowhere"
    elif damage == "no run":
        made = tmp_path / "set"
    elif damage == "header":
        (made / "run.json").write_text('{"format": 1, ')
    elif damage == "records":
        lines = (made / "records.jsonl").read_text().splitlines()
        (made / "records.jsonl").write_text("\n".join([*lines[:2], lines[2][:50], *lines[3:]]) + "\n")
    elif damage == "settings":
        header = json.loads((made / "run.json").read_text())
        header["config"]["scoring"] = {"angel_thresholds_deg": [1]}
        (made / "run.json").write_text(json.dumps(header))
    elif damage == "questions":
        options = ["--questions", str(tmp_path / "nowhere")]
    elif damage == "output":
        options = ["--output", str(tmp_path)]
    else:
        options = ["--output", str(tmp_path / "nowhere" / "page.html")]
    assert gst(["report", str(made), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gst: error: ") and words in line
    assert not (made / "report.html").exists()


# --- at the end of an evaluation ------------------------------------------------------------------


def evaluate(tmp_path: Path, *options: str) -> int:
    questions = tiny_set.make_set(tmp_path / "set", videos=1, questions=4, frames=3)
    words = [
        "eval",
        "--no-ros",
        "--answerer",
        "random",
        "--questions",
        str(questions),
        "--output",
        str(tmp_path / "run"),
    ]
    return gst([*words, *options])


def test_an_evaluation_leaves_the_page(tmp_path: Path, capsys) -> None:
    assert evaluate(tmp_path) == 0
    html = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert len(Elements(html).named("article")) == 4 and "No picture" not in html
    assert str(tmp_path / "run" / "report.html") in capsys.readouterr().out
    assert evaluate(tmp_path) == 0  # the page does not keep a run from going on


def test_the_page_can_be_switched_off(tmp_path: Path) -> None:
    assert evaluate(tmp_path, "--set", "evaluator.report=false") == 0
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_page_that_fails_does_not_make_the_run_fail(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("gst_ros.report.page.make_page", fail)
    assert evaluate(tmp_path) == 0
    assert "warning: the page could not be written (ZeroDivisionError: a defect)" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["answered"] == 4
