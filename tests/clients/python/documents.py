"""The documents that Riverrun was built from. Their sample code is read when a test runs and is never copied here.

`RIVERRUN_DOCUMENTS` names the folder; without it `../shared/seeds` beside the repository is looked for.
"""

import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]


def folder():
    """The folder of the documents; None if it is not on this machine."""
    named = os.environ.get("RIVERRUN_DOCUMENTS")
    places = [pathlib.Path(named)] if named else [parent / "shared/seeds" for parent in ROOT.parents]
    return next((place for place in places if place.is_dir()), None)


def document(number):
    """The text of the document with this number, such as `003`; None if it is absent, which is printed."""
    place = folder()
    found = sorted(place.glob(f"{number}_*.txt")) if place else []
    if not found:
        print(f"# SKIP document {number} is absent: no ../shared/seeds, and RIVERRUN_DOCUMENTS names no folder with it")
        return None
    return found[0].read_text()


def python_class(text, name):
    """The class of this name from the document's own Python code."""
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    [code] = [block for block in blocks if f"class {name}" in block]
    names = {}
    exec(compile(code, f"<document: {name}>", "exec"), names)
    return names[name]


def json_frames(text):
    """Every `task.*` frame that the document shows, in its order."""
    decoder = json.JSONDecoder()
    return [decoder.raw_decode(text, at.start())[0] for at in re.finditer(r'^\{"type":"task\.', text, re.M)]
