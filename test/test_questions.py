from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from bench_makers import encoded_image, record, write_media, write_question
from hypothesis import given, settings
from hypothesis import strategies as st

from gst_ros.bench import images, jsonfiles
from gst_ros.bench.questions import QuestionSet, load_questions
from gst_ros.bench.tasks import TASKS
from gst_ros.errors import QuestionError


def only_skip(found: QuestionSet) -> tuple[str, str, str]:
    assert found.questions == []
    (skip,) = found.skipped
    return skip.uid, skip.field, skip.reason


def png_header(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, height, 8, 2, 0, 0, 0, 0)


# --- forms of files ---


@pytest.mark.parametrize("task", list(TASKS))
def test_every_task_loads_from_its_folder(tmp_path: Path, task: str) -> None:
    fields = record(task)
    write_question(tmp_path / "q", fields)
    found = load_questions(tmp_path)
    (question,) = found.questions
    assert found.skipped == []
    assert question.task.key == task
    assert question.raw == fields and question.gt == fields["answer"]
    assert question.texts == tuple(fields["texts"])
    assert question.video == tmp_path / "q" / "video1.mp4"
    assert [p.name for p in question.images] == [f"image_{i + 1:02}.png" for i in range(TASKS[task].images)]
    assert question.scene == "scene_1" and question.file == tmp_path / "q" / "question.json"


def test_truths_are_read(tmp_path: Path) -> None:
    for task in ("ed_v", "edist_v", "position", "tds_easy"):
        write_question(tmp_path / task, record(task, uid=task))
    truths = {q.task.key: q.truth for q in load_questions(tmp_path).questions}
    assert truths == {"ed_v": -134.0, "edist_v": 13.2, "position": (323.0, 292.0), "tds_easy": "C"}


@pytest.mark.parametrize(
    "text",
    [
        lambda records: json.dumps(records),
        lambda records: "\n".join(map(json.dumps, records)),
        lambda records: "\r\n".join(map(json.dumps, records)) + "\r\n\r\n",
        lambda records: "\ufeff" + json.dumps(records),
        lambda records: "\ufeff" + "\n".join(map(json.dumps, records)),
        lambda records: json.dumps({"version": 2, "questions": records}),
        lambda records: json.dumps({r["uid"]: {k: v for k, v in r.items() if k != "uid"} for r in records}),
    ],
    ids=["list", "lines", "crlf lines", "list with BOM", "lines with BOM", "list inside a record", "keyed by uid"],
)
@pytest.mark.parametrize("name", ["all.json", "all.jsonl"])
def test_forms_of_files_with_many(tmp_path: Path, text: Any, name: str) -> None:
    write_media(tmp_path)
    records = [record("ed_v", "a"), record("tds_hard", "b")]
    (tmp_path / name).write_bytes(text(records).encode())
    for path in (tmp_path, tmp_path / name):
        found = load_questions(path)
        assert [q.uid for q in found.questions] == ["a", "b"] and not found.skipped


def test_utf16_is_read_and_line_separators_inside_strings_do_not_split(tmp_path: Path) -> None:
    write_media(tmp_path)
    (tmp_path / "a.json").write_bytes(json.dumps([record(uid="a")]).encode("utf-16"))
    line = json.dumps(record(uid="b", texts=["one\u2028two\x85three"]), ensure_ascii=False)
    (tmp_path / "b.jsonl").write_text(line + "\n" + json.dumps(record(uid="c")), encoding="utf-8")
    assert [q.uid for q in load_questions(tmp_path).questions] == ["a", "b", "c"]


def test_task_from_the_name_of_a_per_task_file(tmp_path: Path) -> None:
    write_media(tmp_path)
    (tmp_path / "Self_Localization_Global_Position.json").write_text(json.dumps([record("position", task=...)]))
    (question,) = load_questions(tmp_path).questions
    assert question.task.key == "position"


