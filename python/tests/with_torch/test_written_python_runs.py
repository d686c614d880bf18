"""The Python of the README and the book runs where its packages are at hand; schedulers of clusters are not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: Others' schedulers, and paths of a cluster.
ELSEWHERE = re.compile(r"dask|mpi4py|submitit|ray\.util|/shared/")
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S))
    if not ELSEWHERE.search(block)
]


def test_there_are_some():
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS)
def test_it_runs(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {"__name__": "block"})
    assert capsys.readouterr().out.strip()
