"""What people with a keyboard, a screen reader or weak eyes need of a page, looked for in it."""

from __future__ import annotations

from typing import Any

FAULTS = """() => {
    const faults = [];
    const seen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
    const short = (e) => e.outerHTML.replace(/\\s+/g, " ").slice(0, 90);

    // Contrast of text with what is behind it.
    const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) =>
        0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = numbers(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const own = (element) => [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    for (const e of all("body *").filter(own)) {
        const pair = [numbers(getComputedStyle(e).color), behind(e)].map(light);
        const found = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        if (found < 4.5) faults.push(`contrast ${found.toFixed(1)}: ${short(e)}`);
    }

    // Names.
    const name = (e) => (e.ariaLabel || e.title || e.alt || e.textContent
        || [...(e.labels || [])].map((label) => label.textContent).join("")
        || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent || "").trim();
    for (const e of all("a[href], button, select, input:not([type=checkbox][tabindex='-1'])")) {
        const picture = e.querySelector("img[alt], svg");
        if (!name(e) && !picture && !e.matches(".md-toggle")) faults.push(`no name: ${short(e)}`);
    }
    for (const e of all("img:not([alt])")) faults.push(`no text: ${short(e)}`);
    for (const e of all("th")) if (!e.textContent.trim()) faults.push(`empty head: ${short(e)}`);
    for (const e of all("[role=dialog]")) if (!e.ariaLabel) faults.push(`no name: ${short(e)}`);

    // Parts of the page.
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    const twice = new Set(ids.filter((id, at) => ids.indexOf(id) !== at));
    for (const id of twice) faults.push(`twice: ${id}`);
    if (all("main").length !== 1) faults.push(`${all("main").length} main parts`);
    const menus = all("nav:not([role=none])").map((e) => name({ ariaLabel: e.ariaLabel,
        textContent: document.getElementById(e.getAttribute("aria-labelledby"))?.textContent,
        getAttribute: () => null }));
    if (new Set(menus).size < menus.length) faults.push(`menus of the same name: ${menus}`);
    let last = 0;
    for (const e of all("main :is(h1, h2, h3, h4, h5, h6)")) {
        const level = Number(e.tagName[1]);
        if (level > last + 1) faults.push(`h${level} after h${last}: ${short(e)}`);
        last = level;
    }

    // The keyboard scrolls what scrolls.
    for (const e of all("body *")) {
        const { overflowX, overflowY } = getComputedStyle(e);
        const scrolls = (way, there) => ["auto", "scroll"].includes(way) && there;
        if ((scrolls(overflowX, e.scrollWidth > e.clientWidth + 1)
                || scrolls(overflowY, e.scrollHeight > e.clientHeight + 1))
            && e.tabIndex < 0 && !e.querySelector("a[href], button, input, [tabindex='0']")) {
            faults.push(`out of the keyboard's reach: ${short(e)}`);
        }
    }
    return faults;
}"""


def faults(page: Any) -> list[str]:
    """Return what keeps people from using what the page shows now."""
    found: list[str] = page.evaluate(FAULTS)
    return found
