"""Puts the command `akin` into the wheel if the environment variable AKIN_BINARY names its file.

AKIN_PLATFORM is the platform of the file, as the tags of wheels name platforms. Without AKIN_BINARY
the wheel has the client alone, for every platform.
"""

import os
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        binary = os.environ.get("AKIN_BINARY")
        if binary:
            build_data["shared_scripts"][binary] = "akin"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{os.environ['AKIN_PLATFORM']}"
