"""The notebook of examples/, executed from its first cell to its last.

By IPython in this process, which has the packages imported already; a kernel of its own would import
them all again. What a cell shows is what IPython's formatters make of its last value for a browser."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
interactive = pytest.importorskip("IPython.core.interactiveshell")
capture = pytest.importorskip("IPython.utils.capture")

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "analyst.ipynb"


def test_the_notebook_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert not any(cell.outputs for cell in cells), "outputs go stale: save without"
    shell = interactive.InteractiveShell()
    shell.history_manager.enabled = False
    formatter = shell.display_formatter
    formatter.active_types = formatter.format_types
    shown, printed = [], ""
    for cell in cells:
        with capture.capture_output(display=False) as said:
            done = shell.run_cell(cell.source)
        done.raise_error()
        printed += said.stdout
        if done.result is not None:
            shown.append(formatter.format(done.result)[0])
    assert any("text/html" in forms for forms in shown)
    assert "any two samples" in printed
