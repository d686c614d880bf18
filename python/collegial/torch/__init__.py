"""The networks in PyTorch, and better designs for your own.

    >>> from collegial.torch import build, convert, search, suggest
    >>> suggest(torchvision.models.resnet50())         # less variance at the same cost, or a lower cost
    >>> better, weights = convert(torchvision.models.resnet50(), objective="dual")
    >>> print(weights)                                 # what it kept of the model's weights
    >>> network = build("resnext29-66x6d", classes=100)
    >>> search(Head, widths=[1, 2, 4, 8], inputs=(tokens, features))     # any module, by its width
"""

from .._optional import need

need("torch", "collegial.torch", "torch")

from .convert import convert  # noqa: E402
from .module_search import ModuleSearch, search  # noqa: E402
from .networks import build, from_spec  # noqa: E402
from .refusals import Refusal, Refused, Verdict  # noqa: E402
from .suggest import Suggestion, suggest  # noqa: E402
from .weights import Conversion, Weights  # noqa: E402

__all__ = [
    "Conversion",
    "ModuleSearch",
    "Refusal",
    "Refused",
    "Suggestion",
    "Verdict",
    "Weights",
    "build",
    "convert",
    "from_spec",
    "search",
    "suggest",
]


def __dir__() -> list[str]:
    """The public names: modules of the package are its own affair."""
    return [*__all__, "__doc__", "__name__"]
