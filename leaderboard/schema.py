"""Schemas of JSON files of results: types of fields, and error messages for invalid ones.

Internal.
"""

from __future__ import annotations

import codecs
import difflib
import functools
import re
import reprlib
import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, OffaxisError, needs
from benchmark_data.files import RepeatedKey, parse_json, read_bounded

try:
    import pydantic as pydantic  # other modules import it from here, so that one place reports its absence
    import pydantic_core
    from pydantic import Field as Field
except ImportError as error:  # pragma: no cover - exercised in a subprocess
    raise MissingExtra("reading results", error.name or "pydantic", "board") from error

needs("reading results", "board", "filelock")

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

LARGEST = 16 * 2**20
"""The most bytes of a JSON file."""

DATASET = r"^[a-z0-9_]+(/[a-z0-9_]+([.-][a-z0-9_]+)*)?"
"""Regular expression for the start of a dataset's full name. No match can lead out of a folder."""

NAME = r"^[a-z0-9][a-z0-9_]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]
Text = Annotated[str, Field(max_length=4_000, pattern=r"^([^\p{Cc}\p{Cf}]|[\n\t])*$")]
Line = Annotated[str, Field(max_length=200, pattern=r"^[^\p{Cc}\p{Cf}\u2028\u2029]*$")]
"""One line without control characters, such as those that change the direction of writing."""

_TEX_COMMANDS = frozenset(
    re.findall(
        r"\w+",
        """
        b c d H k L l O o r t u v i j ss ae AE oe OE aa AA dh DH dj DJ th TH ng NG textcommabelow
        emph textit textbf textsc textrm textsf texttt textsuperscript textsubscript text
        mathrm mathbf mathit mathcal mathbb mathsf ensuremath url TeX LaTeX textendash textemdash textquoteright
        textquoteleft textasciitilde textbackslash textunderscore ldots dots times cdot infty ell sim pm circ to in ast
        alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon
        phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
        """,
    )
)
"""TeX commands that print something and do nothing else: accents, letters, fonts and symbols."""


def _check_tex_commands(bibtex: str) -> str:
    """Refuse TeX commands that could read or write files or define macros on the machine of a user who cites it."""
    for command in re.findall(r"\\([A-Za-z@]+)", bibtex):
        if command not in _TEX_COMMANDS:
            raise wrong_field(
                "bibtex", "no TeX commands except accents, letters, fonts and symbols", f"\\{command}", "Leave it out."
            )
    if "^^" in bibtex:
        raise wrong_field(
            "bibtex", "characters as they are", "^^, which spells others in TeX", "Write the character itself."
        )
    return bibtex


Bibtex = Annotated[Text, pydantic.AfterValidator(_check_tex_commands)]
"""BibTeX that prints a reference and does nothing else."""
Link = Annotated[str, Field(max_length=500, pattern=r"^(https?://[^\s\p{Cc}\p{Cf}\"'<>\\]+)?$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$"), pydantic.AfterValidator(sys.intern)]
"""Interned: runs of one dataset share their digests, and a board holds thousands of runs."""
Scalar: TypeAlias = bool | int | float | Line | None


