"""Print the code lines of the three packages: lines that hold more than docstrings, comments and blanks."""

import ast
import io
import tokenize
from pathlib import Path

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
PACKAGES = ("benchmark_data", "leaderboard", "baselines")


def code_lines(source: str) -> int:
    """Count the lines of a module that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {n for t in tokens if t.type not in LAYOUT for n in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        # A string that stands alone is documentation: of a module, class, function or constant.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


if __name__ == "__main__":
    total = 0
    for package in PACKAGES:
        counts = {path: code_lines(path.read_text("utf-8")) for path in sorted(Path(package).rglob("*.py"))}
        folders: dict[str, int] = {}
        for path, count in counts.items():
            folders[str(path.parent)] = folders.get(str(path.parent), 0) + count
        for folder, count in sorted(folders.items()):
            print(f"{count:>7,}  {folder}")
        print(f"{sum(counts.values()):>7,}  {package}, {len(counts)} files")
        total += sum(counts.values())
    print(f"{total:>7,}  in all")
