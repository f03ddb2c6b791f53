"""Reads a table of somebody's own for the arena, and says what stands in it."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl.comparison.compare import LEAST_ROWS
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.data.csv_tables import DECIMAL_COMMA, SEPARATORS

if TYPE_CHECKING:
    import pandas as pd

LEAST_GROUPS = 3
NAMES = 12
"""Columns up to which an error suggests a name for each."""
COLUMNS = 20
"""Columns that an error lists at most."""
NEARLY = 0.999
"""Correlation from which on a feature counts as a copy of a label."""
KIB, NOT_TEXT = 1024, {0, 1, 2, 3, 4, 5, 6}
"""The start of a file that is looked at, and bytes that no table of text has."""
FORMATS = ".csv, .tsv, .parquet or .mat"
TOO_LONG = re.compile(r"Expected (?P<wanted>\d+) fields in line (?P<line>\d+), saw (?P<found>\d+)")
NOT_CLOSED = re.compile(r"EOF inside string starting at row (?P<row>\d+)")
"""Complaints of pandas, which counts rows from the line of the column names, its row 0."""


@dataclass(frozen=True)
class OwnTable:
    """Features and distributions, row by row, with what was noticed."""

    X: pd.DataFrame
    D: pd.DataFrame
    groups: np.ndarray | None
    seen: str
    """One sentence: how large it is."""
    imports: str
    """Import lines of ``code``."""
    code: str
    """Lines of Python that read X and D."""
    remarks: list[str] = field(default_factory=list)


def read_own(
    path: Path, labels: Sequence[str], groups: str | None, ignore: Sequence[str]
) -> OwnTable:
    """Read a table whose columns ``labels`` are the degrees; of a .mat file, a matrix of them."""
    table, reading, labels = _table(path, list(labels))
    if table.empty:
        raise UserError(f"{path}: the table has no rows, only the names of its columns")
    dropped = [*ignore, *([groups] if groups else [])]
    _demand_columns(path, table, labels, dropped)
    if len(labels) < 2:
        raise UserError("--labels needs at least two columns, such as --labels happy,sad,angry")
    if twice := [name for name in dropped if name in labels]:
        raise UserError(f"{path}: the column '{twice[0]}' is a label already; name it only once")
    remarks: list[str] = []
    if groups and (gaps := table[groups].isna().to_numpy()).any():
        place = f"{_line(path, int(gaps.argmax()))}, column '{groups}' is empty"
        raise UserError(f"{path}: {place}. Each row needs a group.")
    of = table[groups].to_numpy() if groups else None
    table = table.drop(columns=dropped)
    _demand_numbers(path, table, labels)
    if (endless := np.isinf(table.to_numpy(dtype=np.float64))).any():
        row, column = np.argwhere(endless)[0]
        place = f"{_line(path, row)}, column '{table.columns[column]}' has an infinite number"
        raise UserError(f"{path}: {place}. Leave the cell empty, and the row is left out.")
    kept = table.notna().all(axis=1).to_numpy()
    _note_left_out(kept, "have gaps", remarks)
    degrees = table[labels].to_numpy(dtype=np.float64)
    negative = (degrees < 0) & kept[:, None]
    if negative.any():
        row, label = np.argwhere(negative)[0]
        place = f"{_line(path, row)}, column '{labels[label]}' has {degrees[row, label]:g}"
        raise UserError(f"{path}: {place}. The degrees of labels are 0 or more.")
    positive = np.nan_to_num(degrees).sum(axis=1) > 0
    _note_left_out(positive | ~kept, "have labels that are all zero", remarks)
    kept = kept & positive
    table, of = table[kept].reset_index(drop=True), None if of is None else of[kept]
    demand_groups(of, f"{path}: the column '{groups}'")
    if len(table) < LEAST_ROWS:
        few = f"{path}: {len(table)} rows are too few to compare methods; {LEAST_ROWS} are needed."
        raise UserError(" ".join([few, *remarks]))
    D = table[labels].astype(np.float64)
    sums = D.sum(axis=1)
    _note_sums(path, np.flatnonzero(kept)[np.abs(sums - 1) > 1e-3], len(table), remarks)
    D = D.div(sums, axis=0)
    if np.allclose(D, D.iloc[0]):
        said = f"{path}: all rows have the same labels, so there is nothing to learn."
        raise UserError(" ".join([said, *remarks]))
    X = table.drop(columns=labels).astype(np.float64)
    if X.columns.empty:
        raise UserError(f"{path}: every column is a label or ignored; no feature is left")
    remarks += [
        f"The feature {name} and the labels sum to one number. If it is a label, too, name it in "
        "--labels."
        for name in X.columns
        if np.ptp(X[name] + sums) < 1e-3 * np.ptp(X[name])
    ]
    code = _code(reading, labels, dropped)
    return _looked_at(X, D, of, groups, code, remarks)


def _demand_columns(
    path: Path, table: pd.DataFrame, labels: Sequence[str], dropped: Sequence[str]
) -> None:
    """Refuse a question without labels, or with columns that are not there."""
    columns = [str(name) for name in table.columns]
    if len(columns) > COLUMNS:
        columns[COLUMNS // 2 : -COLUMNS // 2] = ["..."]
    held = f"It has: {', '.join(columns)}"
    if not labels:
        numbers = table.select_dtypes("number").drop(columns=dropped, errors="ignore")
        fractions_last = sorted(numbers, key=lambda name: numbers[name].dtype.kind == "f")
        such = ",".join(map(str, fractions_last[-3:])) or "A,B,C"
        raise UserError(
            f"{path}: which columns are the labels? {held}. Type those that are, such as "
            f"`ldlrepro arena {shlex.quote(str(path))} --labels {shlex.quote(such)}`"
        )
    for name in [*labels, *dropped]:
        if name not in table.columns:
            meant = nearest(name, map(str, table.columns))
            raise UserError(f"{path}: there is no column '{name}'.{meant} {held}")


def demand_groups(groups: np.ndarray | None, named: str) -> None:
    """Refuse groups that are too few: one is tested, one held out, and one fitted."""
    if groups is not None and 0 < (count := len(np.unique(groups))) < LEAST_GROUPS:
        raise UserError(
            f"{named} must tell at least {LEAST_GROUPS} persons or things apart, to keep each "
            f"whole; different values: {count}. Name another column, or none."
        )


def _code(reading: str, labels: Sequence[str], dropped: Sequence[str]) -> tuple[str, str]:
    """Return the imports and the lines that read the table again."""
    own = reading.startswith("of_matrices")
    home = "from ldlrepro.data.own_table import of_matrices" if own else "import pandas as pd"
    return f"{home}\n", (
        f"table = {reading}.drop(columns={list(dropped)!r}).dropna()\n"
        f"labels = {list(labels)!r}\ntable = table[table[labels].sum(axis=1) > 0]\n"
        "D = table[labels].div(table[labels].sum(axis=1), axis=0)\n"
        "X = table.drop(columns=labels)\n"
    )


def _table(path: Path, labels: list[str]) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the table, the call that reads it, and the names of the columns of its labels."""
    import pandas as pd

    kind, place = path.suffix.lower(), str(path.resolve())
    try:
        if kind == ".parquet":
            return pd.read_parquet(path), f"pd.read_parquet({place!r})", labels
        if kind == ".mat":
            return _of_matlab(path, labels)
        if kind in (".csv", ".tsv", ".txt"):
            told = _dialect(path)
            reading = ", ".join([repr(place), *(f"{key}={value!r}" for key, value in told.items())])
            table = pd.read_csv(path, **told)
            _demand_one_cell_a_column(path, told["sep"], labels)
            return table, f"pd.read_csv({reading})", labels
    except pd.errors.ParserError as error:
        raise UserError(f"{path}: cannot be read as a table: {_why(str(error))}") from None
    except UnicodeDecodeError:
        raise UserError(
            f"{path}: is not text in UTF-8. Save it as UTF-8, or type "
            f"`iconv -f latin1 -t utf-8 {path} > utf8{path.suffix}`"
        ) from None
    except (ValueError, OSError) as error:
        whole = "" if path.suffix != ".mat" else " Is the file whole?"
        raise UserError(f"{path}: cannot be read: {error}.{whole}") from None
    raise UserError(f"{path}: the arena reads {FORMATS}")


