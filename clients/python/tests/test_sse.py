from __future__ import annotations

import unittest

from riverrun import MalformedError, SseFrame, SseParser


class Sse(unittest.TestCase):
    def check(self, text: str, expected: list[SseFrame]) -> None:
        whole = text.encode()
        self.assertEqual(SseParser().push(whole), expected)
        for cut in range(len(whole) + 1):
            parser = SseParser()
            self.assertEqual(
                parser.push(whole[:cut]) + parser.push(b"") + parser.push(whole[cut:]), expected, f"cut at {cut}"
            )
        single = SseParser()
        self.assertEqual([frame for byte in whole for frame in single.push(bytes([byte]))], expected, "byte by byte")

    def test_any_split_gives_the_same_frames(self) -> None:
        self.check("id: 1\ndata: one\n\nid: 2\ndata: Ả😀\n\n", [SseFrame("one", id="1"), SseFrame("Ả😀", id="2")])

    def test_lines_end_with_lf_cr_or_both(self) -> None:
        frames = [SseFrame("a\nb"), SseFrame("c"), SseFrame("d")]
        self.check("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", frames)

    def test_a_byte_order_mark_opens_the_stream_and_nothing_else(self) -> None:
        self.check("\ufeffdata: \ufeffx\n\n", [SseFrame("\ufeffx")])

    def test_comments_and_frames_without_data_are_not_dispatched(self) -> None:
        self.check(": heartbeat\n\nevent: lost\n\nretry: 500\n\ndata\n\n", [SseFrame("", retry=500)])

    def test_an_id_stays_in_effect_a_name_does_not(self) -> None:
        frames = [SseFrame("x", "riverrun", "7"), SseFrame("y", None, "7")]
        self.check("id: 7\nevent: riverrun\ndata: x\n\ndata: y\n\n", frames)

    def test_an_unfinished_frame_is_not_given_out(self) -> None:
        parser = SseParser()
        self.assertEqual(parser.push(b"data: half\n"), [])
        self.assertTrue(parser.is_inside_frame)

    def test_what_is_not_utf8_or_over_the_limit_is_an_error(self) -> None:
        for parser, data in (
            (SseParser(), b"data: \xff\n"),
            (SseParser(line_bytes=8), b"data: 123456789"),
            (SseParser(frame_bytes=16), b"data: 12345\ndata: 12345\n"),
        ):
            with self.assertRaises(MalformedError):
                parser.push(data)
