"""The extension module: words and arrays in, JSON and arrays out. Use the package `collegial` instead."""

from collections.abc import Callable
from os import PathLike

__version__: str

class CollegialError(ValueError):
    """Something that can be fixed, in one sentence with the offending value and what would be accepted."""

def ask(words: list[str], progress: Callable[[float, float], object] | None = None) -> tuple[str, str, str]:
    """The JSON, the text and the HTML that answer the words of a command line."""

def kernel(words: list[str], inputs: bytes | None = None) -> bytes:
    """The kernel that answers the words of `collegial ntk`, as a .npy file, between the inputs of another one."""

def forward(model: str, weights: str | PathLike[str] | None, inputs: bytes, seed: int, threads: int | None) -> bytes:
    """The outputs of a network, as a .npy file, for the inputs of another one."""

def to_toml(model: str) -> str:
    """The TOML form of a model."""

def redesigned(model: str, design: str) -> str:
    """The JSON form of a model with another design."""

def table(sentences: list[str], headings: list[str], rows: list[list[str]]) -> tuple[str, str]:
    """Sentences and a table, as text and as HTML; the first column lines up on the left."""

def main(words: list[str]) -> int:
    """Runs the program and gives its exit code."""
