"""The networks in PyTorch, and better designs for your own.

    >>> from collegial.torch import build, convert, suggest
    >>> network = build("resnext29-37x10d", classes=100)
    >>> suggest(torchvision.models.resnet50())         # a table: fewer parameters, or less variance
    >>> better = convert(torchvision.models.resnet50(), objective="dual")
    >>> search(Head, widths=[1, 2, 4, 8], inputs=(tokens, features))     # any module, by its width
"""

from .._optional import need

need("torch", "collegial.torch", "torch")

from .convert import convert  # noqa: E402
from .module_search import ModuleSearch, search  # noqa: E402
from .networks import build, from_spec  # noqa: E402
from .refusals import Kind, Refusal, Refused  # noqa: E402
from .suggest import Suggestion, suggest  # noqa: E402

__all__ = [
    "Kind",
    "ModuleSearch",
    "Refusal",
    "Refused",
    "Suggestion",
    "build",
    "convert",
    "from_spec",
    "search",
    "suggest",
]
