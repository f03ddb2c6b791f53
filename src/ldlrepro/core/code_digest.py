"""Digests of what code does, wherever it lies.

A digest starts at some definitions and follows every name that they use: through imports, into
functions, classes, constants and further modules of ours. Each definition enters as a syntax tree,
in which the number of its target, in the order of discovery, replaces such a name. So moving or
renaming a module or a function changes nothing, but swapping two imports changes the digest.
Docstrings, comments, annotations and texts of errors are left out, because they decide nothing.
Names from other packages enter in full; records hold the versions of packages.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
OURS = ("ldl", "ldlrepro")
EFFECTS = ""
"""Stands for the statements of a module that run when it is imported and define nothing."""
_LEFT_OUT = {"ctx", "kind", "type_comment", "type_params", "returns"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)

Follow = Callable[[str], bool]
"""Tells by its name whether a module outside ``OURS`` is followed."""


def code_digest(
    *starts: str, without: tuple[str, ...] = (), follow: Follow = lambda name: False
) -> str:
    """Return the digest of definitions and all that they use.

    Parameters
    ----------
    starts : str
        ``module:name`` for one definition, ``module`` for all of a module.
    without : tuple of str
        Modules and packages that decide nothing here; their names enter as mere names.
    follow : callable
        Tells whether a module outside ``OURS`` is followed.
    """
    return _Walk(without, follow).digest(starts)


@dataclass(frozen=True)
class _Target:
    """The target of a name: a definition of a followed module, a module, or a thing outside."""

    module: str
    name: str | None
    """None for the module itself."""
    outside: bool = False

    @property
    def full_name(self) -> str:
        return self.module if self.name is None else f"{self.module}.{self.name}"


@dataclass
class _Module:
    """The top level of a source file."""

    name: str
    package: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, _Target] = field(default_factory=dict)

    def add(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.imports |= _imported(statement, self.package)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._define(statement.name, statement)
            elif isinstance(statement, ast.If | ast.Try) and _only_imports(statement):
                self.add(statement.body)
            elif not _decides_nothing(statement):
                for name in sorted(_stored(statement)) or [EFFECTS]:
                    self._define(name, statement)

    def _define(self, name: str, statement: ast.stmt) -> None:
        self.definitions.setdefault(name, []).append(statement)


class _Walk:
    """Discovers definitions from the starts on and numbers them."""

    def __init__(self, without: tuple[str, ...], follow: Follow) -> None:
        self.without = tuple(f"{name}." for name in without)
        self.names = _Names(follow)
        self.numbers: dict[tuple[str, str], int] = {}
        self.pending: list[tuple[str, str]] = []

    def digest(self, starts: tuple[str, ...]) -> str:
        texts = [self._begin(start) for start in starts]
        begun = len(texts)
        while len(texts) < begun + len(self.pending):
            module, name = self.pending[len(texts) - begun]
            texts.append(self._text(*_template(self.names, module, name)))
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()

    def _begin(self, start: str) -> str:
        """Return what stands for a start. A name that does not exist stands for itself."""
        module, _, name = start.partition(":")
        target = self.names.resolved(module, name) if name else _Target(module, None)
        if target.outside or _read(target.module) is None:
            return f"missing {start}"
        return self.reference(target)

    # ------------------------------------------------------------------ definitions

    def reference(self, target: _Target) -> str:
        """Return what replaces a name in a syntax tree."""
        if target.outside:
            return f"outside {target.full_name}"
        if f"{target.module}.".startswith(self.without):
            return f"not decisive {target.name}"
        if target.name is None:
            return f"module {self._whole(target.module)}"
        return f"definition {self._reach(target)}"

    def _reach(self, target: _Target) -> int:
        assert target.name is not None
        key = (target.module, target.name)
        if key not in self.numbers:
            source = _read(target.module)
            if source is None or target.name not in source.definitions:
                raise LookupError(f"{target.module} has no '{target.name}'")
            self.numbers[key] = len(self.pending)
            self.pending.append(key)
            if EFFECTS in source.definitions:
                self._reach(_Target(target.module, EFFECTS))
        return self.numbers[key]

    def _whole(self, name: str) -> list[int]:
        source = _read(name)
        if source is None:
            raise LookupError(f"there is no module {name}")
        return [self._reach(_Target(name, each)) for each in source.definitions]

    def _text(self, parts: tuple[str, ...], targets: tuple[_Target, ...]) -> str:
        """Put references between the parts of a template."""
        references = [self.reference(target) for target in targets]
        return "".join(part for pair in zip(parts, [*references, ""], strict=True) for part in pair)


@dataclass(frozen=True)
class _Names:
    """Leads names to their definitions."""

    follow: Follow

    def resolve(self, target: _Target) -> _Target:
        """Follow an import to where the thing is defined."""
        if not self._is_followed(target.module):
            return _Target(target.module, target.name, outside=True)
        if target.name is None:
            return target if _read(target.module) else _Target(target.module, None, True)
        return self.resolved(target.module, target.name)

    def resolved(self, module: str, name: str) -> _Target:
        source = _read(module)
        if source is not None:
            if name in source.definitions:
                return _Target(module, name)
            imported = source.imports.get(name)
            # A package that imports its own module names it by itself.
            if imported is not None and imported != _Target(module, name):
                return self.resolve(imported)
        if _read(f"{module}.{name}") is not None:
            return _Target(f"{module}.{name}", None)
        return _Target(module, name, outside=True)

    def _is_followed(self, module: str) -> bool:
        return module.partition(".")[0] in OURS or self.follow(module)


_MARK = "\0"
"""Stands in a template for a reference."""


@cache
def _template(names: _Names, module: str, name: str) -> tuple[tuple[str, ...], tuple[_Target, ...]]:
    """Return the syntax tree of a definition as text, cut at its references to targets."""
    source = _read(module)
    assert source is not None
    dump = _Dump(names, source)
    text = dump.text(source.definitions[name])
    return tuple(text.split(_MARK)), tuple(dump.targets)


class _Dump:
    """Writes syntax trees of one module as text, with marks in place of global names."""

    def __init__(self, names: _Names, module: _Module) -> None:
        self.names, self.module = names, module
        self.targets: list[_Target] = []

    def text(self, statements: list[ast.stmt]) -> str:
        scope = _Scope(self.module)
        return "\n".join(self._node(statement, scope, top=True) for statement in statements)

    def _node(self, node: ast.AST, scope: _Scope, top: bool = False) -> str:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return ""
        if isinstance(node, ast.Name | ast.Attribute):
            target = self._target(node, scope)
            if target is not None:
                self.targets.append(target)
                return f"<{_MARK}>"
        if isinstance(node, ast.Raise):
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            return f"Raise({self._node(kind, scope) if kind else ''})"
        if isinstance(node, ast.AnnAssign):
            shared = ast.unparse(node.annotation).startswith("ClassVar")
            value = self._node(node.value, scope) if node.value else ""
            return f"AnnAssign({self._node(node.target, scope)},{value},{shared})"
        if isinstance(node, ast.arg):
            return f"arg({node.arg})"
        inner = scope
        if isinstance(node, _SCOPES):
            inner = scope.within(node)
        parts = []
        for name, value in ast.iter_fields(node):
            if name in _LEFT_OUT or value is None or value == []:
                continue
            if name == "name" and top and isinstance(node, ast.stmt):
                continue  # references to it are numbers
            # Decorators and defaults of a definition belong to the scope around it.
            there = scope if name in ("decorator_list", "bases", "keywords", "defaults") else inner
            parts.append(f"{name}={self._value(value, there)}")
        return f"{type(node).__name__}({','.join(parts)})"

    def _value(self, value: object, scope: _Scope) -> str:
        if isinstance(value, ast.AST):
            return self._node(value, scope)
        if isinstance(value, list):
            return f"[{';'.join(self._value(v, scope) for v in value if not _is_text(v))}]"
        return repr(value)

    def _target(self, node: ast.AST, scope: _Scope) -> _Target | None:
        """Return what a global name or a chain of module attributes refers to."""
        if isinstance(node, ast.Name):
            found = scope.target(node.id)
            return self.names.resolve(found) if found else None
        if isinstance(node, ast.Attribute):
            owner = self._target(node.value, scope)
            if owner is None or owner.name is not None:
                return None
            if owner.outside:
                return _Target(owner.module, node.attr, outside=True)
            return self.names.resolve(_Target(owner.module, node.attr))
        return None


class _Scope:
    """Names that are global at a place, including imports of the functions around it."""

    def __init__(
        self,
        module: _Module,
        imports: dict[str, _Target] | None = None,
        bound: frozenset[str] = frozenset(),
    ) -> None:
        self.module, self.imports, self.bound = module, imports or {}, bound

    def within(self, node: ast.AST) -> _Scope:
        imports = dict(self.imports)
        inside = list(_own_nodes(node))
        for inner in inside:
            if isinstance(inner, ast.Import | ast.ImportFrom):
                imports |= _imported(inner, self.module.package)
        bound = set() if isinstance(node, ast.ClassDef) else _bound(node, inside)
        kept = {name: target for name, target in imports.items() if name not in bound}
        return _Scope(self.module, kept, frozenset((self.bound | bound) - set(kept)))

    def target(self, name: str) -> _Target | None:
        if name in self.imports:
            return self.imports[name]
        if name in self.bound:
            return None
        if name in self.module.definitions:
            return _Target(self.module.name, name)
        return self.module.imports.get(name)


# ---------------------------------------------------------------------- reading source files


@cache
def _read(name: str) -> _Module | None:
    path = source_file(name)
    if path is None:
        return None
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    module = _Module(name, package)
    module.add(ast.parse(path.read_text(encoding="utf-8")).body)
    return module


def source_file(name: str) -> Path | None:
    """Return the source file of a module; None for what is not a module or has no source."""
    first, *rest = name.split(".")
    if first in OURS:
        return _file_in(SOURCES, [first, *rest])
    try:
        # Look for the first part only: looking inside a package would import the package.
        spec = importlib.util.find_spec(first)
    except ValueError:  # a module that was not imported in the ordinary way
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    found = (_file_in(Path(folder), rest) for folder in spec.submodule_search_locations or ())
    return next((path for path in found if path), None)


def _file_in(folder: Path, parts: list[str]) -> Path | None:
    base = folder.joinpath(*parts)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imported(statement: ast.Import | ast.ImportFrom, package: str) -> dict[str, _Target]:
    """Return what an import statement binds."""
    if isinstance(statement, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: _Target(
                alias.name if alias.asname else alias.name.partition(".")[0], None
            )
            for alias in statement.names
        }
    base = statement.module or ""
    if statement.level:
        parents = package.split(".")
        kept = parents[: len(parents) - statement.level + 1]
        base = ".".join([*kept, *([base] if base else [])])
    return {alias.asname or alias.name: _Target(base, alias.name) for alias in statement.names}


def _only_imports(statement: ast.If | ast.Try) -> bool:
    """Tell whether a block holds only imports, for type checkers or that may fail."""
    return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in statement.body)


def _decides_nothing(statement: ast.stmt) -> bool:
    """Tell whether a statement is a docstring, or runs only when the module is a program."""
    if _is_text(statement) or isinstance(statement, ast.Pass):
        return True
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# ---------------------------------------------------------------------- scopes


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without those of scopes inside it."""
    pending = list(ast.iter_child_nodes(node))
    while pending:
        inner = pending.pop()
        yield inner
        if not isinstance(inner, _SCOPES):
            pending += ast.iter_child_nodes(inner)


def _bound(node: ast.AST, inside: list[ast.AST]) -> set[str]:
    """Return the names that a function or comprehension binds itself, in the nodes inside it."""
    bound: set[str] = set()
    free: set[str] = set()
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [each for each in (arguments.vararg, arguments.kwarg) if each]
        bound |= {argument.arg for argument in every}
    for inner in inside:
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
            bound.add(inner.id)
        elif isinstance(inner, _NAMED) and inner.name:
            bound.add(inner.name)
        elif isinstance(inner, ast.Global | ast.Nonlocal):
            free |= set(inner.names)
    return bound - free


def _stored(statement: ast.stmt) -> set[str]:
    """Return the global names that a top-level statement binds or changes."""
    names = {
        inner.id
        for inner in [statement, *_own_nodes(statement)]
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                names.add(target.id)
    return names
