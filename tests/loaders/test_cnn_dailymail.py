import hashlib
import logging

import pytest

from ctxaudit.datasets import cnn_dailymail
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

RECORD = {
    "article": " (CNN) -- A bridge opened . It is red .",
    "highlights": "Opened .\nRed .",
    "id": "ab12",
}
STORY = (
    "(CNN) -- A bridge opened.\n\nA caption without full stop\n\n"
    "@highlight\n\nOpened\n\n@highlight\n\nRed\n"
)


def read(path):
    return list(cnn_dailymail.load(str(path)))


def story(folder, text=STORY, *, name="0a1b"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.story").write_bytes(text.encode())


def test_a_record_stays_as_it_is(write):
    assert read(write(RECORD)) == [
        Example(
            id="ab12",
            query=cnn_dailymail.QUERY,
            sources=(),
            task="summarization",
            gold="Opened .\nRed .",
            group="ab12",
            context=(ContextDocument(text=" (CNN) -- A bridge opened . It is red ."),),
        )
    ]


def test_a_story_stays_as_it_is_and_has_its_lines_as_units(tmp_path):
    story(tmp_path / "stories")
    (example,) = read(tmp_path)
    (document,) = example.context
    assert (example.id, example.task) == ("0a1b", "summarization")
    assert example.gold == "Opened\nRed"
    assert STORY.startswith(document.text)
    assert [document.text[start:end] for start, end in document.units] == [
        "(CNN) -- A bridge opened.",
        "A caption without full stop",
    ]
    assert document.support is None


def test_other_line_ends_and_separators_stay(tmp_path):
    story(tmp_path, "One\u2028line.\r\n\r\nTwo\x85more.\r\n@highlight\r\n\r\nIt.\r\n")
    (example,) = read(tmp_path)
    (document,) = example.context
    assert document.text == "One\u2028line.\r\n\r\nTwo\x85more.\r"
    assert [document.text[start:end].strip() for start, end in document.units] == [
        "One\u2028line.",
        "Two\x85more.",
    ]
    assert example.gold == "It."


def test_stories_of_both_papers_come_in_the_order_of_their_names(tmp_path):
    story(tmp_path / "dailymail/stories", name="aa")
    story(tmp_path / "cnn/stories", name="bb")
    assert [example.id for example in read(tmp_path)] == ["aa", "bb"]


def test_what_has_no_body_or_no_highlights_is_left_out_and_counted(tmp_path, write, caplog):
    story(tmp_path / "s", name="good")
    story(tmp_path / "s", "\n\n@highlight\n\nOnly this\n", name="bodiless")
    story(tmp_path / "s", "Only a body\n", name="plain")
    with caplog.at_level(logging.INFO):
        assert [example.id for example in read(tmp_path / "s")] == ["good"]
    assert "1 examples; left out: 1 with no body, 1 with no highlights" in caplog.text
    assert len(read(write(RECORD, {**RECORD, "id": "b", "article": ""}, name="r.jsonl"))) == 1


def test_repeated_articles_are_kept_and_counted(write, caplog):
    with caplog.at_level(logging.WARNING):
        assert len(read(write(RECORD, {**RECORD, "id": "b"}))) == 2
    assert "1 examples with the same text as an earlier one" in caplog.text


def test_a_list_of_urls_chooses_the_stories_of_a_split(tmp_path):
    urls = [f"http://web.archive.org/web/2011/http://www.cnn.com/{n}" for n in range(3)]
    names = [hashlib.sha1(url.encode()).hexdigest() for url in urls]  # noqa: S324
    for name in names:
        story(tmp_path / "cnn/stories", name=name)
    (tmp_path / "all_val.txt").write_text("\n".join(urls[1:]) + "\n", encoding="utf-8")
    assert [example.id for example in read(tmp_path)] == sorted(names[1:])
    with (tmp_path / "all_val.txt").open("a", encoding="utf-8") as stream:
        stream.write("http://www.cnn.com/absent\n")
    with pytest.raises(
        UserError, match=r"1 stories of the list are missing, such as \w{40}\.story"
    ):
        read(tmp_path)
    (tmp_path / "all_test.txt").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"several lists of URLs \(all_test\.txt, all_val\.txt\)"):
        read(tmp_path)


def test_a_story_in_two_folders_is_refused(tmp_path):
    story(tmp_path / "a")
    story(tmp_path / "b")
    with pytest.raises(UserError, match=r"0a1b\.story: id: '0a1b' occurs twice"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"id": None}, "id"), ({"article": 1}, "article"), ({"highlights": ["a"]}, "highlights")],
)
def test_a_fault_names_file_line_and_field(write, change, field):
    with pytest.raises(UserError, match=rf"raw\.json:2: {field}: "):
        read(write(RECORD, {**RECORD, "id": "b", **change}))


def test_story_files_of_the_raw_form(sample):
    examples = read(sample("cnn_dailymail_format"))
    assert [example.id[:4] for example in examples] == ["4799", "4a3e"]
    for example in examples:
        assert example.gold == "This is a highlight.\nThis is another highlight"
        (document,) = example.context
        lines = [document.text[start:end] for start, end in document.units]
        assert lines[0].endswith("Article text.")
        assert lines[1:] == ["Another line."]
