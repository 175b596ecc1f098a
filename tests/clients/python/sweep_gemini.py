"""google-genai enters a turn behind every event, without a state and with a token: it ends with the same answer."""

import sys

import httpx2
from google import genai
from google.genai import errors, types

from recorded import Report, chosen, copied, handed, play
from support import BASE, FAULT, KEY

report = Report("gemini")


def stream(model, transport=None, faults=(), **config):
    """What the official client hands out: chunks, and the error that it raises if it does."""
    faults, chunks = list(faults), []

    def hurt(call):
        if faults:
            call.headers[FAULT] = faults.pop(0)

    options = types.HttpOptions(
        base_url=BASE, timeout=30_000, httpx_client=transport, client_args={"event_hooks": {"request": [hurt]}}
    )
    client = genai.Client(api_key=KEY, http_options=options)
    asked = client.models.generate_content_stream(
        model=model, contents="x", config=types.GenerateContentConfig(**config)
    )
    try:
        for chunk in asked:
            chunks.append(chunk)
    except errors.APIError as error:
        return chunks, {"error": error.details}
    return chunks, None


def answer(chunks, error):
    """The thoughts, the text, the calls, and how it ended."""
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    thoughts = "".join(part.text or "" for part in parts if part.thought)
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = [part.function_call.model_dump() for part in parts if part.function_call]
    last = chunks[-1].candidates[0].finish_reason if chunks and not error else None
    return thoughts, text, calls, error or last


def read(opened):
    with handed(opened, httpx2) as transport:
        # There is one answer to hand over; coming back by itself is swept below.
        return answer(*stream("scripted/text", transport, automatic_continuation=False))


def without_a_state(name, agent):
    turn = play(agent)
    for copy, readers in copied(turn, "gemini"):
        whole = read(copy.open("gemini"))
        report.equal(whole[1].replace("\n\n", ""), turn.text(), f"{name}: the uncut text and the fold's")
        for sequence, opened in readers:
            report.equal(read(opened), whole, f"{name}: entered behind {sequence}")


def with_a_token(model):
    chunks, error = stream(model)
    whole = answer(chunks, error)
    for at, chunk in enumerate(chunks):
        if token := chunk.candidates[0].continuation_token:
            rest, error = stream(model, continuation_token=token)
            report.equal(answer(chunks[: at + 1] + rest, error), whole, f"{model}: behind chunk {at + 1}")


def cut_live(model):
    whole = answer(*stream(model))
    # All before the last frame: behind it there is nothing to come back for.
    for frames in (1, 2, 5, 11):
        for fault in ("drop-after", "reset-after", "end-after"):
            cut = answer(*stream(model, faults=[f"{fault}={frames}"]))
            report.equal(cut, whole, f"{model}: {fault}={frames}")


for name, agent in chosen(sys.argv, ["text", "approval", "error"]).items():
    without_a_state(name, agent)
for model in ("scripted/text", "scripted/tool"):
    with_a_token(model)
# Slow enough that no two words are told in one frame.
cut_live("scripted/slow")
report.end()
