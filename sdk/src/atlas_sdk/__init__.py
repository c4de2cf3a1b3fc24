"""What a plugin of Atlas may import: hookspecs, service keys, messages, tools, events and errors.

Nothing is imported here on purpose: a plugin pays only for the modules it names.
"""

from __future__ import annotations

API_VERSION = 23
"""The version of this surface. It only grows; a manifest's ``atlas.api`` names the one it was written for."""
