"""The papers' figures and tables, one file per paper, ending in ``PAPER``, ``ENTRIES`` and ``NOT_YET``."""
