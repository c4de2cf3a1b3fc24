"""The names a plugin folder imports: ``atlas.plugins.sdk`` and ``atlas.plugins.acp``, and nothing else."""