def test_other_fields_for_video_and_images(tmp_path: Path) -> None:
    write_media(tmp_path / "media")
    write_media(tmp_path)
    cases = [
        record(uid="video", copied_video_path=..., video="media/video1.mp4"),
        record(uid="video_path", copied_video_path=..., video_path="media/video1.mp4"),
        record(uid="second place", copied_video_path="gone.mp4", video="media/video1.mp4"),
        record(uid="strings", images=["media/image_02.png"]),
        record(uid="path", images=[{"path": "media/image_02.png"}]),
        record(uid="one", images="media/image_02.png"),
        record(uid="windows", images=["media\\image_02.png"]),
    ]
    (tmp_path / "all.json").write_text(json.dumps(cases))
    found = load_questions(tmp_path)
    assert not found.skipped
    for question in found.questions:
        assert question.video is not None and question.video.name == "video1.mp4"
        assert question.images[0].name in ("image_01.png", "image_02.png")
    assert {q.uid for q in found.questions if q.images[0].name == "image_02.png"} == {
        "strings",
        "path",
        "one",
        "windows",
    }


def test_images_are_sorted_by_index(tmp_path: Path) -> None:
    shuffled = [{"index": i, "copied_path": f"image_{i:02}.png"} for i in (3, 1, 4, 2)]
    write_question(tmp_path, record("tds_easy", images=shuffled))
    assert [p.name for p in load_questions(tmp_path).questions[0].images] == [f"image_{i:02}.png" for i in (1, 2, 3, 4)]


def test_index_ten_comes_after_index_two_and_not_all_indexed_keeps_the_order(tmp_path: Path) -> None:
    write_media(tmp_path, 4)
    names = [f"image_{i:02}.png" for i in (4, 3, 2, 1)]
    numbered = [{"index": index, "path": name} for index, name in zip(("10", "2", "9", "1"), names, strict=True)]
    partly = [{"index": 5, "path": names[0]}, *names[1:]]
    records = [record("tds_easy", "numbered", images=numbered), record("tds_easy", "partly", images=partly)]
    (tmp_path / "all.json").write_text(json.dumps(records))
    first, second = load_questions(tmp_path).questions
    assert [p.name for p in first.images] == [names[3], names[1], names[2], names[0]]
    assert [p.name for p in second.images] == names


def test_media_are_found_in_the_data_root(tmp_path: Path) -> None:
    write_media(tmp_path / "data" / "scene_1")
    file = tmp_path / "questions" / "all.json"
    file.parent.mkdir()
    images = [{"index": 1, "copied_path": "scene_1/image_01.png"}]
    file.write_text(json.dumps([record(copied_video_path="scene_1/video1.mp4", images=images)]))
    assert only_skip(load_questions(file))[2] == "video video1.mp4 missing"
    (question,) = load_questions(file, data_root=tmp_path / "data").questions
    assert question.video == tmp_path / "data" / "scene_1" / "video1.mp4"


def test_folder_of_images_is_a_video(tmp_path: Path) -> None:
    write_question(tmp_path, record(copied_video_path="frames"))
    (tmp_path / "frames").mkdir()
    assert only_skip(load_questions(tmp_path))[2] == "video frames is an empty folder"
    (tmp_path / "frames" / "0001.jpg").write_bytes(encoded_image(".jpg"))
    assert load_questions(tmp_path).questions[0].video == tmp_path / "frames"


def test_order_is_that_of_sorted_files_and_repeatable(tmp_path: Path) -> None:
    for name in ("b", "a", "c/d", "c/a"):
        write_question(tmp_path / name, record(uid=name))
    first = load_questions(tmp_path)
    assert [q.uid for q in first.questions] == ["a", "b", "c/a", "c/d"]
    assert load_questions(tmp_path).sha256 == first.sha256


def test_tasks_filter_takes_any_spelling_and_says_when_nothing_is_left(tmp_path: Path) -> None:
    for task in ("ed_v", "trajectory", "tds_easy"):
        write_question(tmp_path / task, record(task, uid=task))
    names = ["Trajectory_Selection", "Object_Localization_Egocentric_Direction_visual"]
    found = load_questions(tmp_path, tasks=names)
    assert [q.uid for q in found.questions] == ["ed_v", "trajectory"] and not found.skipped
    with pytest.raises(QuestionError, match="no question of the tasks gp_s"):
        load_questions(tmp_path, tasks=["gp_s"])
    with pytest.raises(QuestionError, match="ed_v"):
        load_questions(tmp_path, tasks=["ed_vv"])


