"""MLflow's own page for a store, which opens on the papers' tables.

Left to itself, MLflow leads from its list of experiments to its pages for language models, whatever
the kind of an experiment is.
"""

from __future__ import annotations

import os
import re
import socket
import warnings
from collections.abc import Callable
from pathlib import Path

from ldlrepro.core.errors import UserError, nearest
from ldlrepro.track.browser import open_once_it_answers
from ldlrepro.track.layout import FIRST_VIEW_TAG, TRAINING, address_of
from ldlrepro.track.store import (
    QUICK_HTTP,
    QUIET,
    checked_uri,
    connect,
    environment,
    sqlite_file,
    told_to_the_user,
    without_password,
)

HOST = "127.0.0.1"
# Everybody who opens a table would be asked at once whether to override it.
SCRIPT = """<style>[data-assistant-ui], div[role][data-component-id$=".shared_view.banner"]
{ display: none !important }</style><script>
// MLflow's assistant would open beside a first page, over a quarter of the window.
localStorage.setItem("mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true");
// The choice that MLflow's switch "Model training" keeps.
localStorage.getItem("mlflow.workflowType_v1") ??
  localStorage.setItem("mlflow.workflowType_v1", JSON.stringify("machine_learning"));
location.hash ||= "#/experiments";
// Descriptions stand there whole.
new MutationObserver(() => {
  document.querySelector('[data-testid="show-comment-toggle"][aria-label^="Expand"]')?.click();
}).observe(document, { childList: true, subtree: true });
// A click on a paper opens its first table; in a new tab the click is MLflow's.
addEventListener("click", async (event) => {
  const href = event.target.closest?.("a")?.getAttribute("href") ?? "";
  const id = href.match(/#\\/experiments\\/(\\d+)(\\?|$)/)?.[1];
  if (!id || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const answer = await fetch(`ajax-api/2.0/mlflow/experiments/get?experiment_id=${id}`);
  const tags = (await answer.json()).experiment.tags ?? [];
  const view = tags.find((tag) => tag.key === "FIRST_VIEW_TAG")?.value;
  location.hash = `#/experiments/${id}/runs` + (view ? `?viewStateShareKey=${view}` : "");
}, true);
</script>""".replace("FIRST_VIEW_TAG", FIRST_VIEW_TAG)


def page_of(tracking_uri: str, paper: str = "") -> str:
    """Return what follows a store's address: all papers, or the view of the first table of one."""
    if not paper:
        return f"/#/experiments?{TRAINING}"
    pages = pages_of(tracking_uri)
    if paper not in pages:
        there = f"There are: {', '.join(pages)}; `ldlrepro ui` opens them. " if pages else ""
        raise UserError(
            f"MLflow has no runs of '{paper}' yet.{nearest(paper, pages)} {there}"
            f"`ldlrepro sync {paper}` copies its records into MLflow; then type this again."
        )
    return pages[paper]


def pages_of(tracking_uri: str) -> dict[str, str]:
    """Return what follows a store's address for the first table of every paper that it tracks."""
    uri = checked_uri(tracking_uri)
    with environment(QUIET | QUICK_HTTP), told_to_the_user(uri, "PAPER"):
        experiments = {e.name: e for e in connect(uri).search_experiments()}
    pages = {}
    for paper in sorted(experiments):
        found = experiments[paper]
        if view := found.tags.get(FIRST_VIEW_TAG):
            pages[paper] = f"/{address_of(found.experiment_id, view)}"
    return pages


def serve(
    tracking_uri: str,
    port: int,
    say: Callable[[str], None],
    paper: str = "",
    browser: bool = False,
) -> None:
    """Show a store to this machine alone until Ctrl-C; a server has a page already."""
    uri = checked_uri(tracking_uri)
    if uri.startswith("http"):
        address = re.sub("//[^/@]*@", "//", uri) + page_of(uri, paper)  # the browser asks
        say(f"open {address} in a browser")
        if browser:
            open_once_it_answers(address)
        return
    database = sqlite_file(uri)
    if database and not database.is_file():
        raise UserError(
            f"MLflow has no runs yet: there is no {database}. "
            f"`ldlrepro sync {paper or 'mslp'}` copies a paper's records into it; then type this "
            "again."
        )
    _check_free(port)
    address = f"http://{HOST}:{port}{page_of(uri, paper)}"
    say(
        f"{address}\nshows {without_password(uri)}, to this machine only. Ctrl-C ends it.\n"
        "From another machine, never by opening the port to the network: there, type\n"
        f"  ssh -N -L {port}:{HOST}:{port} USER@{os.uname().nodename}\n"
        "and open the same address."
    )
    if database and not paper:
        say("The papers, each at its first table:")
        for name, page_of_paper in pages_of(uri).items():
            say(f"  {name}: http://{HOST}:{port}{page_of_paper}")
    if browser:
        open_once_it_answers(address)
    run_mlflow(uri, port)


def run_mlflow(uri: str, port: int) -> None:
    """Be MLflow's server in this process, until Ctrl-C."""
    os.environ.update({**QUIET, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", **os.environ})
    warnings.filterwarnings("ignore", message="starlette.middleware.wsgi is deprecated")
    with told_to_the_user(uri, "PAPER"):
        import uvicorn  # before MLflow, which refuses other hosts only where it finds this
        from mlflow.server import app, constants, handlers

        os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = uri
        handlers.initialize_backend_stores(uri, uri)
        from mlflow.server import fastapi_app
    index = (Path(str(app.static_folder)) / "index.html").read_text(encoding="utf-8")
    page = index.replace("<head>", f"<head>{SCRIPT}", 1)
    app.view_functions["serve"] = lambda: page
    uvicorn.run(fastapi_app.app, host=HOST, port=port, log_level="warning")


def _check_free(port: int) -> None:
    """Refuse a port that is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OverflowError:
            raise UserError(f"port {port}: ports end at 65535. Type `ldlrepro ui`.") from None
        except OSError as error:
            raise UserError(
                f"port {port}: {error.strerror}. Type `ldlrepro ui --port {port + 1}`."
            ) from None
