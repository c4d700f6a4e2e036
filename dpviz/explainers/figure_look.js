// How a figure looks where it stands: its element's font, size and theme; joined to live_figure.js.
//
// A spec is stated in light colours and sizes for reading at a desk. What is drawn is a copy of it in the look of the
// page; what is saved or printed is light.

const PRINTED = { isDark: false, scale: 1 };
const PRINT_WIDTH = 680; // px
const LOOKS = ["data-theme", "data-teach", "data-jp-theme-light", "style", "class"];

// The theme is read from the ink that the style sheet gives the figure, whoever chose it.
function lookOf(node) {
  const { color, fontFamily } = getComputedStyle(node);
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).map(Number);
  const scale = Number.parseFloat(getComputedStyle(node).getPropertyValue("--scale")) || 1;
  return { isDark: red + green + blue > 382, scale, family: fontFamily };
}

function isSameLook(one, other) {
  return one?.isDark === other?.isDark && one?.scale === other?.scale && one?.family === other?.family;
}

// Call `act` whenever theme or size may have changed; return how to stop.
function onLookChange(node, act) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(act);
  for (const place of [document.documentElement, document.body, node.closest(".dpviz")]) {
    if (place) observer.observe(place, { attributes: true, attributeFilter: LOOKS });
  }
  system.addEventListener("change", act);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", act);
  };
}

// Call `act` with whether the page is being printed; return how to stop.
function onPrint(act) {
  const media = matchMedia("print");
  const before = () => act(true);
  const after = () => act(false);
  const change = (event) => act(event.matches);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  media.addEventListener("change", change);
  return () => {
    removeEventListener("beforeprint", before);
    removeEventListener("afterprint", after);
    media.removeEventListener("change", change);
  };
}

// A copy of `spec` in a look; the arrays of numbers are shared, since nobody writes in them.
function dressed(spec, { isDark, scale, family }, dark) {
  const copy = (value, key, parent) => {
    if (Array.isArray(value)) return value.map((item) => copy(item, key, parent));
    if (typeof value === "string") return isDark && /color$/i.test(key) ? (dark[value] ?? value) : value;
    if (typeof value === "number") return isSize(key, parent) ? value * scale : value;
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copy(item, name, key)]));
  };
  const { data, layout } = copy(spec, "", "");
  if (family) layout.font = { ...layout.font, family };
  return { data, layout };
}

function isSize(key, parent) {
  return key === "size" || parent === "margin" || (key === "width" && parent === "line");
}
