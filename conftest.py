"""What holds for every test: properties are tried on the same examples each time, so that green stays green.

Set ATLAS_TEST_EXPLORE to look for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.load_profile("default" if os.environ.get("ATLAS_TEST_EXPLORE") else "steady")
