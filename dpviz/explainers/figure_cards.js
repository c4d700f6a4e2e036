// What each line of a figure is: the cards behind the button "What are these lines?"; joined to live_figure.js.

const DASHES = { dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "9 4" };
const SVG = "http://www.w3.org/2000/svg";

function fillCards(node, cards, dark) {
  const list = element("ul");
  for (const card of cards) {
    const item = element("li");
    const title = element("p", "dpviz-card-title");
    title.append(swatch(card, dark), element("span", "", card.title));
    const parts = element("dl");
    for (const [label, text] of card.parts) {
      const pair = element("div");
      pair.append(element("dt", "", label), element("dd", "", text));
      parts.append(pair);
    }
    item.append(title, parts);
    list.append(item);
  }
  node.replaceChildren(list);
}

// The mark as it is drawn: a line with its dash, an open or a filled dot, an upright tick, a bar.
function swatch({ color, dash, mark }, dark) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "dpviz-swatch");
  picture.setAttribute("viewBox", "0 0 30 12");
  picture.setAttribute("aria-hidden", "true");
  picture.style.color = `light-dark(${color}, ${dark[color] ?? color})`;
  const part = (name, attributes) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    picture.append(node);
  };
  const paint = { stroke: "currentColor", "stroke-width": 2.5 };
  if (mark === "line") part("path", { d: "M1,6H29", "stroke-dasharray": DASHES[dash] ?? "none", ...paint });
  else if (mark === "tick") part("path", { d: "M15,1V11", ...paint });
  else if (mark === "bar") part("rect", { x: 3, y: 2, width: 24, height: 8, fill: "currentColor" });
  else part("circle", { cx: 15, cy: 6, r: 4, fill: mark === "open" ? "none" : "currentColor", ...paint });
  return picture;
}

// What is known of the curve of a trace, in words: exact, an upper bound, …
function statusOf(trace, cards) {
  const names = [trace.meta?.card ?? []].flat();
  const found = cards.filter(({ name }) => names.includes(name)).map(({ status }) => status);
  return [...new Set(found)].join(", ");
}
