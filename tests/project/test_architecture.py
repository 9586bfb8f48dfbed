"""The arrows of the architecture: a part imports only from the rows below its own."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "headstart"
ROWS = [
    {"errors", "choices", "cut_text", "files", "randomness"},
    {"locks"},
    {"corpora", "tokenizers"},
    {"batches", "models"},
    {"objectives", "decoding"},
    {"training", "evaluation", "checkpoints"},
    {"transfers", "reports"},
    {"pipeline"},
    {"apps"},
]
HEIGHT = {part: height for height, parts in enumerate(ROWS) for part in parts}
# Within the lowest row: errors are said by everyone, and choices says them for tables.
BEDROCK = {"errors", "choices"}


def imported_parts(path: Path) -> set[str]:
    """Returns the parts of our package that `path` imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    found = {name.split(".")[1] for name in names if name.startswith(f"{PACKAGE.name}.")}
    return found & set(HEIGHT)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if part_of(path) not in {"__init__", "__main__"}]


def test_every_part_has_a_row():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix in {"", ".py"}}
    assert parts - {"__init__", "__main__", "__pycache__", "py"} <= set(HEIGHT)


def test_imports_point_down():
    upward = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in modules()
        for other in imported_parts(path) - {part_of(path)}
        if HEIGHT[other] >= HEIGHT[part_of(path)] and other not in BEDROCK
    ]
    assert not upward, upward


def test_only_apps_prints_or_exits():
    loud = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in modules()
        if part_of(path) != "apps"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.exit", "exit"}
    ]
    assert not loud, loud


def test_no_file_is_over_400_lines_and_no_function_over_60():
    large = []
    for path in PACKAGE.rglob("*.py"):
        if len(path.read_text().splitlines()) > 400:
            large.append(str(path))
        large += [
            f"{path.name}:{node.name}"
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 60
        ]
    assert not large, large


def test_no_file_executes_data():
    forbidden = {"eval", "exec", "pickle.load", "pickle.loads", "torch.load"}
    found = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in forbidden
    ]
    assert not found, found
