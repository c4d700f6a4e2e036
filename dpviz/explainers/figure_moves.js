// Moving what plotly.js has drawn, without drawing it anew; joined to live_figure.js.
//
// Lines, fills, dots and labels of scatter traces and horizontal bars are moved through the axes that plotly.js set up.
// Whatever does not fit (a changed range, another number of dots) is refused, and plotly.js draws instead.

const MOVABLE = new Set(["x", "y", "text", "name"]);
const BAR = /^M([-\d.e]+),([-\d.e]+)V([-\d.e]+)H([-\d.e]+)V[-\d.e]+Z$/;

// Return whether all that `paths` name was moved.
function moveDrawn(plot, spec, paths) {
  const changed = new Set();
  for (const [part, which, key] of paths) {
    if (part === "data" && MOVABLE.has(key)) changed.add(which);
    else if (part !== "layout" || !["title", "meta"].includes(which)) return false;
  }
  // A fill between two lines follows either of them, and a stacked bar those before it.
  for (const [index, trace] of spec.data.entries()) {
    const leans = trace.fill === "tonexty" || (trace.type === "bar" && spec.layout.barmode === "stack");
    if (leans && changed.has(index - 1)) changed.add(index);
  }
  const moves = [];
  for (const index of changed) {
    const found = spec.data[index].type === "bar" ? barMoves(plot, spec, index) : scatterMoves(plot, spec, index);
    if (!found) return false;
    moves.push(...found);
  }
  for (const [node, name, value] of moves) {
    if (name === "text") setText(node, value);
    else if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
  return true;
}

// Points in the plot's pixels; one without a place is NaN.
function places(plot, { x, y }) {
  const { xaxis, yaxis } = plot._fullLayout;
  return Array.from(x, (value, at) => [xaxis.d2p(value), yaxis.d2p(y[at])]);
}

const short = (pixels) => String(Math.round(pixels * 100) / 100);
const place = ([x, y]) => `${short(x)},${short(y)}`;
const isPlaced = ([x, y]) => Number.isFinite(x) && Number.isFinite(y);

// plotly.js hides a dot or label outside the axes where the trace is not clipped.
function isInside(plot, x, y) {
  const { xaxis, yaxis } = plot._fullLayout;
  return x >= -0.01 && x <= xaxis._length + 0.01 && y >= -0.01 && y <= yaxis._length + 0.01;
}

function linePath(points) {
  let path = "";
  let isOpen = false;
  for (const point of points) {
    const isHere = isPlaced(point);
    if (isHere) path += `${isOpen ? "L" : "M"}${place(point)}`;
    isOpen = isHere;
  }
  return path || "M0,0";
}

function closedPath(points) {
  const placed = points.filter(isPlaced);
  return placed.length ? `M${placed.map(place).join("L")}Z` : "M0,0Z";
}

function scatterMoves(plot, spec, index) {
  const trace = spec.data[index];
  const node = plot.calcdata?.[index]?.[0]?.node3?.node();
  if (!node) return undefined;
  const points = places(plot, trace);
  const moves = [];
  if (trace.mode.includes("lines")) {
    const lines = node.querySelectorAll(".js-line");
    if (lines.length === 0 && trace.line.width > 0) return undefined;
    lines.forEach((line, at) => moves.push([line, "d", at ? "M0,0" : linePath(points)]));
    const fill = fillMove(plot, spec, index, points);
    if (fill === null) return undefined;
    if (fill) moves.push(fill);
  }
  for (const kind of ["point", "textpoint"]) {
    if (!trace.mode.includes(kind === "point" ? "markers" : "text")) continue;
    const nodes = node.querySelectorAll(`.${kind}`);
    const seen = points.map((point, at) => [point, trace.text?.[at]]).filter(([point]) => isPlaced(point));
    if (nodes.length !== seen.length) return undefined;
    seen.forEach(([[x, y], text], at) => {
      moves.push([nodes[at], "transform", `translate(${place([x, y])})`]);
      if (trace.cliponaxis === false) moves.push([nodes[at], "display", isInside(plot, x, y) ? null : "none"]);
      if (kind === "textpoint") moves.push([nodes[at].querySelector("text"), "text", text]);
    });
  }
  return moves;
}

// The move of a trace's fill; undefined when it has none, null when its node is not found.
function fillMove(plot, spec, index, points) {
  const { fill } = spec.data[index];
  if (!fill) return undefined;
  const full = plot._fullData[index];
  const node = (fill === "tozeroy" ? full._ownFill : full._prevtrace?._nextFill)?.node();
  if (!node) return null;
  if (fill === "tozeroy") {
    const floor = plot._fullLayout.yaxis.d2p(0);
    return [node, "d", closedPath([[points.at(-1)[0], floor], [points[0][0], floor], ...points])];
  }
  return [node, "d", closedPath([...points, ...places(plot, spec.data[index - 1]).reverse()])];
}

function barMoves(plot, spec, index) {
  const bars = spec.data.map((trace, at) => (trace.type === "bar" ? at : -1)).filter((at) => at >= 0);
  const nodes = plot.querySelectorAll(".barlayer .trace.bars")[bars.indexOf(index)]?.querySelectorAll(".point > path");
  if (nodes?.length !== spec.data[index].x.length) return undefined;
  const { xaxis } = plot._fullLayout;
  const before = spec.layout.barmode === "stack" ? bars.slice(0, bars.indexOf(index)) : [];
  const moves = [];
  for (const [at, node] of nodes.entries()) {
    const [, , top, bottom] = BAR.exec(node.getAttribute("d")) ?? [];
    if (top === undefined) return undefined;
    const start = before.reduce((sum, bar) => sum + spec.data[bar].x[at], 0);
    const [from, to] = [start, start + spec.data[index].x[at]].map((value) => short(xaxis.d2p(value)));
    moves.push([node, "d", `M${from},${top}V${bottom}H${to}V${top}Z`]);
  }
  return moves;
}
