"""The notebook that needs no PyTorch runs from its first cell to its last."""

import matplotlib

from notebooks import run

matplotlib.use("Agg")


def test_the_theory_in_pictures():
    names = run("theory_in_pictures.ipynb")
    one, many = names["one"].var(ddof=1), names["many"].var(ddof=1)
    # Eight members have an eighth of the variance; 200 draws know a variance to about 15 %.
    assert 5 < one / many < 13
    assert abs(one / names["exact"] - 1) < 0.5
    assert names["found"].primal.score_ratio > 1
