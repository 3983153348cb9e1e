"""The package is what its documents, its stubs and its names say."""

import doctest
import importlib
import inspect
import json
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

import warpfold

FLAGS = doctest.NORMALIZE_WHITESPACE
ROOT = pathlib.Path(__file__).parent.parent


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


def test_the_first_lines_of_the_readme_run(capsys):
    text = (ROOT / "README.md").read_text()
    first, *others = blocks(ROOT / "README.md")
    assert text.split("```python\n")[0].count("\n") <= 3, "the README opens with them"
    assert len([line for line in first.splitlines() if line]) == 6
    scope = {}
    exec(first, scope)
    assert capsys.readouterr().out
    for block in others:
        exec(block, scope)


@pytest.mark.skipif(not (ROOT.parent / "docs/python.md").exists(), reason="no clone")
def test_the_table_of_calls_runs():
    """Both columns, and with equal results where they are one call."""
    text = (ROOT.parent / "docs/python.md").read_text()
    scope = {}
    exec(blocks(ROOT.parent / "docs/python.md")[0], scope)
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \|", text, re.MULTILINE)
    assert len(rows) > 15
    for theirs, ours in rows:
        result = eval(ours, scope)
        if theirs.startswith(("np.", "x[")):
            expected = eval(theirs, scope)
            pairs = zip(result, expected) if isinstance(result, tuple) else [(result, expected)]
            for a, b in pairs:
                assert np.array_equal(a, b), (ours, theirs)


def test_the_table_of_functions_is_whole():
    text = (ROOT / "README.md").read_text()
    listed = set(
        re.findall(r"\b\w+\b", " ".join(re.findall(r"^\| .* \| (`.*`) \|", text, re.MULTILINE)))
    )
    named = {name for name in warpfold.__all__ if not inspect.isclass(getattr(warpfold, name))}
    named |= {"Nodes", "Reducer", "Scanner"}
    assert named <= listed, named - listed


@pytest.mark.skipif(not (ROOT.parent / "docs/python.md").exists(), reason="no clone")
def test_what_the_document_shows_is_so():
    # A fence ends what is printed.
    text = (ROOT.parent / "docs/python.md").read_text().replace("```", "")
    scope = {"np": np, "wf": warpfold}
    test = doctest.DocTestParser().get_doctest(text, scope, "python.md", None, 0)
    done = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert done.attempted > 15 and done.failed == 0


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(warpfold.__path__)]
)
def test_the_examples_of_docstrings_are_so(name):
    module = importlib.import_module(f"warpfold.{name}")
    done = doctest.testmod(module, globs={}, optionflags=FLAGS)
    assert done.failed == 0


@pytest.mark.parametrize("name", warpfold.__all__)
def test_every_name_is_documented_with_an_example(name):
    thing = getattr(warpfold, name)
    if issubclass(thing, tuple) if inspect.isclass(thing) else False:
        assert thing.__doc__
        return
    assert ">>> " in thing.__doc__
    assert inspect.signature(thing)


def test_nothing_public_is_left_out():
    public = {name for name, thing in vars(warpfold).items() if callable(thing) and name[0] != "_"}
    assert public == set(warpfold.__all__)


def test_types_are_checked():
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "-p", "warpfold"],
        capture_output=True,
        text=True,
        cwd=ROOT.parent,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_stubs_are_those_of_the_native_module():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "warpfold._native", "--ignore-missing-stub"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(warpfold.__file__).parent / "py.typed").exists()
    assert re.fullmatch(r"\d+\.\d+\.\d+", warpfold.__version__)


def test_the_example_with_processes_runs(tmp_path):
    data = np.random.default_rng(0).standard_normal((1 << 22) + 12_345, "float32")
    data.tofile(tmp_path / "samples.f32")
    command = [sys.executable, ROOT / "examples/processes.py", tmp_path / "samples.f32"]
    shown = subprocess.check_output(command, text=True)
    assert np.float32(shown.strip()) == warpfold.sum(data)


def test_the_example_with_dask_runs():
    pytest.importorskip("dask.array")
    command = [sys.executable, ROOT / "examples/dask_array.py"]
    shown = subprocess.check_output(command, text=True)
    assert len({line.split(": ")[1] for line in shown.splitlines()}) == 1


def test_the_example_with_torchrun_runs():
    pytest.importorskip("torch.distributed")
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    shown = subprocess.check_output([*run, ROOT / "examples/torchrun.py"], text=True)
    assert len({line.split(": ")[1] for line in shown.splitlines()}) == 1
    assert len(shown.splitlines()) == 2


def test_the_notebook_runs():
    """Its cells, without Jupyter. They assert what the pictures show."""
    pytest.importorskip("matplotlib").use("Agg")
    notebook = json.loads((ROOT / "examples/tour.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [o for cell in cells for o in cell["outputs"] if "image/png" in o.get("data", {})]
    assert len(shown) == 5
    scope = {}
    for cell in cells:
        exec("".join(cell["source"]), scope)
    scope["plt"].close("all")