# --- what is skipped, with its reason ---


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"uid": ...}, "uid", "has no uid"),
        ({"uid": "  "}, "uid", "has no uid"),
        ({"uid": {"a": 1}}, "uid", "has no uid"),
        ({"uid": "x" * 5000}, "uid", "uid has 5000 letters"),
        ({"task": ...}, "task", "has no task"),
        ({"task": 7}, "task", "task is a number"),
        ({"task": "Object_Localisation_Egocentric_Direction_visual"}, "task", "did you mean 'Object_Localization"),
        ({"answer": ...}, "answer", "has no true answer"),
        ({"answer": ""}, "answer", "has no true answer"),
        ({"answer": "north"}, "answer", "true answer 'north'"),
        ({"answer": float("nan")}, "answer", "nan is not a number that JSON knows"),
        ({"extra": {"deep": [1, float("inf")]}}, "extra.deep.1", "inf is not a number"),
        ({"scene": "\ud800"}, "scene", "half a Unicode pair"),
        ({"texts": ...}, "texts", "has no texts"),
        ({"texts": [1, 2]}, "texts", "has no texts"),
        ({"copied_video_path": ...}, "copied_video_path", "names no video"),
        ({"copied_video_path": 3}, "copied_video_path", "video is a number"),
        ({"copied_video_path": "gone.mp4"}, "copied_video_path", "video gone.mp4 missing"),
        ({"copied_video_path": "https://example.org/v.mp4"}, "copied_video_path", "is a web address"),
        ({"copied_video_path": "a\0b.mp4"}, "copied_video_path", "missing"),
        ({"copied_video_path": "v" * 5000}, "copied_video_path", "missing"),
        ({"images": ...}, "images", "needs 1 image(s), has 0"),
        ({"images": 5}, "images", "images is a number"),
        ({"images": [{"index": 1}]}, "images.0", "image without a file name"),
        ({"images": [None]}, "images.0", "image is None"),
        ({"images": [{"index": 1, "copied_path": "gone.png"}]}, "images.0.copied_path", "image gone.png missing"),
        ({"images": ["image_01.png", "gone.png"]}, "images.1", "image gone.png missing"),
    ],
)  # fmt: skip
def test_a_bad_question_is_skipped_with_its_field(
    tmp_path: Path, fields: dict[str, Any], field: str, reason: str
) -> None:
    write_media(tmp_path / "bad")
    (tmp_path / "bad" / "question.json").write_text(json.dumps(record("ed_v", "bad", **fields)))
    write_question(tmp_path / "good", record(uid="good"))
    found = load_questions(tmp_path)
    assert [q.uid for q in found.questions] == ["good"]
    (skip,) = found.skipped
    assert skip.field == field
    assert reason in skip.reason
    assert str(tmp_path / "bad" / "question.json") in skip.file
    assert skip.uid


@pytest.mark.parametrize(
    ("task", "count", "reason"),
    [
        ("tds_easy", 3, "needs 4 image(s), has 3"),
        ("tds_hard", 5, "needs 4 image(s), has 5"),
        ("trajectory", 0, "needs 4 image(s), has 0"),
        ("position", 1, "needs the query view and the top-down image, has 1"),
        ("orientation", 1, "needs the query view and the top-down image, has 1"),
        ("gp_s", 0, "needs 1 image(s), has 0"),
    ],
)
def test_a_task_needs_its_images(tmp_path: Path, task: str, count: int, reason: str) -> None:
    write_media(tmp_path, 5)
    write_question(tmp_path, record(task, images=[f"image_{i + 1:02}.png" for i in range(count)]), media=False)
    uid, field, why = only_skip(load_questions(tmp_path))
    assert (uid, field) == ("scene1_question_1", "images") and reason in why


def test_two_images_with_one_index_are_ambiguous(tmp_path: Path) -> None:
    images_ = [{"index": min(i, 3), "copied_path": f"image_{i:02}.png"} for i in (1, 2, 3, 4)]
    write_question(tmp_path, record("tds_easy", images=images_))
    assert only_skip(load_questions(tmp_path))[1:] == (
        "images.index",
        "two images have the same index ([1.0, 2.0, 3.0, 3.0])",
    )


def test_true_distance_of_zero_is_refused(tmp_path: Path) -> None:
    write_question(tmp_path, record("edist_v", answer=0))
    _, field, reason = only_skip(load_questions(tmp_path))
    assert field == "answer" and "true answer 0" in reason


