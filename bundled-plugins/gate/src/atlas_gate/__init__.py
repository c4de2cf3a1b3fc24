"""The approval gate: what runs, what asks, what never runs."""
