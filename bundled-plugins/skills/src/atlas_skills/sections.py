"""The section of the instructions that says how skills are kept."""

from __future__ import annotations

from atlas_sdk.instructions import Section

LEARN = """When a task taught you how it is done here (a correction, a workaround, steps that took several tries), \
keep it with skill_manage: patch the skill you used, else one for that kind of task, else make one named for the kind \
of task. Procedures belong in skills, facts in memory."""


def how_to() -> Section:
    """Return the section."""
    return Section(350, "skills", lambda conversation: LEARN)
