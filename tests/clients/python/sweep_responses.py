"""openai-python's Responses resume behind every number: nothing lost, nothing doubled, the same response."""

import sys

import httpx
import openai

from recorded import EVERYTHING, Report, chosen, play
from support import BASE, FAULT, KEY

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
report = Report("responses")


def follow(name, **arguments):
    return [event.to_dict() for event in client.responses.retrieve(name, stream=True, **arguments)]


def text_of(events):
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


def folded(name, after):
    """What the SDK's own fold ends with."""
    with client.responses.stream(response_id=name, starting_after=after) as stream:
        last = [event for event in stream][-1]
    return last.response.to_dict()


def pictures_of(response):
    calls = [item for item in response["output"] if item["type"] == "image_generation_call"]
    return [call.get("image_url") or f"data:image/{call['output_format']};base64,{call['result']}" for call in calls]


def sweep(label, agent):
    turn = play(agent)
    name = turn.response_id
    whole = follow(name)
    pictures = turn.pictures("message")
    report.equal(pictures_of(whole[-1]["response"]), pictures, f"{label}: the uncut pictures and the fold's")
    report.equal([event["sequence_number"] for event in whole], list(range(len(whole))), f"{label}: the numbers")
    report.equal(text_of(whole), turn.text(), f"{label}: the uncut text and the fold's")
    retrieved = client.responses.retrieve(name).to_dict()
    report.equal(whole[-1]["response"], retrieved, f"{label}: the last event and the retrieved response")
    wanted = folded(name, None) if len(whole) > 1 else None
    for number in range(len(whole)):
        rest = follow(name, starting_after=number)
        report.equal(whole[: number + 1] + rest, whole, f"{label}: resumed behind {number}")
        if number < len(whole) - 1:
            report.equal(folded(name, number), wanted, f"{label}: folded behind {number}")


def cut_live(model):
    """A run that is cut behind every frame while it goes, and resumed while it goes."""
    for frames in range(1, 200):
        seen = []
        # A client for each cut: what one leaves behind must not stand in the next one's way.
        once = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
        try:
            for event in once.responses.create(
                model=model, input="x", stream=True, background=True,
                extra_headers={FAULT: f"drop-after={frames}"},
            ):
                seen.append(event.to_dict())
        except (openai.APIConnectionError, httpx.TransportError):
            pass
        name = seen[0]["response"]["id"]
        if seen[-1]["type"] == "response.completed" and len(seen) < frames:
            return report.check(True, "")
        report.equal(len(seen), frames, f"{model}: cut after {frames} frames")
        rest = follow(name, starting_after=seen[-1]["sequence_number"])
        report.equal(seen + rest, follow(name), f"{model}: cut live after {frames} frames")


for label, agent in chosen(sys.argv, EVERYTHING).items():
    sweep(label, agent)
cut_live("scripted/slow?pace_ms=4&times=1")
report.end()
