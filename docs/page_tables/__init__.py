"""Tables of the pages, which `docs/pages.py` writes."""
