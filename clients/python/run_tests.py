"""Runs the tests: those of the fold as they are, those of the client in a virtual environment with httpx.

`python3 run_tests.py` is all that CI calls.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENT = HERE / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
HTTPX = "httpx>=0.27,<1"


def run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], cwd=HERE, check=True)


def make_environment() -> None:
    """Made once; a half-made one has no httpx and is finished."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    known = subprocess.run([str(PYTHON), "-c", "import httpx"], cwd=HERE, capture_output=True)
    if known.returncode != 0:
        run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", HTTPX)


def main() -> None:
    # Without httpx: proves that the fold needs nothing but Python.
    run(sys.executable, "-m", "unittest", "discover", "--start-directory", "tests", "--top-level-directory", ".")
    make_environment()
    run(PYTHON, "-m", "unittest", "discover", "--start-directory", "tests_http", "--top-level-directory", ".")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
