"use strict";
/** The box that jumps to a page, a section, a table or a cell by the words that somebody types. */
(() => {
  const form = document.getElementById("jump");
  const box = form.elements.words;
  const list = document.getElementById("jump-list");
  const MOST = 12;
  const LACK = 0.5; // what a word that a place lacks takes away
  let places = null; // a promise of all places of the report, once somebody types
  let found = [];
  let chosen = 0;
  let written = null; // the words of all names by their plain letters, once nothing is found

  /** Words that a question may hold and an answer need not. */
  const ASKING = new Set("a about all an and any are at be best by can could did do does for from get give good has have how i if in is it long make many me much my not number numbers of on one or our should some take takes than that the their them there these they this to us use used was we well were what when where which who why will with work would you your".split(" "));

  /** Words without case and marks; numbers keep their point. */
  const words = (text) => text.normalize("NFD").replace(/\bdata(sets?)\b/gi, "data $1").split(/[\s/]+/).map((word) => word.replace(/^[^\w.]+|\W+$/g, "")).map((word) => (isNumber(word) ? word : plain(word))).filter(Boolean);
  /** Words, and what stands in them behind a mark: JAFFE finds s-JAFFE, and Elo nothing in the middle of zero_one_loss. */
  const beginnings = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").split(/\s+/).flatMap((word) => [...word.matchAll(/[a-z0-9.]+/gi)].flatMap(({ index }) => words(word.slice(index))));
  const isNumber = (word) => /^\d*\.\d+$/.test(word);

  const inText = (text) => ["", ...beginnings(text), ""].join(" ");

  /** A place has names, words around them, the text that stands there, and maybe a number. */
  function place(label, names, around, route, { body = "", variant = false, number = "" } = {}) {
    return { label, route, variant, number, named: names, size: number ? names.length : words(names[0] || "").length, names: new Set([...names, number].flatMap(words).filter((word) => !ASKING.has(word))), around: inText([...names, around].join(" ")), body: inText(body) };
  }

  /** How well a word is met: by a name, by words around it, by the text; a whole word counts twice a beginning, the s of a plural may differ, and of a number any digits do. */
  function worthOf(place, word) {
    const one = /...s$/.test(word) ? word.slice(0, -1) : word;
    if ([word, one, word.length > 3 ? `${word}s` : word].some((name) => place.names.has(name))) return 1;
    for (const [text, worth] of [[place.around, 0.05], [place.body, 0.001]]) {
      if (text.includes(` ${word} `) || text.includes(` ${one} `)) return 2 * worth;
      if (text.includes(` ${one}`)) return worth;
    }
    return isNumber(word) && place.number.includes(word) ? 0.05 : 0;
  }
  const has = (place, word) => worthOf(place, word) > 0;

  /** How well a place answers: a word that it lacks counts against it. Of equals, the one with the shorter name. */
  function answers(place, asked, needed) {
    const worth = asked.reduce((sum, word) => sum + (needed.includes(word) ? worthOf(place, word) || -LACK : worthOf(place, word) / 100), 0);
    return worth - (place.variant ? 0.5 : 0) - (worth < 0.4 ? 0 : place.size / 1e5);
  }

  /** Every page, section, table and cell of all papers; cells as `ldlrepro explain` names them. The title of its table says nothing of a cell. */
  async function allPlaces() {
    const [sections, tables] = await unpacked("jump-data");
    const pages = [...document.querySelectorAll("header.site nav a")];
    const all = pages.map((link) => place(link.textContent, [link.dataset.name || link.textContent], `${link.textContent} ${link.dataset.also || ""}`, link.getAttribute("href")));
    all.push(...sections.map(([label, names, around, route, body]) => place(label, names, around, route, { body })));
    for (const [paper, id, about, route, columns, lines] of tables) {
      const table = `Table ${id}`;
      all.push(place([paper, table, about].join(" · "), [table], `${paper} ${about}`, route));
      const file = route.slice(0, route.indexOf("#"));
      const printed = columns.map(([, , numbers]) => numbers.split("|"));
      lines.forEach(([dataset, method, setting, title], line) => {
        columns.forEach(([metric, measure], column) => {
          const number = printed[column][line];
          if (!number) return;
          const parts = [paper, id, dataset, ...(setting ? [setting] : []), method, metric];
          const label = [`${paper} ${table}`, dataset, method, setting, measure, number].filter(Boolean).join(" · ");
          const cell = `${file}#/cell/${parts.map(encodeURIComponent).join("/")}`;
          all.push(place(label, [dataset, method, measure], `${table} ${setting} ${paper} ${metric} ${title}`, cell, { variant: Boolean(setting), number }));
        });
      });
    }
    return all;
  }

  /** How many letters to add, drop, change or swap with the next one to get from a word to another. */
  function distance(one, other) {
    let [older, old] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
    for (let i = 1; i <= one.length; i++) {
      const row = [i];
      for (let j = 1; j <= other.length; j++) {
        row[j] = Math.min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (one[i - 1] !== other[j - 1]));
        if (one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) row[j] = Math.min(row[j], older[j - 2] + 1);
      }
      [older, old] = [old, row];
    }
    return old[other.length];
  }

  /** What was typed, with the nearest word in place of each that no place has; what all places lack is left out, and small words with it. */
  function meant(known, text) {
    written ??= new Map(known.flatMap(({ named }) => named.join(" ").split(/[\s-]+/)).map((word) => [words(word).join(""), word.replace(/^\W+|\W+$/g, "")]).filter(([word]) => /[a-z]/.test(word)));
    const near = text.trim().split(/\s+/).map((typed) => {
      const word = words(typed).join("");
      if (ASKING.has(word) || known.some((place) => has(place, word))) return typed;
      const closest = [...written].filter(([one]) => one[0] === word[0]).map(([one, name]) => [distance(word, one) + Math.abs(word.length - one.length) / 10, name]);
      const [[far, nearest] = [Infinity]] = closest.sort(([one], [other]) => one - other);
      return far <= Math.max(1.1, word.length / 3) && word.length > 3 ? nearest : "";
    });
    const telling = near.filter((word) => word && !ASKING.has(plain(word)));
    const line = near.every(Boolean) ? near.join(" ") : telling.join(" ");
    return telling.length && line !== text.trim() ? line : "";
  }

  async function search() {
    places ??= allPlaces();
    const known = await places;
    const asked = words(box.value);
    const needed = asked.some((word) => !ASKING.has(word)) ? asked.filter((word) => !ASKING.has(word)) : asked;
    const whole = asked.length ? known.filter((place) => needed.every((word) => has(place, word))) : [];
    const near = asked.length && !whole.length ? meant(known, box.value) : "";
    const part = asked.length && !near && needed.every((word) => known.some((place) => has(place, word)));
    const ranked = (part ? known : whole).map((place) => [answers(place, asked, needed), place]).filter(([worth, place]) => worth > (whole.length ? 0 : LACK * (0.5 - needed.length)) || whole.includes(place));
    found = ranked.sort(([one], [other]) => other - one).slice(0, MOST).map(([, place]) => place);
    if (near) found = [{ label: `Nothing has all these words. Did you mean ${near}?`, near }];
    chosen = 0;
    draw(asked.length > 0, near ? 0 : ranked.length);
  }

  function draw(asked, count) {
    list.replaceChildren(...found.map((place, index) => {
      const item = document.createElement("li");
      Object.assign(item, { id: `jump-${index}`, textContent: place.label });
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(index === chosen));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); jump(place); });
      return item;
    }));
    const more = document.createElement("li");
    more.className = "rest";
    more.setAttribute("role", "presentation");
    more.textContent = count ? `${count - found.length} more: another word narrows it` : "Nothing has all these words";
    if (asked && (count > found.length || !found.length)) list.append(more);
    list.hidden = !asked;
    box.setAttribute("aria-expanded", String(asked));
    if (found.length) box.setAttribute("aria-activedescendant", `jump-${chosen}`);
    else box.removeAttribute("aria-activedescendant");
  }

  function close() {
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function jump({ route, near }) {
    if (near) {
      box.value = near;
      search();
      return;
    }
    close();
    box.value = "";
    const there = new URL(route, location.href).href;
    if (location.href === there) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.href = there;
  }

  box.addEventListener("input", search);
  box.addEventListener("focus", search);
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (!["ArrowDown", "ArrowUp"].includes(event.key) || !found.length) return;
    event.preventDefault();
    list.children[chosen].setAttribute("aria-selected", "false");
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length;
    list.children[chosen].setAttribute("aria-selected", "true");
    list.children[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", `jump-${chosen}`);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await places; // for fast fingers
    if (found.length) jump(found[chosen]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    box.focus();
  });
})();
