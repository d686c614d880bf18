"""What arguments may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Union

from ._spec import Spec

if TYPE_CHECKING:
    from concurrent import futures

Model = Union[str, "os.PathLike[str]", dict, Spec]
Path = Union[str, "os.PathLike[str]"]
Executor = Union["futures.Executor", Callable[[], "futures.Executor"], int, None]
Progress = Union[bool, Callable[[float, float], object], None]
