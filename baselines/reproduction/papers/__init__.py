"""The papers' figures and tables, one file per paper, ending in ``PAPER`` and ``ENTRIES``."""
