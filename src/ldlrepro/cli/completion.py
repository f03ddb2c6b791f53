"""The verb that completes words in a shell. What there is to complete comes from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from ldlrepro.cli.verb import takes, verb

SCRIPTS = {
    "bash": r"""_ldlrepro() {
    local line="${COMP_LINE:0:COMP_POINT}" typed="${COMP_WORDS[COMP_CWORD]}"
    case "$typed" in "@" | "=" | ":") typed="" ;; esac
    local word="${line##* }"
    mapfile -t COMPREPLY < <(ldlrepro completion bash --line "$line" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]#"${word%"$typed"}"}")
}
complete -o default -F _ldlrepro ldlrepro
""",
    "zsh": r"""#compdef ldlrepro
_ldlrepro() {
    local -a found
    found=("${(@f)$(ldlrepro completion zsh --line "${LBUFFER}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _ldlrepro ldlrepro
""",
    "fish": r"""complete -c ldlrepro -f -a '(ldlrepro completion fish --line (commandline -cp))'
complete -c ldlrepro -n 'string match -q "*[/~.]*" -- (commandline -ct)' -F
""",
}
"""Shell -> the lines that its start file needs."""
KINDS = {
    "paper": "paper_ids",
    "table": "paper_ids",
    "dataset": "data_set_ids",
    "data": "data_set_ids",
    "method": "method_ids",
    "protocol": "protocols",
}
"""Argument -> where the project has what it may be."""


@verb(
    takes("shell", choices=sorted(SCRIPTS), help="your shell"),
    takes("--line", help=argparse.SUPPRESS),
    examples=["ldlrepro completion bash"],
)
def completion(args: argparse.Namespace) -> int:
    """Print what makes the Tab key of a shell complete verbs, options and ids.

    For bash, write `eval "$(ldlrepro completion bash)"` into ~/.bashrc; for zsh, the same with zsh
    into ~/.zshrc after compinit. For fish, save the output as
    ~/.config/fish/completions/ldlrepro.fish.
    """
    if args.line is None:
        print(SCRIPTS[args.shell], end="")
    else:
        print("\n".join(candidates(args.line)))
    return 0


def candidates(line: str) -> list[str]:
    """Return what the last word of a command line may be."""
    from ldlrepro.cli.parser import MODULES, verb_of

    words = line.split()[1:]
    if not line or line[-1].isspace():
        words.append("")
    *before, last = words or [""]
    if not before:
        return _starting(last, [*MODULES, "--help", "--version"])
    if before[0] not in MODULES:
        return []
    actions = [a for a in verb_of(before[0]).parser()._actions if a.help != argparse.SUPPRESS]
    if last.startswith("-"):
        return _starting(last, (name for a in actions for name in a.option_strings))
    action = _expected(actions, before[1:])
    if action is None:
        return []
    known = [str(choice) for choice in action.choices or ()] or _ids(action.dest, last)
    return _starting(last, known)


def _expected(actions: Sequence[argparse.Action], before: Sequence[str]) -> argparse.Action | None:
    """Return the argument that the next word belongs to."""
    options = {name: action for action in actions for name in action.option_strings}
    places = [action for action in actions if not action.option_strings]
    at, option = 0, None
    for word in before:
        if word.startswith("-"):
            option = options.get(word)
            option = option if option is not None and option.nargs != 0 else None
        elif option is not None:
            option = option if option.nargs in ("+", "*") else None
        else:
            at += 1
    if option is not None:
        return option
    several = [action for action in places if action.nargs in ("+", "*")]
    return places[at] if at < len(places) else several[-1] if several else None


def _ids(argument: str, typed: str) -> Iterable[str]:
    """Return the ids that an argument may be; of cells those of the paper that was typed."""
    from ldlrepro.catalogue import from_environment

    project = from_environment()
    if argument in KINDS:
        return list(getattr(project, KINDS[argument]))
    if argument != "cell":
        return []
    paper, slash, _ = typed.partition("/")
    if not slash or paper not in project.paper_ids:
        return [f"{paper.id}/" for paper in project.real_papers()]
    from ldlrepro.plan import Plan

    parts = ("paper", "table", "dataset", "setting", "method", "metric")
    rows = Plan(project).published(project.paper(paper))
    return ["/".join(row[part] for part in parts if row[part]) for row in rows]


def _starting(typed: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(typed)]
