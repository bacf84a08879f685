"""The package is a stack: a module imports only from its own layer or those below."""

import ast
from pathlib import Path

import labelwise

ROOT = Path(labelwise.__file__).parent
LAYERS = [
    "errors",
    "metric_words",
    "own_code",
    "names",
    "tables",
    "pools",
    "runtime",
    "program_names",
    "programs",
    "numerics",
    "inputs",
    "codec",
    "types",
    "likelihoods",
    "survey",
    "beliefs",
    "estimands",
    "lookahead",
    "policies",
    "diagnostics",
    "evaluation",
    "simulation",
    "datasets",
    "figures",
    "campaign",
    "report",
    "cli",
]

# A campaign hands itself to what shows it.
CALLED_BACK = {("campaign.py", "report")}


def imported_modules(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "use absolute imports: this test reads them"
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_imports_point_downwards():
    checked = 0
    for file in ROOT.rglob("*.py"):
        layer = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer in ("__init__", "__main__"):
            continue
        for module in imported_modules(ast.parse(file.read_text())):
            if module.startswith("labelwise."):
                below = module.split(".")[1]
                if (file.name, below) in CALLED_BACK:
                    continue
                assert LAYERS.index(below) <= LAYERS.index(layer), f"{file} imports {below}"
                checked += 1
    assert checked > 50


def test_every_module_belongs_to_a_layer():
    found = {path.name.removesuffix(".py") for path in ROOT.iterdir()} - {
        "__init__",
        "__main__",
        "__pycache__",
    }
    assert found == set(LAYERS)


def test_every_public_name_loads():
    assert len(labelwise.__all__) <= 30
    for name in labelwise.__all__:
        assert getattr(labelwise, name).__name__ == name