@pytest.mark.parametrize("name", ["/etc/hostname", "../secret.mp4", "a/../../secret.mp4", "..\\secret.mp4", "."])
def test_names_that_lead_out_of_the_data_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.mp4").write_bytes(b"not yours")
    write_question(tmp_path / "data", record(copied_video_path=name))
    _, field, reason = only_skip(load_questions(tmp_path / "data"))
    assert field == "copied_video_path" and "lies outside the data root" in reason


def test_absolute_names_inside_the_data_root_and_links_are_followed(tmp_path: Path) -> None:
    write_media(tmp_path / "store")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "video1.mp4").symlink_to(tmp_path / "store" / "video1.mp4")
    write_media(tmp_path / "data" / "sub")
    absolute = str(tmp_path / "data" / "sub" / "image_01.png")
    write_question(tmp_path / "data", record(images=[absolute]), media=False)
    (question,) = load_questions(tmp_path / "data").questions
    assert question.video == tmp_path / "data" / "video1.mp4" and question.images == (Path(absolute),)


def test_duplicate_uids(tmp_path: Path) -> None:
    write_media(tmp_path)
    records = [
        record(uid="a"),
        record(uid="a"),
        record(uid="a", answer="12"),
        record("tds_easy", uid="a"),
        record("tds_easy", uid="a"),
    ]
    (tmp_path / "all.json").write_text(json.dumps(records))
    found = load_questions(tmp_path)
    assert [(q.uid, q.task.key) for q in found.questions] == [("a", "ed_v"), ("a@tds_easy", "tds_easy")]
    assert [s.field for s in found.skipped] == ["uid"] * 3
    assert [s.reason for s in found.skipped] == [
        "duplicate uid (the same question twice)",
        "duplicate uid (another question has this uid)",
        "duplicate uid (the same question twice)",
    ]
    assert [s.file.rsplit(" record ")[1] for s in found.skipped] == ["2", "3", "5"]


def test_bad_lines_and_records_among_good_ones_are_counted(tmp_path: Path) -> None:
    write_media(tmp_path)
    lines = [
        json.dumps(record(uid="a")).encode(),
        b"{broken",
        json.dumps(record(uid="b", scene="caf\u00e9", texts=["x"]), ensure_ascii=False).encode("latin-1"),
        b"[1, 2]",
        json.dumps(record(uid="c")).encode(),
        json.dumps(record(uid="torn")).encode()[:-40],
    ]
    (tmp_path / "all.jsonl").write_bytes(b"\n".join(lines))
    found = load_questions(tmp_path)
    assert [q.uid for q in found.questions] == ["a", "c"]
    assert [s.uid.split()[-2:] for s in found.skipped] == [["line", "2"], ["line", "3"], ["line", "4"], ["line", "6"]]
    assert "is not UTF-8" in found.skipped[1].reason and "is a list" in found.skipped[2].reason

    (tmp_path / "all.jsonl").write_text(json.dumps([record(uid="a"), "text", None]))
    found = load_questions(tmp_path)
    assert [q.uid for q in found.questions] == ["a"]
    assert [s.reason for s in found.skipped] == ["is text, not a record", "is nothing, not a record"]


# --- files that cannot be read as a whole ---


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b'[{"uid": "a", "task"', "is not JSON"),
        (b'[\n{"uid": "a"},\n{"uid": "b"}\n', "is not JSON"),
        (b'[{"uid": "caf\xe9"}]', "is not UTF-8"),
        (b"<html>404</html>", "it looks like a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        (b"42", "holds a bare int"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"uid": ' + b"9" * 10_000 + b"}", "thousands of digits (no record"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\0", "is not JSON"),
    ],
)  # fmt: skip
def test_an_unreadable_file_is_one_error(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "all.json"
    file.write_bytes(content)
    for path in (file, tmp_path):
        with pytest.raises(QuestionError) as caught:
            load_questions(path)
        assert problem in str(caught.value) and str(file) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_an_unreadable_question_json_in_a_folder_is_one_skip(tmp_path: Path) -> None:
    write_question(tmp_path / "a", record(uid="a"))
    write_question(tmp_path / "b", record(uid="b"))
    (tmp_path / "b" / "question.json").write_text('{"uid": "b", ')
    found = load_questions(tmp_path)
    assert [q.uid for q in found.questions] == ["a"]
    (skip,) = found.skipped
    assert skip.uid == "b/question.json" and "is not JSON" in skip.reason
    with pytest.raises(QuestionError, match="is not JSON"):
        load_questions(tmp_path / "b" / "question.json")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="does not exist"):
        load_questions(tmp_path / "gone")
    with pytest.raises(QuestionError, match="no question in it"):
        load_questions(tmp_path)
    write_question(tmp_path, record())
    with pytest.raises(QuestionError, match="is not a folder"):
        load_questions(tmp_path, data_root=tmp_path / "gone")


