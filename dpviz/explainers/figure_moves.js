// Moving what plotly.js has drawn, without drawing it anew; joined to live_figure.js.
//
// Lines, fills, dots and labels of scatter traces and horizontal bars are moved through the axes that plotly.js set up;
// where the ends of an axis changed, plotly.js draws that axis alone and every trace is moved after it.
// Whatever does not fit (another number of dots, a zoom of the reader's) is refused, and plotly.js draws all instead.

const MOVABLE = new Set(["x", "y", "text", "name"]);
const AXES = new Set(["xaxis", "yaxis"]);
const ENDS = new Set(["range", "tickvals", "ticktext"]);
const BAR = /^M([-\d.e]+),([-\d.e]+)V([-\d.e]+)H([-\d.e]+)V[-\d.e]+Z$/;

// Return whether all that `paths` name was moved.
function moveDrawn(Plotly, plot, spec, paths) {
  const changed = new Set();
  const ranges = {};
  for (const [part, which, key] of paths) {
    if (part === "data" && MOVABLE.has(key)) changed.add(which);
    else if (part === "layout" && AXES.has(which) && ENDS.has(key)) ranges[`${which}.${key}`] = spec.layout[which][key];
    else if (part !== "layout" || !["title", "meta"].includes(which)) return false;
  }
  if (Object.keys(ranges).length > 0) {
    if (isZoomed(plot)) return false;
    Plotly.relayout(plot, structuredClone(ranges));
    for (const index of spec.data.keys()) changed.add(index);
  }
  // A fill between two lines follows either of them, and a stacked bar those before it.
  for (const [index, trace] of spec.data.entries()) {
    const leans = trace.fill === "tonexty" || (trace.type === "bar" && spec.layout.barmode === "stack");
    if (leans && changed.has(neighbour(spec, index))) changed.add(index);
  }
  const moves = [];
  for (const index of changed) {
    if (!isShown(spec.data[index])) continue;
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

function isShown(trace) {
  return trace.visible !== false;
}

// The trace that another leans on: the one of its kind before it, among those that are shown.
function neighbour(spec, index) {
  return spec.data.findLastIndex((trace, at) => at < index && isShown(trace) && trace.type === spec.data[index].type);
}

function isZoomed(plot) {
  return Object.keys(plot._fullLayout._preGUI ?? {}).some((path) => path.includes("axis.range"));
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
  const placed = points.map((point, at) => ({ point, text: trace.text?.[at] })).filter(({ point }) => isPlaced(point));
  const isHiding = trace.cliponaxis === false;
  const show = (dot, [x, y]) => isHiding && moves.push([dot, "display", isInside(plot, x, y) ? null : "none"]);
  if (trace.mode.includes("markers")) {
    const dots = node.querySelectorAll(".point");
    if (dots.length !== placed.length) return undefined;
    for (const [at, { point }] of placed.entries()) {
      moves.push([dots[at], "transform", `translate(${place(point)})`]);
      show(dots[at], point);
    }
  }
  if (trace.mode.includes("text")) {
    const words = node.querySelectorAll(".textpoint > text"); // an empty text has none
    const said = placed.filter(({ text }) => text);
    if (words.length !== said.length) return undefined;
    for (const [at, { point, text }] of said.entries()) {
      const [x, y] = point.map(short);
      moves.push([words[at], "x", x], [words[at], "y", y], [words[at], "text", text]);
      show(words[at].parentNode, point); // whose transform is the way from the point to the words
    }
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
  return [node, "d", closedPath([...points, ...places(plot, spec.data[neighbour(spec, index)]).reverse()])];
}

function barMoves(plot, spec, index) {
  const nodes = plot.calcdata?.[index]?.[0]?.node3?.node().querySelectorAll(".point > path");
  if (nodes?.length !== spec.data[index].x.length) return undefined;
  const { xaxis } = plot._fullLayout;
  const isBelow = (trace, at) => at < index && trace.type === "bar" && isShown(trace);
  const before = spec.layout.barmode === "stack" ? spec.data.filter(isBelow) : [];
  const moves = [];
  for (const [at, node] of nodes.entries()) {
    const [, , top, bottom] = BAR.exec(node.getAttribute("d")) ?? [];
    if (top === undefined) return undefined;
    const start = before.reduce((sum, bar) => sum + bar.x[at], 0);
    const [from, to] = [start, start + spec.data[index].x[at]].map((value) => short(xaxis.d2p(value)));
    moves.push([node, "d", `M${from},${top}V${bottom}H${to}V${top}Z`]);
  }
  return moves;
}
