"""Answers by JSON lines: what a line may contain."""
import pytest

from restante.answers import AnswerLine, BadAnswer, parse_answer_line


def test_an_answer_is_read():
    assert parse_answer_line(b'{"reply_to":"d1","text":"hello","files":["/a","b"],"failed":true}') == AnswerLine("d1", "hello", ["/a", "b"], True)
    assert parse_answer_line(b'{"text":"hello","reply_to":null,"files":null}') == AnswerLine("", "hello")


@pytest.mark.parametrize("line, sentence", [
    (b"hello", "one JSON object"), (b"[1]", "one JSON object"), (b'{"txt":"x"}', 'no member "txt"'), (b'{"text":5}', "text must be a text"),
    (b'{"files":"a"}', "list of paths"), (b'{"files":[""]}', "list of paths"), (b'{"text":"a","failed":1}', "true or false"),
    (b'{"reply_to":"d1"}', "needs a text or files"), (b"[" * 100_000, "one JSON object"), (b"\xff", "one JSON object")])
def test_a_line_that_is_no_answer_is_refused_with_a_sentence(line, sentence):
    with pytest.raises(BadAnswer, match=sentence):
        parse_answer_line(line)
