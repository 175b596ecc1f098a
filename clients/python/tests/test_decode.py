from __future__ import annotations

import unittest
from typing import Any

from riverrun.decode import DecodeError, PayloadError, decode, read_payload
from riverrun.decode.timestamp import normal_time


class Decode(unittest.TestCase):
    def test_snake_case_is_read_like_camel_case(self) -> None:
        payload = {"delta": "x", "item_id": "m"}
        event = decode({"type": "model.delta", "turn_id": "u", "first_sequence": 1, "sequence": 2, "payload": payload})
        self.assertEqual((event.scope, event.first_sequence), ({"turnId": "u"}, 1))
        self.assertEqual(event.payload, {"delta": "x", "itemId": "m"})

    def test_a_payload_that_does_not_fit_says_where(self) -> None:
        text = {"type": "message", "id": "a", "content": [{"type": "text", "text": 5}]}
        cases: list[tuple[str, Any, str]] = [
            ("model.delta", {}, "payload"),
            ("model.delta", {"delta": "x", "blockIndex": -1}, "payload.blockIndex"),
            ("model.delta", {"delta": "x", "blockIndex": True}, "payload.blockIndex"),
            ("model.delta", {"delta": "x", "blockIndex": 1.0}, "payload.blockIndex"),
            ("model.delta", {"delta": "x", "itemId": "a", "item_id": "a"}, "payload.itemId"),
            ("turn.completed", "what?", "payload"),
            ("item.started", {"item": {"id": "a"}, "outputIndex": 0}, "payload.item"),
            ("item.started", {"item": text, "outputIndex": 0}, "payload.item.content[0].text"),
        ]
        for kind, payload, path in cases:
            with self.subTest(path), self.assertRaises(PayloadError) as caught:
                read_payload(kind, payload)
            self.assertEqual(caught.exception.path, path)

    def test_values_nest_to_a_limit(self) -> None:
        def nested(levels: int) -> dict[str, Any]:
            item: dict[str, Any] = {"type": "message", "id": "a"}
            for _ in range(levels):
                item = {"type": "message", "id": "a", "blockList": [{"type": "item", "item": item}]}
            return {"item": item, "outputIndex": 0}

        read_payload("item.started", nested(49))
        with self.assertRaises(PayloadError):
            read_payload("item.started", nested(50))

    def test_what_is_no_event_is_an_error_that_names_the_member(self) -> None:
        for event, field in (([], None), ({}, "type"), ({"type": "x", "turnId": "a/b"}, "turnId")):
            with self.subTest(field), self.assertRaises(DecodeError) as caught:
                decode(event)
            self.assertEqual(caught.exception.field, field)

    def test_times_are_told_in_utc_with_milliseconds(self) -> None:
        for text, told in (
            ("2026-11-16T05:40:00Z", "2026-11-16T05:40:00.000Z"),
            ("2026-11-16t07:10:00.1239+01:30", "2026-11-16T05:40:00.123Z"),
            ("0001-01-01 00:00:00z", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59-01:00", "9999-01-01T00:59:59.000Z"),
            ("0000-01-01T00:00:00+01:00", "0000-12-31T23:00:00.000Z"),
            ("2026-02-29T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
        ):
            self.assertEqual(normal_time(text), told, text)
