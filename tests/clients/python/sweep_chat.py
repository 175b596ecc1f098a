"""openai-python's Chat Completions enter a turn behind every event, without a state: the same completion."""

import sys

import httpx
import openai

from recorded import EVERYTHING, Report, chosen, copied, handed, play
from support import BASE, FAULT, KEY

ASK = {"model": "scripted/text", "messages": [{"role": "user", "content": "x"}]}
report = Report("chat")


def read(answer):
    """The completion that the official client ends with, or the error that it raises."""
    with handed(answer) as transport:
        client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, http_client=transport)
        said = ""
        try:
            with client.chat.completions.stream(**ASK) as stream:
                for event in stream:
                    said += event.delta if event.type == "content.delta" else ""
                completion = stream.get_final_completion()
        except openai.APIError as error:
            return said, {"error": error.body}
        return said, completion.to_dict()


def sweep(name, agent):
    turn = play(agent)
    # One content text: the next block begins with a blank line.
    text = "\n\n".join(turn.texts())
    for copy, readers in copied(turn, "chat"):
        whole = read(copy.open("chat"))
        report.equal(whole[0], text, f"{name}: the uncut text and the fold's")
        for sequence, answer in readers:
            report.equal(read(answer), whole, f"{name}: entered behind {sequence}")


def cut_is_seen():
    """A stream that is cut never looks like a whole one."""
    for frames in range(1, 100):
        # A client for each cut: what one leaves behind must not stand in the next one's way.
        client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
        try:
            with client.chat.completions.stream(**ASK, extra_headers={FAULT: f"drop-after={frames}"}) as stream:
                choice = stream.get_final_completion().choices[0]
            report.equal(choice.finish_reason, "stop", f"cut after {frames} frames: the whole completion")
            return
        except (openai.APIConnectionError, httpx.TransportError):
            report.check(True, "")


for name, agent in chosen(sys.argv, EVERYTHING).items():
    sweep(name, agent)
cut_is_seen()
report.end()
