"""Docstrings as the site's reader of them wants them. Files stay as they are.

``Example:`` becomes ``Examples:``, a section of code. ``Args:`` of a class without a constructor that could be read,
such as a named tuple or a pydantic model, become ``Attributes:``.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Renames sections of docstrings."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of what was read."""
        if obj.docstring:
            obj.docstring.value = _renamed("Example", "Examples", obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Change the docstring of a class whose constructor is made by its base."""
        by_hand = "__init__" in cls.members or any("dataclass" in str(decorator.value) for decorator in cls.decorators)
        if cls.docstring and not by_hand:
            cls.docstring.value = _renamed("Args", "Attributes", cls.docstring.value)


def _renamed(old: str, new: str, text: str) -> str:
    return re.sub(rf"^( *){old}:$", rf"\1{new}:", text, flags=re.MULTILINE)
