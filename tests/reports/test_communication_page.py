"""What `wl.communication` shows in a notebook, in a browser: the mesh with its exchanges, lines, and the choice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from windlass.communication.choices import EXCHANGED, LEFT, Candidate, explain_choice
from windlass.communication.counting import Message
from windlass.diagnostics import Position
from windlass.reports.communication import Communication

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOK = """
<script>
const found = {errors: [], outside: []};
window.onerror = message => found.errors.push(message);
window.onload = () => {
  const svg = document.querySelector("svg"), frame = svg.getBoundingClientRect();
  for (const each of svg.querySelectorAll("rect, line, text")) {
    const box = each.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
        box.bottom > frame.bottom + 1) found.outside.push(each.outerHTML);
  }
  for (const kind of ["rect", "line", "table"]) found[kind] = document.querySelectorAll(kind).length;
  found.text = document.body.innerText;
  found.labels = [...svg.querySelectorAll("text")].map(each => each.textContent);
  found.heights = [...svg.querySelectorAll("text")].map(each => each.getBoundingClientRect().height);
  found.fits = document.documentElement.scrollWidth <= window.innerWidth && frame.width > 0;
  document.body.innerHTML = "";
  document.body.append(Object.assign(document.createElement("pre"), {textContent: JSON.stringify(found)}));
};
</script>"""


def halos(sizes: dict[str, int]) -> Communication:
    """Both ways along each axis, in ten rounds."""
    rows, columns = sizes.values()
    steps = {"down": (0, columns), "up": (columns, 0), "right": (0, 1), "left": (1, 0)}
    source = Position("ocean <1>.py", 11)
    ours = [Message("collective-permute", 4096, 10, 1, source, pair) for pair in steps.values()]
    plain = [Message("all-gather", 1 << 24, 10, 1, source)]
    forms = (Candidate(EXCHANGED, 163840, 40), Candidate(LEFT, 10 << 24, 10))
    choice = explain_choice("step", forms, forms[0])
    return Communication("step", {"x": rows, "y": columns}, ours, lambda: plain, [choice])


def look(report: Communication, folder: Path, width: int) -> Any:
    """What a browser finds in the page."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    page = folder / "page.html"
    fragment: str = getattr(report, "_repr_html_")()  # noqa: B009
    page.write_text(f"<!doctype html><meta charset='utf-8'><title>mesh</title>{LOOK}<body>{fragment}")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom"]
    command += ["--virtual-time-budget=5000", f"--user-data-dir={folder / 'profile'}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    shown = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert shown is not None, done.stdout
    return json.loads(unescape(shown[1]))


@pytest.mark.parametrize("width", [1000, 500])
def test_the_page_shows_the_mesh_its_exchanges_and_the_choice(tmp_path: Path, width: int) -> None:
    found = look(halos({"x": 128, "y": 4}), tmp_path, width)
    assert found["errors"] == [] and found["outside"] == [] and found["fits"]
    # Of the longer axis six devices are drawn; between neighbours goes an arrow each way.
    assert found["rect"] == 6 * 4 and found["line"] == 2 * (5 * 4 + 6 * 3) and found["table"] == 2
    assert found["labels"][0] == "0,0" and min(found["heights"]) >= 9
    assert "x: 128 devices (6 are drawn), 41 kB down and 41 kB up to neighbours in a run" in found["text"]
    assert "y: 4 devices, 41 kB right and 41 kB left to neighbours in a run" in found["text"]
    assert "ocean <1>.py:11" in found["text"] and "takes less time by estimate than left to XLA" in found["text"]


def test_text_and_data_tell_the_choice_and_why() -> None:
    report = halos({"x": 4, "y": 2})
    assert "step: halos exchanged: takes less time by estimate than left to XLA" in str(report)
    (choice,) = report.as_data()["choices"]
    assert choice["chosen"] == "halos exchanged" and [each["messages"] for each in choice["forms"]] == [40, 10]
    json.dumps(report.as_data())
