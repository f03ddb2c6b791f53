"use strict";
(() => {
  const views = [...document.querySelectorAll(".view")];
  const recordView = document.getElementById("/record");
  let recordsByKey = null; // a promise, once somebody asks for a record

  // ------------------------------------------------------------------ small helpers

  const address = (...parts) => "#/" + parts.map((part) => encodeURIComponent(part).replaceAll("%40", "@")).join("/");
  const shown = (value) => (value === null || value === undefined ? "" : String(value));

  /** Hashes that are the same in all folds are cut in tables by the style, yet copied whole. */
  function valueNode(value) {
    const text = shown(value);
    return /^[0-9a-f]{16,}…?$/.test(text) ? h("code", { class: "long", title: text }, text) : text;
  }

  function facts(pairs) {
    const list = h("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value === "" || value === null || value === undefined) continue;
      const node = value instanceof Node || Array.isArray(value) ? value : valueNode(value);
      list.append(h("dt", null, name), h("dd", null, node));
    }
    return list;
  }

  /** Short pairs side by side. */
  function pairs(part) {
    const entries = Object.entries(part.same).filter(([, value]) => value !== "");
    return h("dl", { class: "pairs" }, entries.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, valueNode(value ?? "none")))));
  }

  function table(caption, head, lines, foot) {
    const cell = (tag) => (value, index) =>
      h(tag, { class: typeof value === "number" ? "number" : null, scope: tag === "th" ? (index ? null : "row") : null }, value instanceof Node ? value : valueNode(value));
    const line = (values) => h("tr", null, values.map((value, index) => cell(index ? "td" : "th")(value, index)));
    const numeric = (index) => lines.some((values) => typeof values[index] === "number");
    return h("div", { class: "scroll" },
      h("table", { class: "plain record" },
        h("caption", null, caption),
        h("thead", null, h("tr", null, head.map((text, index) => h("th", { scope: "col", class: numeric(index) ? "number" : null }, text)))),
        h("tbody", null, lines.map(line)),
        foot && foot.length ? h("tfoot", null, foot.map(line)) : null));
  }

  // ------------------------------------------------------------------ records

  async function unpackRecords() {
    const { records, shared } = await unpacked("record-data");
    const whole = (record) => ({ ...record, measures: shared[record.measures], machine: shared[record.machine], versions: shared[record.versions] });
    return new Map(records.map((record) => [record.key, whole(record)]));
  }

  async function showRecord(key, focus) {
    const asked = location.hash;
    recordsByKey ??= unpackRecords();
    const record = (await recordsByKey).get(key);
    if (location.hash !== asked) return; // the reader has gone on
    if (record) drawRecord(record);
    open(record ? recordView : document.getElementById("/nowhere"), focus);
    scrollTo(0, 0);
  }

  function foldNames(record) {
    const { same, each } = record.folds;
    const count = Math.max(1, ...Object.values(each).map((column) => column.length));
    const at = (name, index) => (name in each ? each[name][index] : same[name]);
    return Array.from({ length: count }, (_, index) => `${at("repeat", index)}.${at("fold", index)}`);
  }

  /** What differs between folds as a table; the caller lists what is the same. */
  function byFold(record, caption, part, skip = []) {
    const names = Object.keys(part.each).filter((name) => !skip.includes(name));
    if (!names.length) return null;
    const lines = foldNames(record).map((fold, index) => [fold, ...names.map((name) => part.each[name][index])]);
    return table(caption, ["repeat.fold", ...names], lines);
  }

  function parameterPart(record, title, part) {
    if (!Object.keys(part.same).length && !Object.keys(part.each).length) return null;
    return [h("h2", null, title), pairs(part), byFold(record, "What differs between folds", part)];
  }

  /** Five significant digits of the mean, for a whole column. */
  function decimals(mean) {
    return mean ? Math.min(9, Math.max(0, 4 - Math.floor(Math.log10(Math.abs(mean))))) : 4;
  }

  function scorePart(record) {
    if (!record.measures.length) return h("p", null, "No fold has a prediction.");
    const names = foldNames(record);
    const aligned = (column, value) => (typeof value === "number" ? value.toFixed(decimals(record.mean[column])) : "–");
    const lines = names.map((fold, index) => [fold, ...record.scores.map((values, column) => aligned(column, values[index]))]);
    const foot = [["mean", record.mean], ["standard deviation", record.std]].map(([name, values]) => [name, ...values.map((value, column) => aligned(column, value))]);
    const one = linksTo(record).some((link) => seedsOf(link.closest("div"))) ? "This is one run; the cells above are means over seeds. " : "";
    return table(`${one}Each measure in each test fold, from the stored predictions, with mean and standard deviation`, ["repeat.fold", ...record.measures.map(([, title]) => title)], lines, foot);
  }

  function selectionPart(record) {
    const selection = record.selection;
    if (!selection) return null;
    const lines = selection.candidates.map(([values, mean, folds]) => [...values.map(shown), mean, ...folds]);
    const cut = selection.total > lines.length ? ` The best ${lines.length} of ${selection.total}; all stand in the record file.` : "";
    return [h("h2", null, "Selection"),
      table(`${selection.by} on validation rows, best first; test folds take no part.${cut}`,
        [...selection.names, "mean", ...foldNames(record)], lines)];
  }

  /** Links of the printed cells that lead here, in the tables of this page. */
  const linksTo = (record) => [...document.querySelectorAll(".table tr:not(.beside) a.m")].filter((link) => link.getAttribute("href") === record.route);

  /** Says that a cell is the mean over seeds, where it is. */
  const seedsOf = (cell) => ("seeds" in cell.dataset ? ` (mean over ${cell.dataset.seeds} seeds)` : "");

  /** The printed cells that lead here. */
  function cellPart(record) {
    const links = linksTo(record);
    const reasons = new Map();
    const lines = links.map((link) => {
      const grid = link.closest("table");
      const column = grid.tHead.rows[0].cells[link.closest("td").cellIndex].textContent;
      const [, paper, , id] = link.closest(".table").id.split("/");
      const block = link.closest("tbody").querySelector(".block span").firstChild.textContent;
      const cell = link.closest("div");
      const text = (selector) => (cell.querySelector(selector)?.textContent || "").trim();
      const verdict = `${text(".v b")} ${cell.dataset.v.replace("-", " ")}${marksOf(cell).join("")}`;
      const band = (cell.querySelector(".v").title || "").replace("band ", "");
      reasonsOf(cell).forEach((reason) => reasons.set(reason.textContent, reason));
      return [h("a", { href: address(paper, "table", id) }, `${paper}, Table ${id}`), block, column, text(".m") + seedsOf(cell), text(".p"), text(".v em"), band, verdict];
    });
    if (!lines.length) return h("p", null, "No printed number stands for this unit.");
    return [table("What the papers print for this unit", ["table", "data set", "measure", "measured", "printed", "difference", "band", "verdict"], lines),
      reasons.size ? h("h3", null, "Reasons and remarks") : null, [...reasons.values()]];
  }

  /** What a cell is marked with, besides that it holds. */
  const marksOf = (cell) => [...cell.querySelectorAll("small:not(:has(b)), .few")].map((mark) => ` (${mark.textContent})`);

  const doubtLink = () => h("a", { href: document.body.dataset.doubt }, "Doubt this number");

  /** The notes of a cell as paragraphs. */
  function reasonsOf(cell) {
    const notes = [...cell.querySelectorAll(".note")].map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    return notes.map((note) => h("p", null, [...note.querySelector(".reason").cloneNode(true).childNodes]));
  }

  /** What the verdict of a cell means and what to type next, where no note says more. */
  function meaningOf(cell) {
    const label = cell.closest(".view").querySelector(`input[value="${cell.dataset.v}"]`).closest("label");
    const name = cell.id.replace("/cell/", "");
    const command = `ldlrepro explain ${/[^\w/.:@+-]/.test(name) ? `"${name}"` : name}`;
    return h("p", null, label.title, " ", h("code", null, command), " shows its settings and what other settings give.");
  }

  /** Mark a place, and tell below its row what is to be known of it. */
  function mark(place, ...told) {
    const row = place.closest("tr");
    place.classList.add("here");
    if (told.length) row.after(h("tr", { class: "told" }, h("td", { colspan: row.cells.length }, h("div", null, ...told))));
  }

  /** What a cell says in full, its reasons, and where to go on. */
  function tell(cell) {
    const text = (selector) => (cell.querySelector(selector)?.textContent || "").trim();
    const record = cell.querySelector("a.m")?.getAttribute("href");
    const reasons = reasonsOf(cell);
    const grid = cell.closest("table");
    const head = grid.tHead.rows[0].cells[cell.closest("td").cellIndex];
    const what = [cell.closest("tbody").querySelector(".block span"), head.querySelector("button") || head].map((part) => part.firstChild); // short tables have no buttons
    const where = what.map((node) => node.textContent.trim()).join(", ");
    const numbers = [text(".m") ? `Measured ${text(".m")}${seedsOf(cell)}` : "Not measured", `printed ${text(".p").slice(1, -1)}: `];
    mark(cell.closest("td"),
      h("p", null, `${where}. ${numbers.join(", ")}`, h("b", null, text(".v")), ...marksOf(cell), "holds" in cell.dataset ? ". The number holds." : null), reasons.length ? reasons : meaningOf(cell),
      h("p", null, record ? [h("a", { href: record }, "Record"), " · "] : null, doubtLink()));
  }

  /** Take away what the last visited place was marked with. */
  function forget() {
    for (const note of document.querySelectorAll(".here")) note.classList.remove("here");
    document.querySelector("tr.told")?.remove();
  }

  function errorPart(record) {
    if (!record.errors.length) return null;
    return [h("h2", null, "Errors"), record.errors.map(([repeat, fold, text]) =>
      h("details", { open: record.errors.length === 1 ? "" : null }, h("summary", null, `repeat ${repeat}, fold ${fold}`), h("pre", { class: "error", tabindex: "0" }, text)))];
  }

  function fileLinks(record) {
    return record.files.map(([name, href], index) => [index ? ", " : "", href ? h("a", { href }, name) : name]).flat();
  }

  function drawRecord(record) {
    const [protocol, dataset, method] = record.key.split("/");
    const kept = Object.entries(record.folds.same).filter(([name, value]) => !["repeat", "fold"].includes(name) && value !== "");
    recordView.replaceChildren(...[
      h("p", { class: "kicker" }, `record · protocol ${protocol} · data set ${dataset}`),
      h("h1", { tabindex: "-1" }, `${method} on ${dataset}`),
      facts([
        ["Source", record.source === "reference" ? "reference: the maintainers' full run" : "local: a run on this machine"],
        ["Compute again", h("pre", { tabindex: "0" }, record.command)],
        ["Log", record.log ? h("a", { href: record.log }, record.log) : "none kept"],
        ["Record files", record.files.length ? fileLinks(record) : null],
      ]),
      h("p", null, doubtLink()),
      h("h2", null, "Printed numbers"), cellPart(record),
      h("h2", null, "Scores"), scorePart(record),
      parameterPart(record, "Chosen parameters", record.params),
      selectionPart(record),
      parameterPart(record, "What the fitted model says", record.diagnostics),
      errorPart(record),
      h("h2", null, "Runs"),
      byFold(record, "Seconds of wall and processor time, peak memory in MB", record.folds, ["repeat", "fold"]),
      h("h2", null, "Provenance"),
      facts(kept.map(([name, value]) => [name.replaceAll("_", " "), value])),
      h("h3", null, "Machine"), pairs(record.machine), byFold(record, "What differs between folds", record.machine),
      h("h3", null, "Versions"), pairs(record.versions), byFold(record, "What differs between folds", record.versions),
    ].flat(2).filter((part) => part && part.textContent));
  }

  // ------------------------------------------------------------------ filters

  const WINDOWS = 2;

  /** A table that fits lets its head stick to the window; one that is wider, or many windows long, scrolls in its own box. */
  function freeWhatFits() {
    for (const box of document.querySelectorAll(".view.on .scroll, .view.on .contents")) if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0; // the keyboard scrolls it
    const boxes = [...document.querySelectorAll(".view.on .scroll.box")].filter((box) => box.clientWidth);
    boxes.forEach((box) => box.classList.remove("free"));
    const fits = boxes.map((box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= WINDOWS * window.innerHeight); // one layout for all
    boxes.forEach((box, index) => box.classList.toggle("free", fits[index]));
  }

  const count = (number) => number.toLocaleString("en");
  const narrowed = (form) => words(form).length > 0;
  const words = (form) => plain(form.elements.text.value).split(/\s+/).filter(Boolean);

  function filterRows(form) {
    const section = form.closest(".view");
    let visible = 0;
    let total = 0;
    for (const row of section.querySelectorAll("tr[data-find]")) {
      const on = words(form).every((word) => plain(row.dataset.find).includes(word));
      row.classList.toggle("gone", !on);
      visible += on;
      total += 1;
    }
    for (const table of section.querySelectorAll("table[data-most]")) showMost(table, narrowed(form));
    form.querySelector("output").value = `${count(visible)} of ${count(total)}`;
  }

  function filterCells(form) {
    const section = form.closest(".view");
    const boxes = [...form.querySelectorAll("input[name=verdict]")];
    if (!boxes.length) {
      filterRows(form);
      return;
    }
    const holding = form.elements.holds.checked;
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const asked = words(form);
    const someVerdicts = holding || boxes.some((box) => box.checked !== box.defaultChecked);
    let visible = 0;
    let total = 0;
    for (const part of section.querySelectorAll(".table")) {
      let partVisible = 0;
      for (const body of part.querySelectorAll("tbody")) {
        let bodyVisible = 0;
        for (const row of body.querySelectorAll("tr[data-find]")) {
          let on = 0;
          const beside = row.classList.contains("beside");
          const kept = row.classList.contains("mine") || body.classList.contains("all");
          const textMatches = asked.every((word) => plain(row.dataset.find).includes(word));
          for (const cell of row.querySelectorAll("td")) {
            const numbers = [...cell.querySelectorAll("[data-v]")];
            const chosen = numbers.filter((number) => (wanted.has(number.dataset.v) && (!holding || "holds" in number.dataset)) || (beside && kept)).length;
            cell.classList.toggle("off", numbers.length > 0 && chosen === 0);
            on += textMatches ? chosen : 0;
            if (!beside) {
              total += numbers.length;
              visible += textMatches ? chosen : 0;
            }
          }
          row.classList.toggle("gone", on === 0);
          if (!beside || wanted.has("measured")) bodyVisible += on;
        }
        body.classList.toggle("gone", bodyVisible === 0);
        partVisible += bodyVisible;
      }
      part.classList.toggle("gone", partVisible === 0);
      if (partVisible && (asked.length || someVerdicts)) part.querySelector("details").open = true;
    }
    freeWhatFits(); // other rows, other widths
    form.querySelector("output").value = visible === total ? `all ${count(total)} cells` : `${count(visible)} of ${count(total)} cells`;
  }

  const inSight = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top > 0 && bottom < innerHeight;
  };

  function firstHit(form) {
    const rows = form.closest(".view").querySelectorAll("tr[data-find]:not(.gone)");
    return [...rows].find((row) => row.checkVisibility());
  }

  /** Bring the first row that a filter leaves into sight, with the form above it. */
  function showHits(form) {
    const hit = narrowed(form) && firstHit(form);
    if (hit && !inSight(hit)) form.scrollIntoView({ block: "start" });
  }

  const KINDS = { met: ["exact", "reproduced"], missed: ["near", "better", "worse"], unjudged: ["not-run", "quoted", "misprint"] };

  function showOnly(section, slug) {
    const form = section.querySelector("form.filter");
    if (!form) return;
    form.reset();
    if (slug === "holds") form.elements.holds.checked = true;
    else if (slug) for (const box of form.querySelectorAll("input[name=verdict]")) box.checked = (KINDS[slug] || [slug]).includes(box.value);
    filterCells(form);
  }

  // ------------------------------------------------------------------ long tables

  /** A long table shows its first rows until somebody asks for more or filters it. */
  function showMost(table, all) {
    const most = all || table.dataset.all ? Infinity : Number(table.dataset.most);
    let seen = 0;
    for (const row of table.tBodies[0].rows) {
      const on = !row.classList.contains("gone");
      seen += on;
      row.classList.toggle("later", on && seen > most);
    }
    const button = table.closest(".scroll").nextElementSibling;
    button.hidden = seen <= most;
    button.textContent = `Show all ${count(seen)} rows`;
  }

  for (const table of document.querySelectorAll("table[data-most]")) {
    const button = h("button", { type: "button", class: "more" });
    button.addEventListener("click", () => { table.dataset.all = "yes"; showMost(table); freeWhatFits(); });
    table.closest(".scroll").after(button);
    showMost(table);
  }

  /** The lines of a data set without a printed number are folded; a button in its head unfolds them. */
  for (const body of document.querySelectorAll(".table tbody")) {
    const beside = body.querySelectorAll("tr.beside:not(.mine)").length;
    if (!beside) continue;
    const text = () => (body.classList.contains("all") ? "hide" : "show") + ` ${beside} without printed number`;
    const button = h("button", { type: "button", class: "more" }, text());
    button.addEventListener("click", () => {
      body.classList.toggle("all");
      button.textContent = text();
      filterCells(body.closest(".view").querySelector("form.filter"));
    });
    body.querySelector(".block span").append(" ", button);
  }

  for (const form of document.querySelectorAll("form.filter")) {
    form.addEventListener("input", () => { filterCells(form); showHits(form); });
    form.addEventListener("reset", () => setTimeout(() => filterCells(form)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const hit = firstHit(form);
      if (!hit) return;
      hit.scrollIntoView({ block: "center" });
      hit.querySelector("a")?.focus({ preventScroll: true });
    });
    filterCells(form);
  }

  // ------------------------------------------------------------------ sorting

  /** A number where the text begins with one, else the text; what is empty comes last. */
  function sortKey(cell) {
    const text = (cell?.querySelector(".m") || cell)?.textContent.replace(/(\d),(?=\d{3})/g, "$1").replace(/\u2212/g, "-").trim() || "";
    const number = /^[+-]?[\d.]+(e[+-]?\d+)?/i.exec(text);
    return number && !Number.isNaN(Number(number[0])) ? Number(number[0]) : text.toLowerCase();
  }

  function before(one, other) {
    if ((one === "") !== (other === "")) return one === "" ? 1 : -1;
    if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
    return one < other ? -1 : one > other ? 1 : 0;
  }

  /** Rows keep to their data set; a third click brings the printed order back. */
  function sort(head) {
    forget();
    const table = head.closest("table");
    const column = head.cellIndex;
    const state = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
    const order = state === undefined ? "ascending" : state;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    if (order) head.setAttribute("aria-sort", order);
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("block"));
      rows.forEach((row, index) => { row.dataset.at ??= index; });
      const keys = new Map(rows.map((row) => [row, order ? sortKey(row.cells[column]) : Number(row.dataset.at)]));
      const sign = order === "descending" ? -1 : 1;
      const empty = (row) => keys.get(row) === "";
      rows.sort((one, other) => (empty(one) || empty(other) ? 1 : sign) * before(keys.get(one), keys.get(other)) || one.dataset.at - other.dataset.at);
      body.append(...rows);
    }
    if (table.dataset.most) showMost(table);
  }

  for (const head of document.querySelectorAll("main thead th")) {
    const table = head.closest("table");
    if (table.closest("#board, .written") || table.tBodies.length === 0 || [...table.tBodies].every((body) => body.rows.length < 3)) continue;
    const button = h("button", { type: "button", class: "sort" }, [...head.childNodes]);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }

  // ------------------------------------------------------------------ menus

  const button = document.getElementById("menu");
  const menus = [...document.querySelectorAll("#parts details")];

  function close(except) {
    for (const menu of menus) if (menu !== except) menu.open = false;
    if (!except) button.setAttribute("aria-expanded", "false");
  }

  button.addEventListener("click", () => button.setAttribute("aria-expanded", String(button.ariaExpanded !== "true")));
  for (const menu of menus) menu.addEventListener("toggle", () => menu.open && close(menu));
  document.addEventListener("click", ({ target }) => { if (!target.closest("header.site") || target.closest("#parts a")) close(); });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") close(); });
  document.getElementById("jump").addEventListener("focusin", () => close()); // its list opens there

  // ------------------------------------------------------------------ routes

  /** Unfold what a place lies in, and the place itself. */
  function unfold(target) {
    const table = target.closest("tr.later")?.closest("table");
    if (table) {
      table.dataset.all = "yes";
      showMost(table);
    }
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
  }

  /** Scroll to a place once what it lies in has been unfolded and laid out. */
  function arriveAt(target, where) {
    unfold(target);
    freeWhatFits();
    target.scrollIntoView(where);
    const again = () => setTimeout(() => target.scrollIntoView(where));
    again(); // tables that were folded have their widths only then
    if (document.readyState !== "complete") addEventListener("load", again); // browsers go to the id themselves
  }

  function open(view, focus) {
    for (const other of views) other.classList.toggle("on", other === view);
    freeWhatFits();
    const place = view.id.slice(1) === "record" ? "records" : view.id.slice(1);
    for (const link of document.querySelectorAll("header.site a")) {
      if (link.hash === "#/" + place) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const heading = view.querySelector("h1");
    document.title = view.id === "/" ? "Which results can be reproduced? ldlrepro report" : `${heading.textContent} · ldlrepro report`;
    if (focus && heading) heading.focus({ preventScroll: true });
    document.body.dataset.shown = location.hash; // records take a moment; browser tests wait for this
  }

  function go(arriving) {
    let hash = location.hash;
    if (!hash.startsWith("#/")) {
      if (!arriving && hash) return; // the skip link stays in its view
      hash = "#" + views[0].id;
    }
    const parts = hash.slice(2).split("/").map(decodeURIComponent);
    const [first, second] = parts;
    if (first === "record" && parts.length > 1) {
      showRecord(parts.slice(1).join("/"), !arriving);
      return;
    }
    const target = document.getElementById("/" + parts.join("/"));
    const view = target && target.closest(".view");
    const elsewhere = view ? null : [...document.querySelectorAll("header.site nav a")].find((link) => link.hash === "#/" + (first === "cell" ? second : first));
    if (elsewhere && elsewhere.getAttribute("href")[0] !== "#") { // in another file of this report
      location.replace(elsewhere.href.split("#")[0] + hash);
      return;
    }
    if (!view || view === recordView) {
      open(document.getElementById("/nowhere"), !arriving);
      return;
    }
    open(view, !arriving);
    if (!arriving && history.state && "y" in history.state) {
      scrollTo(0, history.state.y); // back to where the reader was, filters as they were
      return;
    }
    forget();
    if (second === "show") {
      showOnly(view, parts[2]);
      target.scrollIntoView();
    } else if (target === view) {
      scrollTo(0, 0);
    } else if (first === "cell") {
      showOnly(view, "");
      tell(target);
      arriveAt(target, { block: "center", inline: "nearest" });
      target.querySelector("a")?.focus({ preventScroll: true });
    } else {
      if (second === "table") showOnly(view, "");
      const { said, type, to, there } = target.dataset;
      if (said) mark(target, h("p", null, said, " ", h("code", null, type), " tells more. ", to ? h("a", { href: to }, there) : null));
      else if (target.matches("li, tr, p")) mark(target);
      else if (target.matches("dt")) mark(target.nextElementSibling);
      arriveAt(target, { block: said ? "center" : "start" });
      (target.querySelector("[tabindex]") || target).focus({ preventScroll: true });
    }
  }

  addEventListener("resize", freeWhatFits);
  document.addEventListener("toggle", freeWhatFits, true); // what was folded had no width
  addEventListener("beforeprint", () => document.querySelectorAll(".view.on details").forEach((part) => { part.open = true; }));
  history.scrollRestoration = "manual";
  addEventListener("hashchange", () => go(false));
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#/"]');
    if (!link) return;
    if (link.hash === location.hash) go(false); // no hashchange will come
    else history.replaceState({ y: scrollY }, "");
  });
  go(true);
})();