def test_files_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonfiles, "MAX_FILE_BYTES", 1000)
    (tmp_path / "all.json").write_text(json.dumps([record()] * 10))
    with pytest.raises(QuestionError, match="are not read"):
        load_questions(tmp_path)


def test_other_files_in_a_folder_are_left_alone(tmp_path: Path) -> None:
    write_question(tmp_path / "a", record(uid="a"))
    (tmp_path / "leaderboard.json").write_text(json.dumps({"models": [{"name": "x"}]}))
    (tmp_path / "results.json").write_text(json.dumps([{**record(uid="a"), "pred": "3", "gt": "4"}]))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "broken.json").write_text("{")
    (tmp_path / "._all.json").write_bytes(b"\0\5\x16\7")
    run = tmp_path / "run1"
    run.mkdir()
    (run / "run.json").write_text("{}")
    (run / "records.jsonl").write_text(json.dumps(record(uid="from a run")))
    (tmp_path / "loop").symlink_to(tmp_path)
    found = load_questions(tmp_path)
    assert [q.uid for q in found.questions] == ["a"] and not found.skipped


def test_fingerprint_follows_the_questions_and_not_the_media(tmp_path: Path) -> None:
    write_question(tmp_path / "a", record(uid="a"))
    write_question(tmp_path / "b", record(uid="b"), media=False)
    before = load_questions(tmp_path)
    assert len(before.skipped) == 1
    write_media(tmp_path / "b")
    after = load_questions(tmp_path)
    assert len(after.questions) == 2 and after.sha256 == before.sha256
    write_question(tmp_path / "b", record(uid="b", answer="12"))
    assert load_questions(tmp_path).sha256 != before.sha256
    assert load_questions(tmp_path, tasks=["ed_v"]).sha256 == load_questions(tmp_path).sha256


# --- media ---


def test_images_are_known_by_content(tmp_path: Path) -> None:
    for extension in (".jpg", ".png", ".webp", ".bmp"):
        (tmp_path / "image.png").write_bytes(encoded_image(extension))
        assert images.image_problem(tmp_path / "image.png") is None, extension


def test_jpeg_with_a_thumbnail_and_with_trailing_bytes(tmp_path: Path) -> None:
    jpeg = encoded_image(".jpg")
    thumbnail = b"Exif\0\0" + encoded_image(".jpg", 8, 8)
    with_thumbnail = jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail + jpeg[2:]
    file = tmp_path / "image.jpg"
    file.write_bytes(with_thumbnail + b"\0" * 100)
    assert images.image_problem(file) is None
    file.write_bytes(with_thumbnail[:-30])  # the thumbnail's end marker must not pass for the image's
    assert images.image_problem(file) == "is truncated"


@pytest.mark.parametrize("extension", [".jpg", ".png", ".webp"])
def test_no_truncated_image_passes(tmp_path: Path, extension: str) -> None:
    whole = encoded_image(extension)
    file = tmp_path / "image"
    # OpenCV's WebP decoder forgives a few missing bytes at the end; the half that is gone it does not.
    cuts = range(0, len(whole), 7) if extension != ".webp" else range(0, len(whole) // 2, 7)
    for length in cuts:
        file.write_bytes(whole[:length])
        assert images.image_problem(file) is not None, length


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"just text", "is not an image"),
        (png_header(100_000, 100_000), "megapixels"),
        (png_header(0, 7), "0x7 pixels"),
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sI", 0, b"IEND", 0), "without a header"),
        (b"\xff\xd8\xff\xd9\0\0", "without pixels"),
        (b"\xff\xd8\xff\xe0\x00\x04ab\x00\x00\x00\x00", "broken segment"),
    ],
)  # fmt: skip
def test_what_is_no_image_is_skipped_by_name(tmp_path: Path, content: bytes, problem: str) -> None:
    write_question(tmp_path, record())
    (tmp_path / "image_01.png").write_bytes(content)
    _, field, reason = only_skip(load_questions(tmp_path))
    assert field == "images.0.copied_path"
    assert reason.startswith("image image_01.png ") and problem in reason


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "is empty"), (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer")]
)
def test_a_video_that_is_not_there_yet(tmp_path: Path, content: bytes, problem: str) -> None:
    write_question(tmp_path, record())
    (tmp_path / "video1.mp4").write_bytes(content)
    reason = only_skip(load_questions(tmp_path))[2]
    assert reason.startswith("video video1.mp4 ") and problem in reason


