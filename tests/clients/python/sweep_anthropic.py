"""anthropic-python enters a turn behind every event, without a state: it ends with the same message."""

import sys

import anthropic
import httpx2

from recorded import EVERYTHING, Report, chosen, copied, handed, play
from support import BASE, FAULT, KEY

ASK = {"model": "scripted/text", "max_tokens": 99, "messages": [{"role": "user", "content": "x"}]}
report = Report("anthropic")


def read(answer):
    """The message that the official client ends with, or the error that it raises."""
    with handed(answer, httpx2) as transport:
        client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, http_client=transport)
        said = ""
        try:
            with client.messages.stream(**ASK) as stream:
                for piece in stream.text_stream:
                    said += piece
                message = stream.get_final_message()
        except anthropic.APIStatusError as error:
            return said, {"error": error.body}
        return said, message.to_dict()


def sweep(name, agent):
    turn = play(agent)
    text = turn.text()
    for copy, readers in copied(turn, "anthropic"):
        whole = read(copy.open("anthropic"))
        report.equal(whole[0], text, f"{name}: the uncut text and the fold's")
        for sequence, answer in readers:
            report.equal(read(answer), whole, f"{name}: entered behind {sequence}")


def cut_is_seen():
    """A stream that is cut never looks like a whole one."""
    for frames in range(1, 100):
        # A client for each cut: what one leaves behind must not stand in the next one's way.
        client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, timeout=30)
        try:
            with client.messages.stream(**ASK, extra_headers={FAULT: f"drop-after={frames}"}) as stream:
                message = stream.get_final_message()
            report.equal(message.stop_reason, "end_turn", f"cut after {frames} frames: the whole message")
            return
        except (anthropic.APIConnectionError, httpx2.TransportError):
            report.check(True, "")


for name, agent in chosen(sys.argv, EVERYTHING).items():
    sweep(name, agent)
cut_is_seen()
report.end()