def _why(complaint: str) -> str:
    """Say in people's words what pandas complains of."""
    if long := TOO_LONG.search(complaint):
        return f"line {long['line']} has {long['found']} cells where {long['wanted']} are expected"
    if open_quote := NOT_CLOSED.search(complaint):
        return f"line {int(open_quote['row']) + 1} has a quotation mark that is never closed"
    return complaint.strip()


def _dialect(path: Path) -> dict[str, Any]:
    """Return how a text file is to be read: separator, decimal sign and sign of a gap."""
    with open(path, "rb") as binary:
        start = binary.read(KIB)
    if any(byte in start for byte in NOT_TEXT):
        zipped = " but a zip archive, as .xlsx files are" if start.startswith(b"PK") else ""
        raise UserError(f"{path}: not a table of text{zipped}. The arena reads {FORMATS}.")
    with open(path, encoding="utf-8-sig") as handle:
        head, rows = handle.readline(), handle.read()
    if not (head + rows).strip():
        raise UserError(f"{path}: the file is empty")
    separator = max(SEPARATORS, key=head.count)
    cells = rows.replace("\n", separator).split(separator)
    commas = separator != "," and any(DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells)
    decimal = "," if commas else "."
    told = {"sep": separator, "decimal": decimal, "na_values": ["?"], "encoding": "utf-8-sig"}
    return told | ({"skipinitialspace": True} if f"{separator} " in head else {})


