"""The documents that Riverrun was built from. Their sample code is read when a test runs and is never copied here.

`RIVERRUN_DOCUMENTS` names the folder; without it `../shared/seeds` beside the repository is looked for.
"""

import ast
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


def json_event(text, kind):
    """The first object of the document whose `type` is `kind`, however it is laid out."""
    start = re.search(r'^\{\s*"type": "' + re.escape(kind) + '"', text, re.M).start()
    return json.JSONDecoder().raw_decode(text, start)[0]


def python_programs(text):
    """The programs of a document that has no fences: each run of lines in ASCII that is Python and does something.

    Chinese prose may parse as Python names, so lines that are not ASCII always end a program.
    """
    programs, lines = [], []
    for line in [*text.splitlines(), "。"]:
        if line.isascii():
            lines.append(line)
            continue
        code, lines = "\n".join(lines).strip("\n"), []
        if is_python(code):
            programs.append(code + "\n")
    return programs


def is_python(code):
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return False
    return any(not isinstance(statement, ast.Expr) for statement in body)
