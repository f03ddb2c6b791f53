/** Return JSON that the page holds in base64, packed by gzip. */
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** Return text without case, accents and marks, so that s-JAFFE is found as sjaffe. */
const plain = (text) => text.normalize("NFD").toLowerCase().replace(/[^a-z0-9 ]/g, "");

/** An element; text always becomes text, never markup. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (![null, undefined, false].includes(value)) element.setAttribute(name, value === true ? "" : value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
