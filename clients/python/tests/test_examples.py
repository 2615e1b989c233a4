import re
import subprocess
import sys
from pathlib import Path

from server import AKIN_BIN, Server

CLIENT = Path(__file__).parents[1]


def run(server: Server, program: str, *arguments: str) -> str:
    command = [sys.executable, program, *arguments]
    environment = {"AKIN_URL": server.url, "PATH": str(Path(AKIN_BIN).parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_deduplicate(server: Server) -> None:
    assert run(server, str(CLIENT / "examples/deduplicate.py")).splitlines() == [
        "a.example/1: created ",
        "b.example/7: skipped as it resembles a.example/1 (0.90)",
        "c.example/3: skipped as it resembles a.example/1 (1.00)",
        "d.example/2: created ",
        "e.example/5: invalid_document",
        "a.example/1 has 100% of it, resemblance 0.42",
        "only in the second: done.",
    ]


def test_from_datasketch(server: Server) -> None:
    """What datasketch finds is the same every time, and as the page says; akin misses 1 %."""
    first, theirs, ours = run(server, str(CLIENT / "examples/from_datasketch.py")).splitlines()
    page = (CLIENT.parents[1] / "docs/from-datasketch.md").read_text()
    assert f"{first}\n{theirs}\nakin_search.datasketch recall" in page
    figures = re.search(r"recall ([\d.]+) precision ([\d.]+)", ours)
    assert figures and float(figures[1]) >= 0.98 and float(figures[2]) == 1.0


def test_readme(server: Server) -> None:
    """Every program in README.md and docs/clients.md runs, in the order of the page."""
    pages = [CLIENT / "README.md", CLIENT.parents[1] / "docs/clients.md"]
    for page in pages:
        programs = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        assert programs
        run(server, "-c", "\n".join(programs))
