"""Writes what each study's analysis says under "## State" of its page: python research/state.py DATE"""

import subprocess
import sys
import textwrap
from pathlib import Path

import run

HERE = Path(__file__).parent
STUDIES = {"mirror-pairs": "720 final runs and their rates", "kernel-regime": "3,300 regressions",
           "fair-rates": "1,140 final runs and their rates", "gap": "22 groups of ten runs and their rates"}
MARK = "## State\n"


def main() -> None:
    for name, planned in STUDIES.items():
        page = HERE / name / "README.md"
        text = page.read_text()
        said = subprocess.run([sys.executable, HERE / name / "analyse.py"], check=True, capture_output=True, text=True)
        rows = len(run.Study(name).done())
        head, _, _ = text.partition(MARK)
        lines = "".join(f"    {line}".rstrip() + "\n" for line in said.stdout.splitlines())
        state = textwrap.fill(f"{sys.argv[1]}: {rows} rows are in `runs/`; planned are {planned}. "
                              "`analyse.py` says, by the rules above:", 100)
        page.write_text(f"{head}{MARK}\n{state}\n\n{lines}")


if __name__ == "__main__":
    main()
