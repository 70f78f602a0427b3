"""pins.py - tables of pages whose last column names tests: a link to a file, and a text that is in it."""
import re


def cells_of(line, head):
    """The cells of a row; nothing for other lines, and for a table's first row, which begins with `head`."""
    if line.startswith("| ") and not line.startswith(f"| {head} |"):
        yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def rows(page, head):
    """The cells of each row of a page."""
    for line in page.read_text(encoding="utf-8").splitlines():
        yield from cells_of(line, head)


def pins(cell):
    """(path, text) of each test that a cell names."""
    return re.findall(r"\]\(([^)]+)\) `([^`]+)`", cell)


def gone(page, cell):
    """What is wrong with the tests that a cell names."""
    for path, text in pins(cell):
        file = page.parent / path
        if not file.exists() or text not in file.read_text(encoding="utf-8"):
            yield f"{path} has no {text}"