def names_wanted(head: Sequence[str], separator: str, labels: Collection[str] = ()) -> str:
    """Say what to write where the first line has numbers in place of names; else return ''.

    Names may be numbers. So where ``labels`` are known, none of them may stand there, and half of
    the line is enough.
    """
    least = len(head) / 2 if labels else len(head)
    if set(labels) & set(head) or sum(map(_is_number, head)) < least:
        return ""
    names = [f"x{number}" for number in range(1, len(head) + 1)]
    if len(names) > NAMES:
        names[3:-1] = ["..."]
    return (
        f"line 1 has numbers where the names of the {len(head)} columns must stand. Put a line "
        f"above it, such as {separator.join(names)}, and name the labels by these names"
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _demand_one_cell_a_column(path: Path, separator: str, labels: Sequence[str]) -> None:
    """Refuse what pandas would shift, fill or rename: too many or few cells, and equal names."""
    with open(path, encoding="utf-8-sig", newline="") as handle:
        rows = csv.reader(handle, delimiter=separator)
        head = [name.strip() for name in next(rows)]
        if wanted := names_wanted(head, separator, labels):
            raise UserError(f"{path}: {wanted}.")
        if twice := [name for name in head if name and head.count(name) > 1]:
            raise UserError(f"{path}: two columns are called '{twice[0]}'")
        for row in rows:
            if len(row) != len(head) and "".join(row).strip():
                found = f"line {rows.line_num} has {len(row)} cells"
                raise UserError(f"{path}: {found} where {len(head)} are expected")


def _of_matlab(path: Path, labels: list[str]) -> tuple[pd.DataFrame, str, list[str]]:
    """Return a matrix of labels and the widest other of its rows, as one table."""
    from scipy.io import loadmat

    stored = {name: value for name, value in loadmat(path).items() if np.ndim(value) == 2}
    if len(labels) != 1 or labels[0] not in stored:
        known = ", ".join(name for name in stored if not name.startswith("__"))
        raise UserError(f"{path}: --labels names the matrix of the labels, one of: {known}")
    name = labels[0]
    rows = stored[name].shape[0]
    others = {
        other: value.shape[1]
        for other, value in stored.items()
        if other != name and value.shape[0] == rows
    }
    if not others:
        raise UserError(f"{path}: no other matrix has {rows} rows, which features would need")
    features = max(others, key=lambda other: others[other])
    table = of_matrices(path, features, name)
    reading = f"of_matrices({str(path.resolve())!r}, {features!r}, {name!r})"
    return table, reading, [str(column) for column in table.columns[others[features] :]]


def of_matrices(path: str | Path, features: str, labels: str) -> pd.DataFrame:
    """Return two matrices of a .mat file side by side, their columns numbered."""
    import pandas as pd
    from scipy.io import loadmat

    stored = loadmat(path)
    parts = []
    for name in (features, labels):
        matrix = stored[name]
        matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
        parts.append(pd.DataFrame(matrix).add_prefix(f"{name}_"))
    return pd.concat(parts, axis=1)


def _demand_numbers(path: Path, table: pd.DataFrame, labels: Sequence[str]) -> None:
    text = [str(name) for name in table.select_dtypes(exclude=["number", "bool"]).columns]
    if not text:
        return
    if bad := [name for name in text if name in labels]:
        raise UserError(f"{path}: {_first_text(path, table, bad[0])}. A label needs numbers.")
    raise UserError(
        f"{path}: {_first_text(path, table, text[0])}. Write numbers, or leave columns with text "
        f"out: --ignore {','.join(text)}"
    )


def _first_text(path: Path, table: pd.DataFrame, column: str) -> str:
    """Say where a column first has something else than a number."""
    import pandas as pd

    values = table[column]
    row = int((pd.to_numeric(values, errors="coerce").isna() & values.notna()).to_numpy().argmax())
    return f"{_line(path, row)}, column '{column}' has the text '{values.iloc[row]}'"


def _line(path: Path, row: int) -> str:
    """Say where a row stands; the first line of a text file names the columns."""
    text = path.suffix.lower() not in (".parquet", ".mat")
    return f"line {row + 2}" if text else f"row {row + 1}"


def _note_left_out(kept: np.ndarray, why: str, remarks: list[str]) -> None:
    if gone := int((~kept).sum()):
        remarks.append(f"{gone} of {len(kept)} rows {why} and are left out.")


def _note_sums(path: Path, wrong: np.ndarray, count: int, remarks: list[str]) -> None:
    """Say which rows do not sum to 1; ``wrong`` has their places in the file."""
    if len(wrong) == count:
        remarks.append("Labels do not sum to 1; each row is divided by its sum.")
    elif len(wrong):
        some = len(wrong) > 1
        where = f"{'the first: ' * some}{_line(path, wrong[0])}"
        remarks.append(
            f"{len(wrong)} of {count} rows {'do' if some else 'does'} not sum to 1 ({where}); "
            "each row is divided by its sum."
        )


def _looked_at(
    X: pd.DataFrame,
    D: pd.DataFrame,
    groups: np.ndarray | None,
    name: str | None,
    code: tuple[str, str],
    remarks: list[str],
) -> OwnTable:
    """Describe the table, warn of what misleads, and keep rows with equal features together."""
    seen = f"{len(X):,} rows, {X.shape[1]:,} features, {D.shape[1]} labels"
    if groups is not None:
        different = len(np.unique(groups))
        seen += f", {different:,} different values of {name}"
        if different == len(X):
            remarks.append(
                f"Each row has a value of its own in {name}: --groups {name} keeps no rows "
                "together, and the column is no feature."
            )
    if zeros := float((D.to_numpy() == 0).mean()):
        seen += f"; {zeros:.0%} of the degrees are zero"
    still = [str(column) for column in X.columns if X[column].nunique() == 1]
    if still:
        remarks.append(f"Features that never change: {', '.join(still[:5])} ({len(still)} in all).")
    for feature, label in _copies(X, D):
        remarks.append(
            f"The feature {feature} is nearly the label {label}. If it is not known before the "
            f"labels, leave it out: --ignore {feature}"
        )
    _, number = np.unique(X.to_numpy(), axis=0, return_inverse=True)
    number = number.ravel()
    if twins := len(X) - int(number.max()) - 1:
        if groups is None:
            groups = number
            remarks.append(f"Rows that repeat the features of another: {twins}, tested together.")
        else:
            remarks.append(f"Rows that repeat the features of another: {twins}.")
    elif groups is None and name is None:
        remarks.append(
            "If several rows belong to one person or thing, name its column: --groups COLUMN"
        )
    return OwnTable(X, D, groups, seen + ".", *code, remarks)


def _copies(X: pd.DataFrame, D: pd.DataFrame) -> list[tuple[str, str]]:
    """Return features that go up and down with a label, row by row."""
    with np.errstate(invalid="ignore", divide="ignore"):
        Z = (X.to_numpy() - X.to_numpy().mean(axis=0)) / X.to_numpy().std(axis=0)
        L = (D.to_numpy() - D.to_numpy().mean(axis=0)) / D.to_numpy().std(axis=0)
        alike = np.abs(np.nan_to_num(Z.T @ L / len(X)))
    return [
        (str(X.columns[i]), str(D.columns[j]))
        for i, j in zip(*np.nonzero(alike > NEARLY), strict=True)
    ][:5]