def _check_setting(value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Refuse a wrong setting with one error; pydantic has one for each type of a union."""
    try:
        return check(value)
    except pydantic.ValidationError:
        types = "a finite number, a printable line of at most 200 characters, true, false, null, or an array of these"
        raise pydantic_core.PydanticCustomError("setting", types) from None


Setting = Annotated[Scalar | list[Scalar], pydantic.WrapValidator(_check_setting)]
Settings = Annotated[dict[Line, Setting], Field(max_length=200)]
Versions = Annotated[dict[Line, Line], Field(max_length=200)]
M = TypeVar("M", bound="Model")


class Model(pydantic.BaseModel):
    """Base of all schemas: frozen, strictly typed, without unknown keys and NaN."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read_bytes(file: Path, largest: int = LARGEST) -> bytes:
    """Read an untrusted file.

    Args:
        file: the path.
        largest: the most bytes that it may have.

    Returns:
        The bytes.

    Raises:
        DamagedFile: no regular file, too large, or it cannot be read.
    """
    return read_bounded(file, largest, what="a JSON file")


def parse_or_raise(model: type[M], text: str | bytes, what: str) -> M:
    """Check JSON against a schema.

    Args:
        model: the schema.
        text: JSON.
        what: its name in error messages.

    Returns:
        The content as the schema's type.

    Raises:
        DamagedFile: it breaks the schema. The message has the first error and the number of others.
    """
    parsed = parse(model, text, what)
    if not isinstance(parsed, list):
        return parsed
    first_error = parsed[0]
    suffix = f" ({len(parsed) - 1} more problems.)" if len(parsed) > 1 else ""
    raise DamagedFile(f"{first_error}{suffix}")


def parse(model: type[M], text: str | bytes, what: str) -> M | list[OffaxisError]:
    """Check JSON against a schema, and list all errors.

    Args:
        model: the schema.
        text: JSON.
        what: its name in error messages.

    Returns:
        The content as the schema's type; or its errors, at least one.
    """
    if isinstance(text, bytes) and text.startswith(_BYTE_ORDER_MARKS):
        return [
            InvalidInput(
                f"{what}: expected valid JSON in UTF-8, received a byte order mark. Save it as UTF-8 without a byte "
                "order mark."
            )
        ]
    try:
        parse_json(text)  # pydantic would keep the last of two values of a key
    except RepeatedKey as error:
        return [InvalidInput(f"{what}: expected each key once, received {error}. Keep one of them.")]
    except (ValueError, RecursionError):
        pass  # pydantic's error has the location
    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        return to_errors(error, what, model)


def to_errors(error: pydantic.ValidationError, what: str, model: type[Model]) -> list[OffaxisError]:
    """Convert a validation error of pydantic to errors of the project.

    Args:
        error: the error of pydantic.
        what: the name of the checked content in messages.
        model: the schema that it was checked against.

    Returns:
        One error for each wrong field, in the order of the file.
    """
    return [_describe(detail, what, model) for detail in error.errors(include_url=False) if not _is_consequence(detail)]


def _is_consequence(detail: pydantic_core.ErrorDetails) -> bool:
    """Return whether a list is too short only because of invalid items, which have errors of their own."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _describe(detail: pydantic_core.ErrorDetails, what: str, model: type[Model]) -> OffaxisError:
    field = ".".join(str(part) for part in detail["loc"])
    context = detail.get("ctx", {})
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Input should ")
    received, remedy = short_repr.repr(detail["input"]), ""
    match detail["type"]:
        case "offaxis":
            field, expected, received, remedy = (context[k] for k in ("field", "expected", "received", "remedy"))
        case "json_invalid":
            field, expected, received = "", "valid JSON", str(context["error"])
        case "missing":
            expected, received = "a value", "nothing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            name = str(detail["loc"][-1])
            # It may be a field elsewhere.
            close_names = difflib.get_close_matches(name, _field_names(model) - {name}, n=1, cutoff=0.5)
            expected, remedy = "no such field", f"Did you mean {close_names[0]!r}?" if close_names else "Remove it."
        case "string_pattern_mismatch" if context["pattern"] == NAME:
            expected = "a lower-case name of letters, digits and underscores"
        case "string_pattern_mismatch":
            expected = f"text that matches {context['pattern']}"
        case "too_short" | "too_long" | "string_too_short" | "string_too_long":
            expected, received = f"a length of {_format_bound(context)}", str(len(detail["input"]))
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            expected = _format_bound(context)
        case "int_type" | "int_parsing" | "int_from_float":
            expected = "an integer"
        case "float_type" | "float_parsing":
            expected = "a number"
        case "string_type":
            expected = "a text"
        case "tuple_type" | "list_type":
            expected = "an array"
    what = f"{what}: {field}" if field else what
    return InvalidInput(f"{what}: expected {expected}, received {received}. {remedy}")


def _format_bound(context: dict[str, Any]) -> str:
    """Format a bound of a pydantic error in words."""
    words = {"min_length": "at least", "max_length": "at most", "ge": "at least", "gt": "more than", "le": "at most"}
    return next(f"{word} {context[name]}" for name, word in (words | {"lt": "less than"}).items() if name in context)


short_repr = reprlib.Repr()
short_repr.maxstring = short_repr.maxother = 80
"""Formats received values in messages, shortened in the middle."""


@functools.cache
def _field_names(model: type[Model]) -> set[str]:
    """Return the names of all fields of a schema and of its parts."""
    schema = model.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return {name for part in parts for name in part.get("properties", {})}


def wrong_field(field: str, expected: str, received: str, remedy: str = "") -> pydantic_core.PydanticCustomError:
    """Return an error for a validator to raise, which `to_errors` converts to one of the project.

    Args:
        field: the field's name.
        expected: what it should be.
        received: what it is.
        remedy: what to do; may be empty.

    Returns:
        The error.

    Example:
        >>> wrong_field("seed", "a seed of its own", "0").context["expected"]
        'a seed of its own'
    """
    return pydantic_core.PydanticCustomError(
        "offaxis",
        "{field}: expected {expected}, received {received}",
        {"field": field, "expected": expected, "received": received, "remedy": remedy},
    )
