"""The command `akin` of this machine."""

import os
import shutil
import sysconfig
from typing import Optional, Type, Union

from .errors import AkinError

Path = Union[str, "os.PathLike[str]"]


def program(given: Optional[Path], failure: Type[AkinError]) -> str:
    """The given program, or the `akin` that came with this package, or that of `PATH`."""
    if given is not None:
        return os.fspath(given)
    beside = shutil.which("akin", path=sysconfig.get_path("scripts"))
    found = beside or shutil.which("akin")
    if found is None:
        raise failure(
            "the command akin is not installed: this platform's package has the client alone. "
            "Install akin as docs/install.md says, or name the program by command=…"
        )
    return found
