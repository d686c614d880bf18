"""The scripts of this folder still run against the program (`COLLEGIAL` names it)."""

import os
import pathlib
import subprocess
import sys

import growth
import pytest

TOOLS = pathlib.Path(__file__).parent
PROGRAM = os.environ.get("COLLEGIAL", str(TOOLS.parent / "target" / "release" / "collegial"))


def script(name, *words):
    return subprocess.run([sys.executable, TOOLS / name, "--program", PROGRAM, *words], capture_output=True, text=True)


def test_a_power_is_found_where_fixed_costs_are_small():
    sizes = [10, 100, 1000, 10_000, 100_000]
    slope, error, clear = growth.exponent([(size, 3 * size**1.5) for size in sizes])
    assert slope == pytest.approx(1.5) and error == pytest.approx(0, abs=1e-9) and clear
    slope, _, clear = growth.exponent([(size, 4 + 0.1 * size) for size in sizes])
    assert slope == pytest.approx(1, abs=0.02) and clear
    assert growth.exponent([(size, 5.0) for size in sizes]) == (0, 0, False)


def test_the_standard_error_is_the_textbooks():
    """ln y = 1, 2, 4 at ln x = 0, 1, 2: slope 3/2, residuals 1/6, -1/3, 1/6."""
    costs = [(growth.math.exp(x), growth.math.exp(y)) for x, y in enumerate([1, 2, 4])]
    assert growth.exponent(costs)[:2] == (pytest.approx(1.5), pytest.approx((1 / 12) ** 0.5))


def test_the_page_has_the_table_of_its_runs():
    with open(growth.RUNS, newline="") as file:
        table = growth.table(list(growth.csv.DictReader(file)))
    assert table in growth.PAGE.read_text()


@pytest.mark.skipif(not os.path.exists("/usr/bin/time"), reason="no GNU time")
def test_every_operation_of_growth_runs():
    done = script("growth.py", "--check")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(" MB\n") == len(growth.OPERATIONS)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and limits as on Linux")
def test_a_short_soak_ends_with_the_same_bits():
    done = script("soak.py", "--minutes", "0", "--kills", "12")
    assert done.returncode == 0, done.stderr
    assert "'training: finished with the same bits'" in done.stdout
