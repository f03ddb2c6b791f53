"use strict";
(() => {
  const views = [...document.querySelectorAll(".view")];
  const recordView = document.getElementById("/record");
  let recordsByKey = null; // a promise, once somebody asks for a record

  // ------------------------------------------------------------------ small helpers

  /** An element; text always becomes text, never markup. */
  function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

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
    return h("dl", { class: "pairs" }, entries.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, valueNode(value)))));
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
    return new Map(records.map((record) => [record.key.join("/"), whole(record)]));
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
    const foot = [["mean", record.mean], ["deviation", record.std]].map(([name, values]) => [name, ...values.map((value, column) => aligned(column, value))]);
    return table("Each measure in each test fold, from the stored predictions; sample deviation", ["repeat.fold", ...record.measures.map(([, title]) => title)], lines, foot);
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

  /** The printed cells that lead here, read from the tables of this page. */
  function cellPart(record) {
    const links = [...document.querySelectorAll(".table tr:not(.beside) a.m")].filter((link) => link.getAttribute("href") === record.route);
    const lines = links.map((link) => {
      const grid = link.closest("table");
      const column = grid.tHead.rows[0].cells[link.closest("td").cellIndex].textContent;
      const [, paper, , id] = link.closest(".table").id.split("/");
      const block = link.closest("tbody").querySelector(".block").textContent;
      const cell = link.closest("div");
      const text = (selector) => (cell.querySelector(selector)?.textContent || "").trim();
      const verdict = `${text(".v b")} ${cell.dataset.v.replace("-", " ")}`;
      const band = (cell.querySelector(".v").title || "").replace("band ", "");
      return [h("a", { href: address(paper, "table", id) }, `${paper}, Table ${id}`), block, column, text(".m"), text(".p"), text(".v em"), band, verdict];
    });
    if (!lines.length) return h("p", null, "No printed number stands for this unit.");
    return table("What the papers print for this unit", ["table", "data set", "measure", "measured", "printed", "deviation", "band", "verdict"], lines);
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
    const [protocol, dataset, method] = record.key;
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

  /** A table that fits lets its head stick to the window; a wider one scrolls in its own box. */
  function freeWhatFits() {
    const boxes = [...document.querySelectorAll(".view.on .scroll.box")];
    boxes.forEach((box) => box.classList.remove("free"));
    const fits = boxes.map((box) => box.scrollWidth <= box.clientWidth); // one layout for all
    boxes.forEach((box, index) => box.classList.toggle("free", fits[index]));
  }

  function filterCells(form) {
    const section = form.closest(".view");
    const boxes = [...form.querySelectorAll("input[name=verdict]")];
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = plain(form.elements.text.value).split(/\s+/).filter(Boolean);
    const matches = (row) => words.every((word) => plain(row.dataset.find).includes(word));
    let visible = 0;
    let total = 0;
    if (!boxes.length) {
      for (const row of section.querySelectorAll("tr[data-find]")) {
        const on = matches(row);
        row.classList.toggle("gone", !on);
        visible += on;
        total += 1;
      }
      form.querySelector("output").value = `${visible} of ${total}`;
      return;
    }
    for (const part of section.querySelectorAll(".table")) {
      let partVisible = 0;
      for (const body of part.querySelectorAll("tbody")) {
        let bodyVisible = 0;
        for (const row of body.querySelectorAll("tr[data-find]")) {
          let on = 0;
          const textMatches = matches(row);
          for (const cell of row.querySelectorAll("td")) {
            const numbers = [...cell.querySelectorAll("[data-v]")];
            const chosen = numbers.filter((number) => wanted.has(number.dataset.v)).length;
            cell.classList.toggle("off", numbers.length > 0 && chosen === 0);
            on += textMatches ? chosen : 0;
            if (!row.classList.contains("beside")) {
              total += numbers.length;
              visible += textMatches ? chosen : 0;
            }
          }
          row.classList.toggle("gone", on === 0);
          bodyVisible += on;
        }
        body.classList.toggle("gone", bodyVisible === 0);
        partVisible += bodyVisible;
      }
      part.classList.toggle("gone", partVisible === 0);
    }
    freeWhatFits(); // other rows, other widths
    form.querySelector("output").value = visible === total ? `all ${total} cells` : `${visible} of ${total} cells`;
  }

  function showOnly(section, slug) {
    const form = section.querySelector("form.filter");
    if (!form) return;
    form.reset();
    if (slug) for (const box of form.querySelectorAll("input[name=verdict]")) box.checked = box.value === slug;
    filterCells(form);
  }

  for (const form of document.querySelectorAll("form.filter")) {
    form.addEventListener("input", () => filterCells(form));
    form.addEventListener("reset", () => setTimeout(() => filterCells(form)));
    form.addEventListener("submit", (event) => event.preventDefault());
    filterCells(form);
  }

  // ------------------------------------------------------------------ routes

  function open(view, focus) {
    for (const other of views) other.classList.toggle("on", other === view);
    freeWhatFits();
    const place = view.id.slice(1) === "record" ? "records" : view.id.slice(1);
    for (const link of document.querySelectorAll("header.site a")) {
      if (link.getAttribute("href") === "#/" + place) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const heading = view.querySelector("h1");
    document.title = view.id === "/" ? "Printed and measured: ldlrepro report" : `${heading.textContent} · ldlrepro report`;
    if (focus && heading) heading.focus({ preventScroll: true });
    document.body.dataset.shown = location.hash; // records take a moment; browser tests wait for this
  }

  function go(arriving) {
    let hash = location.hash;
    if (!hash.startsWith("#/")) {
      if (!arriving && hash) return; // the skip link stays in its view
      hash = "#/";
    }
    const parts = hash.slice(2).split("/").map(decodeURIComponent);
    const [first, second] = parts;
    if (first === "record" && parts.length > 1) {
      showRecord(parts.slice(1).join("/"), !arriving);
      return;
    }
    const target = document.getElementById("/" + parts.join("/"));
    const view = target && target.closest(".view");
    if (!view || view === recordView) {
      open(document.getElementById("/nowhere"), !arriving);
      return;
    }
    open(view, !arriving);
    if (!arriving && history.state && "y" in history.state) {
      scrollTo(0, history.state.y); // back to where the reader was, filters as they were
      return;
    }
    for (const note of view.querySelectorAll(".here")) note.classList.remove("here");
    if (second === "show") {
      showOnly(view, parts[2]);
      target.scrollIntoView();
    } else if (target === view) {
      scrollTo(0, 0);
    } else {
      if (second === "table") showOnly(view, "");
      if (second === "note") target.classList.add("here");
      target.scrollIntoView();
      (target.querySelector("[tabindex]") || target).focus({ preventScroll: true });
    }
  }

  addEventListener("resize", freeWhatFits);
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