def test_odd_things_under_the_name_of_a_medium(tmp_path: Path) -> None:
    write_question(tmp_path, record())
    (tmp_path / "video1.mp4").unlink()
    os.mkfifo(tmp_path / "video1.mp4")
    assert only_skip(load_questions(tmp_path))[2] == "video video1.mp4 is neither a file nor a folder"
    (tmp_path / "video1.mp4").unlink()
    write_media(tmp_path, 0)
    (tmp_path / "image_01.png").unlink()
    (tmp_path / "image_01.png").mkdir()
    assert only_skip(load_questions(tmp_path))[2] == "image image_01.png is a folder"
    (tmp_path / "image_01.png").rmdir()
    os.mkfifo(tmp_path / "image_01.png")
    assert only_skip(load_questions(tmp_path))[2] == "image image_01.png is not a file"


# --- anything at all ---

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["video1.mp4", "A"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3),
    max_leaves=6,
)
FIELDS = ("uid", "task", "scene", "answer", "texts", "copied_video_path", "video", "images", "gt", "id", "pred")


@pytest.fixture(scope="module")
def media_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media")
    write_media(folder)
    return folder


@given(changes=st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES, max_size=4), task=st.sampled_from(list(TASKS)))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_value_of_any_field_loses_a_question_or_stops_the_others(
    media_folder: Path, changes: dict[str, Any], task: str
) -> None:
    records = [record("ed_v", "good one"), {**record(task, "changed"), **changes}]
    file = media_folder / "all.json"
    file.write_text(json.dumps(records))
    found = load_questions(file)
    assert found.questions[0].uid == "good one"
    assert len(found.questions) + len(found.skipped) == 2
    assert all(skip.reason and skip.uid and skip.file for skip in found.skipped)


@given(content=st.binary(max_size=200) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_content_of_a_file_is_more_than_one_clear_error(media_folder: Path, content: bytes) -> None:
    file = media_folder / "any.json"
    file.write_bytes(content)
    try:
        found = load_questions(file)
    except QuestionError as error:
        assert str(file) in str(error) and "\n" not in str(error)
    else:
        assert not found.questions and found.skipped


def test_official_samples(shared_dir: Path) -> None:
    found = load_questions(shared_dir / "gst_bench" / "samples")
    assert [q.uid for q in found.questions] == ["scene16_Topdown_Selection_Medium_video_1"]
    assert found.questions[0].truth == "C"
    assert len(found.skipped) == 7
    for skip in found.skipped:
        assert skip.field == "copied_video_path"
        assert skip.reason.startswith("video ") and skip.reason.endswith(".mp4 missing")
    assert {skip.task for skip in found.skipped} == {"ed_v", "edist_v", "position", "tds_easy", "trajectory"}


def test_official_images_are_whole(shared_dir: Path) -> None:
    files = [p for p in (shared_dir / "gst_bench" / "samples").rglob("*") if p.suffix in (".png", ".jpg")]
    assert len(files) > 15
    assert {image.name: images.image_problem(image) for image in files} == {image.name: None for image in files}


@pytest.mark.parametrize("levels", [65, 900, 100_000])
def test_a_question_nested_too_deeply_is_a_counted_skip(tmp_path: Path, levels: int) -> None:
    write_media(tmp_path)
    good = json.dumps(record(uid="good", extra=[[[[1]]]]))
    deep = json.dumps(record(uid="deep", extra="X")).replace('"X"', "[" * levels + "]" * levels)
    file = tmp_path / "all.jsonl"
    file.write_text(f"{good}\n{deep}\n")
    found = load_questions(file)
    assert [question.uid for question in found.questions] == ["good"]
    assert len(found.skipped) == 1 and "nested" in found.skipped[0].reason and "line 2" in found.skipped[0].file
