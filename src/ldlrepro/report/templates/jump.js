"use strict";
/** The box that jumps to a page, a section, a table or a cell by the words that somebody types. */
(() => {
  const form = document.getElementById("jump");
  const box = form.elements.words;
  const list = document.getElementById("jump-list");
  const MOST = 12;
  let places = null; // a promise of all places of the report, once somebody types
  let found = [];
  let chosen = 0;

  const words = (text) => plain(text.replace(/[_/]/g, "")).split(/\s+/).filter(Boolean);

  /** A place has names, which count more when they are typed whole, and words around them. */
  function place(label, names, around, route, variant = false) {
    return { label, route, variant, names: new Set(names.flatMap(words)), text: words([...names, around].join(" ")).join(" ") };
  }

  /** Every page, section, table and cell of all papers; cells as `ldlrepro explain` names them. */
  async function allPlaces() {
    const pages = [...document.querySelectorAll("header.site nav a")];
    const all = pages.map((link) => place(link.textContent, [link.textContent], "", link.getAttribute("href")));
    for (const [paper, id, about, route, columns, lines] of await unpacked("jump-data")) {
      const table = id && `Table ${id}`;
      all.push(place([paper, table, about].filter(Boolean).join(" · "), [table, about], paper, route));
      const file = route.slice(0, route.indexOf("#"));
      for (const [dataset, method, setting, cells] of lines) {
        columns.forEach(([metric, measure], index) => {
          if (!cells[index]) return;
          const parts = [paper, id, dataset, ...(setting ? [setting] : []), method, metric];
          const label = [`${paper} ${table}`, dataset, method, setting, measure].filter(Boolean).join(" · ");
          const cell = `${file}#/cell/${parts.map(encodeURIComponent).join("/")}`;
          all.push(place(label, [dataset, method, measure], `${table} ${about} ${setting} ${paper} ${metric}`, cell, Boolean(setting)));
        });
      }
    }
    return all;
  }

  async function search() {
    places ??= allPlaces();
    const known = await places;
    const asked = words(box.value);
    const worth = (place) => asked.reduce((sum, word) => sum + place.names.has(word), place.variant ? -0.5 : 0);
    const all = asked.length ? known.filter((place) => asked.every((word) => place.text.includes(word))) : [];
    found = all.map((place) => [worth(place), place]).sort(([one], [other]) => other - one).slice(0, MOST).map(([, place]) => place);
    chosen = 0;
    draw(asked.length > 0, all.length);
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
    if (asked && (!count || count > found.length)) list.append(more);
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

  function jump({ route }) {
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
