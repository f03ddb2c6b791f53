"use strict";
/** The box that jumps to a paper, a table or a printed number by the words that somebody types. */
(() => {
  const form = document.getElementById("jump");
  const box = form.elements.words;
  const list = document.getElementById("jump-list");
  const MOST = 12;
  let places = null; // of the whole report, once somebody types
  let found = [];
  let chosen = 0;

  const words = (text) => plain(text.replace(/[_/]/g, "")).split(/\s+/).filter(Boolean);

  /** A place has names, which count more when they are typed whole, and words around them. */
  function place(label, names, around, route, cell = null) {
    return { label, names: new Set(names.flatMap(words)), text: words([...names, around].join(" ")).join(" "), route, cell };
  }

  function allPlaces() {
    const pages = [...document.querySelectorAll("header.site nav a")];
    const all = pages.map((link) => place(link.textContent, [link.textContent], "", link.getAttribute("href")));
    for (const section of document.querySelectorAll(".table[id]")) {
      const [, paper] = section.id.split("/");
      const route = "#" + section.id.split("/").map((part) => encodeURIComponent(part)).join("/");
      const heading = section.querySelector("h3");
      const table = `${paper} ${heading.firstChild.textContent.trim()}`; // structrf Table 16
      const title = heading.textContent;
      all.push(place(`${paper} ${title}`, [title], paper, route));
      const measures = [...section.querySelectorAll("thead th")].map((head) => head.firstChild.textContent.trim());
      for (const body of section.querySelectorAll("tbody")) {
        const dataset = body.querySelector(".block span").textContent;
        for (const row of body.querySelectorAll("tr[data-find]:not(.beside)")) {
          const [name, setting] = [...row.querySelector("th").childNodes].map((node) => node.textContent);
          [...row.querySelectorAll("td")].forEach((cell, index) => {
            if (!cell.querySelector("[data-v]")) return;
            const measure = measures[index + 1];
            const label = [table, dataset, name, setting, measure].filter(Boolean).join(" · ");
            all.push({ ...place(label, [dataset, name, measure], `${title} ${setting || ""} ${paper}`, route, cell), variant: Boolean(setting) });
          });
        }
      }
    }
    return all;
  }

  function search() {
    places ??= allPlaces();
    const asked = words(box.value);
    const worth = (place) => asked.reduce((sum, word) => sum + place.names.has(word), place.variant ? -0.5 : 0);
    const all = asked.length ? places.filter((place) => asked.every((word) => place.text.includes(word))) : [];
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

  function jump({ route, cell }) {
    close();
    box.value = "";
    document.querySelectorAll("td.jumped").forEach((other) => other.classList.remove("jumped"));
    const arrive = () => {
      if (!cell) return;
      cell.classList.add("jumped");
      cell.scrollIntoView({ block: "center", inline: "center" });
      cell.querySelector("a")?.focus({ preventScroll: true });
    };
    if (location.hash === route) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = route;
    setTimeout(() => requestAnimationFrame(arrive)); // after the view has opened
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
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (found.length) jump(found[chosen]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    box.focus();
  });
})();
