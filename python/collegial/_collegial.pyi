"""The extension module: requests as JSON and arrays in, answers and arrays out. Use the package `collegial` instead."""

from collections.abc import Callable
from os import PathLike

import numpy

__version__: str

class CollegialError(ValueError):
    """Something that can be fixed, in one sentence with the offending value and what would be accepted."""

class Answer:
    """What a verb answered."""

    def json(self) -> str:
        """The document that the command line prints with --json."""

    def text(self) -> str:
        """For people, without escape sequences."""

    def html(self) -> str:
        """For notebooks."""

    def write_page(self, path: str | PathLike[str], call: str) -> None:
        """Writes a self-contained page that says by which call it was made."""

    def write_figures(self, directory: str | PathLike[str]) -> None:
        """Writes the figures as SVG files, with their data as CSV, into a directory."""

def ask(
    verb: str,
    request: str,
    threads: int | None = None,
    progress: Callable[[float, float], object] | None = None,
    epoch: Callable[[str], object] | None = None,
) -> Answer:
    """Answers a verb's request."""

def shard(request: str, threads: int | None = None) -> str:
    """A share of a fit's draws as the text of a file that merge reads."""

def ntk(request: str, inputs: numpy.ndarray | None = None, threads: int | None = None) -> numpy.ndarray | None:
    """The kernel between the given inputs, N x N or its diagonal; None where it goes to a file."""

def draws(
    request: str,
    inputs: numpy.ndarray | None = None,
    threads: int | None = None,
    progress: Callable[[float, float], object] | None = None,
) -> Answer:
    """Mean and variance over initialisations of the kernel between the given inputs."""

def forward(request: str, inputs: numpy.ndarray, threads: int | None = None) -> numpy.ndarray:
    """The outputs of a network, inputs x outputs."""

def to_toml(model: str) -> str:
    """The TOML form of a model."""

def redesigned(model: str, design: str) -> str:
    """The JSON form of a model with another design."""

def stages(model: str) -> list[tuple[int, int, list[int]]]:
    """Every stage of a network: its blocks, the members m of each, and their widths n into and out of the k x k convolution."""

def members_within(cost: Callable[[int], float], budget: float, rule: str, most: int) -> int:
    """The integer correction: the most members whose cost, a function of their number, is within a budget, or the number
    nearest to it; 0 where not even one is."""

def table(sentences: list[str], headings: list[str], rows: list[list[str]]) -> tuple[str, str]:
    """Sentences and a table, as text and as HTML; the first column lines up on the left."""

def main(words: list[str]) -> int:
    """Runs the program and gives its exit code."""
