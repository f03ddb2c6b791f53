"use strict";
(() => {
  const choice = document.getElementById("leaders");
  if (!choice) return;
  const ROUTE = "#/leaderboard/";
  /** Shows who leads on the kind of data set that the address names. */
  function follow() {
    if (!location.hash.startsWith(ROUTE)) return;
    const chosen = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("[data-leaders]");
    if (!chosen) return;
    choice.value = chosen.dataset.leaders;
    for (const one of document.querySelectorAll("[data-leaders]")) one.hidden = one !== chosen;
    dispatchEvent(new Event("resize")); // other tables, other widths
  }
  choice.addEventListener("change", () => { history.replaceState(history.state, "", ROUTE + choice.value); follow(); });
  addEventListener("hashchange", follow);
  follow();
})();

(async () => {
  if (!document.getElementById("board-data")) return;
  const data = await unpacked("board-data");
  const form = document.getElementById("board-form");
  const place = document.getElementById("board");
  const ALPHA = 0.05;

  // ------------------------------------------------------------------ what there is

  const measures = data.measures.map(([id, title, better]) => ({ id, title, better }));
  const methods = new Map(data.methods.map(([id, title, note, own, byPrint]) => [id, { id, title, note, own, byPrint }]));
  const entries = data.entries.map(([protocol, dataset, method, fit, memory, source, values]) => ({ protocol, dataset, method, fit, memory, source, values }));
  const failures = data.failed.map(([protocol, method, datasets]) => ({ protocol, method, datasets }));
  const distinct = (values) => [...new Set(values)];
  /** Methods that the reader has ticked or unticked; the others are chosen anew for every view. */
  const wishes = new Map();
  const datasetsOff = new Set();
  let sorting = { column: 1, down: false };

  // ------------------------------------------------------------------ statistics, as in significance.py

  /** Average ranks of numbers, ties sharing theirs. */
  function ranks(values) {
    const order = values.map((_, index) => index).sort((a, b) => values[a] - values[b]);
    const found = new Array(values.length);
    for (let start = 0; start < order.length; ) {
      let end = start;
      while (end + 1 < order.length && values[order[end + 1]] === values[order[start]]) end += 1;
      for (let at = start; at <= end; at += 1) found[order[at]] = (start + end) / 2 + 1;
      start = end + 1;
    }
    return found;
  }

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const mean = (values) => sum(values) / values.length;

  /** Probabilities of the signed rank statistic of n differences without ties. */
  function signedRankDistribution(n) {
    let chances = [1];
    for (let rank = 1; rank <= n; rank += 1) {
      const next = new Array(chances.length + rank).fill(0);
      chances.forEach((chance, value) => { next[value] += chance / 2; next[value + rank] += chance / 2; });
      chances = next;
    }
    return chances;
  }

  /** Two-sided p; half of the ranks of zero differences go to either side. */
  function wilcoxon(one, other, chances) {
    const apart = one.map((value, index) => value - other[index]);
    const sizes = ranks(apart.map(Math.abs));
    const plus = sum(apart.map((value, index) => (value > 0 ? sizes[index] : value === 0 ? sizes[index] / 2 : 0)));
    const below = sum(chances.slice(0, Math.ceil(plus) + 1));
    const above = sum(chances.slice(Math.floor(plus)));
    return Math.min(1, 2 * Math.min(below, above));
  }

  function holm(p) {
    const order = p.map((_, index) => index).sort((a, b) => p[a] - p[b]);
    const corrected = new Array(p.length);
    let largest = 0;
    order.forEach((index, rank) => {
      largest = Math.max(largest, Math.min(1, (p.length - rank) * p[index]));
      corrected[index] = largest;
    });
    return corrected;
  }

  /** Upper tail of chi-squared, by recursion from 1 or 2 degrees of freedom. */
  function chiSquaredTail(x, degrees) {
    let tail = degrees % 2 ? erfc(Math.sqrt(x / 2)) : Math.exp(-x / 2);
    let term = degrees % 2 ? Math.sqrt(2 * x / Math.PI) * Math.exp(-x / 2) : (x / 2) * Math.exp(-x / 2);
    for (let k = degrees % 2 ? 3 : 4; k <= degrees; k += 2) {
      tail += term;
      term *= x / k;
    }
    return tail;
  }

  /** By its continued fraction far out, by its series near zero. */
  function erfc(x) {
    if (x < 2) {
      let term = x;
      let series = x;
      for (let n = 1; n < 60; n += 1) {
        term *= -x * x / n;
        series += term / (2 * n + 1);
      }
      return 1 - 2 / Math.sqrt(Math.PI) * series;
    }
    let fraction = x;
    for (let n = 60; n > 0; n -= 1) fraction = x + n / 2 / fraction;
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
  }

  /** p of the Friedman test of rows of ranks; null for two methods. */
  function friedman(rows) {
    const k = rows[0].length;
    const n = rows.length;
    if (k < 3) return null;
    const ties = sum(rows.map((row) => sum(distinct(row).map((rank) => {
      const times = row.filter((other) => other === rank).length;
      return times * (times * times - 1);
    }))));
    const correction = 1 - ties / (k * (k * k - 1) * n);
    if (correction === 0) return 1;
    const squares = sum(rows[0].map((_, column) => sum(rows.map((row) => row[column])) ** 2));
    return chiSquaredTail((12 / (k * n * (k + 1)) * squares - 3 * n * (k + 1)) / correction, k - 1);
  }

  const fewestDatasets = (comparisons) => 1 + Math.ceil(Math.log2(comparisons / ALPHA));

  /** Means over each family of data sets, whose members are not independent. */
  function independentRows(losses, families) {
    const members = new Map();
    families.forEach((family, index) => members.set(family, [...(members.get(family) || []), losses[index]]));
    return [...members.values()].map((own) => own[0].map((_, column) => mean(own.map((row) => row[column]))));
  }

  /** Ranks, p of all pairs, or why there is no test. Each data set has a row of losses and a family. */
  function compare(all, families) {
    const k = all[0].length;
    const everywhere = independentRows(all.map(ranks), families);
    const found = { ranks: all[0].map((_, column) => mean(everywhere.map((row) => row[column]))), p: null, friedman: null, refusal: "" };
    const losses = independentRows(all, families);
    const rows = losses.map(ranks);
    const pairs = (k * (k - 1)) / 2;
    if (!pairs) return found;
    const needed = fewestDatasets(pairs);
    if (losses.length < needed) {
      const what = pairs === 1 ? "one comparison" : `${pairs} comparisons`;
      found.refusal = `Wilcoxon with Holm's correction over ${what} needs at least ${needed} independent data sets; ${losses.length} ${losses.length === 1 ? "is" : "are"} there`;
      return found;
    }
    found.friedman = friedman(rows);
    const chances = signedRankDistribution(losses.length);
    const column = (index) => losses.map((row) => row[index]);
    const which = [];
    for (let i = 0; i < k; i += 1) for (let j = i + 1; j < k; j += 1) which.push([i, j]);
    const corrected = holm(which.map(([i, j]) => wilcoxon(column(i), column(j), chances)));
    found.p = losses[0].map(() => new Array(k).fill(1));
    which.forEach(([i, j], index) => {
      const p = found.friedman !== null && found.friedman > ALPHA ? 1 : corrected[index];
      found.p[i][j] = found.p[j][i] = p;
    });
    return found;
  }

  // ------------------------------------------------------------------ who is compared on what

  /** A data set under a protocol: where methods meet the same folds. */
  const spotOf = (entry) => `${entry.protocol}/${entry.dataset}`;
  const datasetOf = (spot) => spot.split("/")[1];
  /** The family of a data set, of which a test counts one; its own id where it has none. */
  const familyOf = (spot) => data.families[datasetOf(spot)] || datasetOf(spot);

  /** Where all of these methods have numbers; a data set counts once, in the first protocol. */
  function meetings(names, places) {
    const found = new Map();
    for (const spot of names.length ? places.get(names[0]) : []) {
      if (!found.has(datasetOf(spot)) && names.every((name) => places.get(name).has(spot))) found.set(datasetOf(spot), spot);
    }
    return [...found.values()];
  }

  /** As `compared` in leaderboard.py: methods times common data sets is largest. */
  function defaultChoice(places) {
    const names = [...places.keys()];
    const always = names.filter((name) => methods.get(name).own);
    let best = always;
    let area = 0;
    for (const fewest of distinct(names.map((name) => places.get(name).size)).sort((a, b) => b - a)) {
      const chosen = names.filter((name) => places.get(name).size >= fewest || always.includes(name));
      const size = chosen.length * meetings(chosen, places).length;
      if (size >= area) [best, area] = [chosen, size];
    }
    return { names: best, area };
  }

  /** The largest comparison that one of the chosen protocols gives. */
  function startingChoice(places) {
    let best = { names: [], area: -1 };
    for (const protocol of protocolsChosen()) {
      const inside = [...places].map(([name, spots]) => [name, new Set([...spots].filter((spot) => spot.startsWith(`${protocol}/`)))]);
      const choice = defaultChoice(new Map(inside.filter(([, spots]) => spots.size)));
      if (choice.area > best.area) best = choice;
    }
    return best.names;
  }

  /** As `_gain` in leaderboard.py: the share of the training mean's loss that is taken away. */
  function gain(mine, measure) {
    if (measures[measure].better === "higher") return null;
    const logs = mine.map((entry) => {
      const floor = entries.find((other) => spotOf(other) === spotOf(entry) && data.floors.includes(other.method))?.values[measure];
      return [floor > 0 ? Math.log(Math.max(entry.values[measure] / floor, data.least)) : NaN];
    });
    const apart = independentRows(logs, mine.map((entry) => familyOf(spotOf(entry))));
    return logs.flat().some(Number.isNaN) ? null : 1 - Math.exp(mean(apart.flat()));
  }

  /** Everything that the tables show for what is chosen in the form. */
  function outcome() {
    const measure = measures.findIndex(({ id }) => id === form.elements.measure.value);
    const sign = measures[measure].better === "higher" ? -1 : 1;
    const own = entries.filter((entry) => protocolsChosen().includes(entry.protocol) && entry.values[measure] !== null);
    const used = own.filter((entry) => !datasetsOff.has(entry.dataset));
    const cell = new Map(used.map((entry) => [`${spotOf(entry)}/${entry.method}`, entry]));
    const places = new Map();
    for (const entry of used) places.set(entry.method, (places.get(entry.method) || new Set()).add(spotOf(entry)));
    const ranked = new Map([...places].filter(([name]) => !methods.get(name).note));
    const start = startingChoice(ranked);
    const chosen = [...ranked.keys()].filter((name) => (wishes.has(name) ? wishes.get(name) : start.includes(name)));
    const common = meetings(chosen, places);
    const values = common.map((spot) => chosen.map((name) => sign * cell.get(`${spot}/${name}`).values[measure]));
    const found = common.length ? compare(values, common.map(familyOf)) : { ranks: [], p: null, friedman: null, refusal: chosen.length ? "no data set has all compared methods" : "no method is compared" };
    const failed = new Map();
    for (const { protocol, method, datasets } of failures) {
      const seen = protocolsChosen().includes(protocol) ? datasets.filter((dataset) => !datasetsOff.has(dataset)) : [];
      if (seen.length) failed.set(method, distinct([...(failed.get(method) || []), ...seen]));
    }
    for (const name of failed.keys()) if (!places.has(name)) places.set(name, new Set());
    const lines = [...places.keys()].map((name) => {
      const index = common.length ? chosen.indexOf(name) : -1;
      const mine = (common.length ? common : [...places.get(name)]).map((spot) => cell.get(`${spot}/${name}`)).filter(Boolean);
      const memory = mine.map((entry) => entry.memory).filter((peak) => peak !== null);
      const others = index < 0 || !found.p ? [] : chosen.map((_, other) => other).filter((other) => other !== index && found.p[index][other] <= ALPHA);
      const better = others.filter((other) => found.ranks[index] < found.ranks[other]).length;
      return {
        ...methods.get(name), index, ticked: chosen.includes(name),
        rank: index < 0 ? null : found.ranks[index],
        datasets: distinct([...places.get(name)].map(datasetOf)).length,
        gain: common.length && mine.length === common.length ? gain(mine, measure) : null,
        better: index < 0 || !found.p ? null : better,
        worse: index < 0 || !found.p ? null : others.length - better,
        fit: mine.length ? mean(mine.map((entry) => entry.fit)) : null,
        memory: memory.length ? Math.max(...memory) : null,
        source: distinct(mine.map((entry) => entry.source)).sort().join(", "),
        failed: failed.get(name) || [],
      };
    });
    return { measure: measures[measure], lines, common, all: distinct(own.map((entry) => entry.dataset)), found, chosen };
  }

  // ------------------------------------------------------------------ drawing

  const digits = (value, count) => (value === null ? "" : Number(value.toPrecision(count)).toString());

  const columns = [
    { title: "method", value: (line) => line.title.toLowerCase(), text: null },
    { title: "mean rank", value: (line) => line.rank, text: (line) => (line.rank === null ? line.note || (line.ticked ? "–" : "not compared") : line.rank.toFixed(2)), number: true },
    { title: "gain", value: (line) => line.gain, text: (line) => (line.gain === null ? "" : `${(Math.round(1000 * line.gain) / 10 || 0).toFixed(1)}%`), number: true },
    { title: "beats", value: (line) => line.better, text: (line) => digits(line.better, 4), number: true },
    { title: "beaten by", value: (line) => line.worse, text: (line) => digits(line.worse, 4), number: true },
    { title: "fit, s", value: (line) => line.fit, text: (line) => digits(line.fit, 3), number: true },
    { title: "has data sets", value: (line) => line.datasets, text: (line) => String(line.datasets), number: true },
    { title: "peak, MB", value: (line) => line.memory, text: (line) => digits(line.memory, 3), number: true },
    { title: "failed", value: (line) => line.failed.length, text: (line) => (line.failed.length ? String(line.failed.length) : ""), number: true, hint: (line) => line.failed.join(", ") },
    { title: "source", value: (line) => line.source, text: (line) => line.source },
  ];

  /** Lines without a value stay behind all others, whichever way it is sorted. */
  function sorted(lines) {
    const value = columns[sorting.column].value;
    const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const known = (line) => value(line) !== null;
    return [...lines].sort((a, b) =>
      known(b) - known(a)
      || (known(a) && (sorting.down ? -1 : 1) * before(value(a), value(b)))
      || before(!a.ticked, !b.ticked) || before(Boolean(a.note), Boolean(b.note)) || b.datasets - a.datasets || before(a.id, b.id));
  }

  function headCell(column) {
    const index = columns.indexOf(column);
    const state = sorting.column === index ? (sorting.down ? "descending" : "ascending") : null;
    const mark = state ? h("span", { "aria-hidden": "true" }, sorting.down ? " ▾" : " ▴") : null;
    const button = h("button", { type: "button", "data-column": index }, column.title, mark);
    return h("th", { scope: "col", class: column.number ? "n" : null, "aria-sort": state }, button);
  }

  /** An id that a line may break after "_" and before "@". */
  const breakable = (id) => id.split(/(?<=_)|(?=@)/).flatMap((part) => [h("wbr"), part]);

  function rankingTable(result) {
    const shown = columns.filter(({ text }) => !text || result.lines.some(text)); // others are empty
    const row = (line) => h("tr", { class: line.own ? "own" : line.rank === null ? "beside" : null, "data-method": line.id }, shown.map((column) => {
      if (column.title === "method") {
        const box = line.note ? null : h("input", { type: "checkbox", name: "compare", value: line.id, checked: line.ticked, "aria-label": `compare ${line.id}` });
        return h("th", { scope: "row" }, box, " ", line.title, " ", h("small", null, line.id === line.title ? "" : breakable(line.id), line.byPrint ? ", settings chosen by print" : "", line.own ? ", your own" : ""));
      }
      return h("td", { class: column.number ? "n" : null, title: (column.hint && column.hint(line)) || null }, column.text(line));
    }));
    const apart = new Set(result.common.map(familyOf)).size;
    const kin = apart < result.common.length ? `, ${apart} of them independent` : "";
    const caption = `${result.found.ranks.length} methods on ${result.common.length} of ${result.all.length} data sets${kin}.`;
    return h("div", { class: "scroll" }, h("table", { class: "plain board" },
      h("caption", null, caption), h("thead", null, h("tr", null, shown.map(headCell))), h("tbody", null, sorted(result.lines).map(row))));
  }

  /** As `of_board` in conclusions.py. */
  function conclusion({ lines, measure, common, found }) {
    const ranked = lines.filter((line) => line.rank !== null);
    if (ranked.length < 2) return "";
    const citable = ranked.filter((line) => !line.byPrint);
    if (!citable.length) return "No method here may be cited, for printed numbers chose the settings of all.";
    const best = citable.reduce((one, other) => (other.rank < one.rank ? other : one));
    const first = ranked.reduce((one, other) => (other.rank < one.rank ? other : one));
    const leads = first.byPrint ? ` ${first.title} is ahead, but printed numbers chose its settings.` : "";
    const under = data.under[form.elements.protocol.value] ?? "";
    const behind = Math.round(1000 * best.gain) < 0 ? `, but its loss is ${(-100 * best.gain).toFixed(1)}% above that of the training mean` : "";
    const said = `${best.title} comes first of the ${citable.length} methods that may be cited, by ${measure.title} on ${common.length} data sets${under}${behind}.${leads}`;
    if (!found.p) return `${said} Too few data sets are independent for a test of so many methods.`;
    const worse = citable.filter((line) => line !== best && found.p[best.index][line.index] <= ALPHA).length;
    return `${said} ${best.title} is significantly better than ${worse} of the others; ${citable.length - 1 - worse} cannot be told from it.`;
  }

  function testText({ found }) {
    if (found.refusal) return `No two methods can be told apart: ${found.refusal}.`;
    if (!found.p) return "";
    return found.friedman === null ? "" : `Friedman p ${found.friedman.toPrecision(2)}.`;
  }

  function placesText(spots) {
    const one = form.elements.protocol.value;
    return spots.map((spot) => datasetOf(spot) + (one ? "" : ` (${spot.split("/")[0]})`)).join(", ") || "no data set";
  }

  /** A map of all pairs in the order of the ranks: what cannot be told apart is blank. */
  function pairTable({ lines, found }) {
    if (!found.p) return null;
    const order = lines.filter((line) => line.rank !== null).sort((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1));
    const twice = (line) => order.some((other) => other !== line && other.title === line.title);
    const cell = (line, other) => {
      if (line === other) return h("td", null, "·");
      const p = found.p[line.index][other.index];
      const sign = p > ALPHA ? "" : line.rank < other.rank ? "+" : "−";
      return h("td", { class: { "+": "v-reproduced", "−": "v-worse" }[sign], "data-p": p.toPrecision(6), title: `${line.id} against ${other.id}: p ${p.toPrecision(3)}` }, sign);
    };
    return [h("h2", null, "Which methods can be told apart"), h("div", { class: "scroll box" }, h("table", { class: "plain pairs-board" },
      h("caption", null, h("b", null, "+"), " the method of the line is significantly better than that of the column, ", h("b", null, "−"), " worse. Blank pairs cannot be told apart. Columns have the numbers of the lines."),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "method"), order.map((line, number) => h("th", { scope: "col" }, h("abbr", { title: `${line.title}, ${line.id}` }, String(number + 1)))))),
      h("tbody", null, order.map((line, number) => h("tr", { "data-method": line.id }, h("th", { scope: "row", title: line.id }, `${number + 1} ${line.title}`, twice(line) ? [" ", h("small", null, breakable(line.id))] : null), order.map((other) => cell(line, other)))))))];
  }

  /** Draws anew and leaves the keyboard where it was. */
  function draw() {
    const focused = document.activeElement;
    const at = place.contains(focused) ? (focused.name === "compare" ? `input[value="${CSS.escape(focused.value)}"]` : focused.dataset.column && `[data-column="${focused.dataset.column}"]`) : null;
    const result = outcome();
    document.getElementById("conclusion").textContent = conclusion(result);
    const parts = [rankingTable(result), h("p", { class: "test" }, testText(result)), h("p", { class: "on" }, `Ranked on: ${placesText(result.common)}.`), pairTable(result)];
    place.replaceChildren(...parts.flat().filter(Boolean));
    form.querySelector("output").value = `${result.found.ranks.length} methods ranked on ${result.common.length} data set${result.common.length === 1 ? "" : "s"}`;
    if (at) place.querySelector(at)?.focus({ preventScroll: true });
    dispatchEvent(new Event("resize")); // other tables, other widths
  }

  // ------------------------------------------------------------------ choices

  const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);

  function protocolsOffered() {
    const paper = form.elements.paper.value;
    return distinct(data.papers.filter(([id]) => !paper || id === paper).flatMap(([, protocols]) => protocols));
  }

  const protocolsChosen = () => (form.elements.protocol.value ? [form.elements.protocol.value] : protocolsOffered());

  function offerProtocols(chosen) {
    const names = protocolsOffered();
    const start = chosen === "" || names.includes(chosen) ? chosen : names[0];
    form.elements.protocol.replaceChildren(...names.map((name) => option(name, name, start)), option("", "all of these", start));
    offerDatasets();
  }

  const datasetsOffered = () => distinct(entries.filter((entry) => protocolsChosen().includes(entry.protocol)).map((entry) => entry.dataset)).sort();

  /** Offers the kinds of data set that are neither all nor none of those of the protocol. */
  function offerDatasets() {
    wishes.clear();
    const names = datasetsOffered();
    const some = data.kinds.filter(([, members]) => { const here = names.filter((name) => members.includes(name)).length; return here && here < names.length; });
    form.elements.kind.replaceChildren(option("", "all", ""), ...some.map(([title]) => option(title, title, "")));
    tickDatasets();
  }

  /** Ticks the data sets of the chosen kind. */
  function tickDatasets() {
    const kind = data.kinds.find(([title]) => title === form.elements.kind.value);
    const names = datasetsOffered();
    datasetsOff.clear();
    if (kind) names.filter((name) => !kind[1].includes(name)).forEach((name) => datasetsOff.add(name));
    document.getElementById("board-datasets").replaceChildren(...names.map((name) =>
      h("label", null, h("input", { type: "checkbox", name: "dataset", value: name, checked: !datasetsOff.has(name) }), name)));
  }

  function begin() {
    form.elements.paper.replaceChildren(option("", "all", ""), ...data.papers.map(([id]) => option(id, id, "")));
    form.elements.measure.replaceChildren(...measures.map(({ id, title }) => option(id, title, data.start.measure)));
    if (!form.elements.measure.value) form.elements.measure.value = measures[0].id;
    sorting = { column: 1, down: false };
    offerProtocols(data.start.protocol);
    draw();
  }

  form.addEventListener("change", ({ target }) => {
    if (target.name === "paper") offerProtocols(form.elements.protocol.value);
    if (target.name === "protocol") offerDatasets();
    if (target.name === "kind") tickDatasets();
    if (target.name === "dataset") datasetsOff[target.checked ? "delete" : "add"](target.value);
    draw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(begin));
  place.addEventListener("change", ({ target }) => {
    if (target.name !== "compare") return;
    wishes.set(target.value, target.checked);
    draw();
  });
  place.addEventListener("click", ({ target }) => {
    const button = target.closest("button[data-column]");
    if (!button) return;
    const column = Number(button.dataset.column);
    sorting = { column, down: sorting.column === column && !sorting.down };
    draw();
  });
  begin();
})();
