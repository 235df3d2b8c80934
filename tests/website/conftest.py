"""The modules that make the documentation site, imported from docs as MkDocs imports them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def website():
    """Give an import function for the modules of docs/website."""
    sys.path.insert(0, str(DOCS))
    yield lambda name: importlib.import_module(f"website.{name}")
    sys.path.remove(str(DOCS))
