// LiveFigure in the browser: keep the figure's state per model, draw it with plotly.js, and offer it as table and file.

const CONFIG = { displayModeBar: false, doubleClick: "reset", responsive: false, showTips: false };
const FRAME = 12; // ms; two draws closer than this share one animation frame
const TABLE_ROWS = 25;
const EXPORT_SIZE = { width: 900, height: 600 };
const WRAP_AT = 84; // characters a line in an exported title

export default () => {
  let spec; // the figure as it stands
  let number = 0; // of the last message that is in `spec`
  const views = new Set();

  function take(content, buffers) {
    if (content.kind === "whole") {
      spec = decode(content.spec, buffers);
    } else if (content.number === number + 1) {
      for (const [path, value] of content.edits) edit(spec, path, decode(value, buffers));
    } else {
      return false;
    }
    number = content.number;
    for (const view of views) view.draw();
    return true;
  }

  return {
    initialize({ model }) {
      const whole = model.get("_whole");
      take({ kind: "whole", number: whole.number, spec: whole.spec }, whole.buffers);
      model.on("msg:custom", (content, buffers) => {
        if (content.kind === "library") return;
        const isOld = content.number <= number && content.kind === "edits";
        if (!isOld && !take(content, buffers)) model.send({ kind: "seen", number });
      });
      model.send({ kind: "seen", number }); // what was sent before this listener stood is asked for once
    },
    render({ model, el }) {
      const view = makeView(el, () => spec, model.get("_words"));
      views.add(view);
      library(model).then((Plotly) => view.start(Plotly, () => number));
      return () => {
        views.delete(view);
        view.end();
      };
    },
  };
};

// ---------------------------------------------------------------------------------------------- state

function decode(value, buffers) {
  if (Array.isArray(value)) return value.map((item) => decode(item, buffers));
  if (value === null || typeof value !== "object") return value;
  if ("$array" in value) {
    const view = buffers[value.$array];
    return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item, buffers)]));
}

function edit(target, path, value) {
  const last = path.length - 1;
  for (const step of path.slice(0, last)) target = target[step];
  if (value === null) delete target[path[last]];
  else target[path[last]] = value;
}

// The plotting library: a script of the page's template where there is one, else asked of the kernel, once a page.
function library(model) {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  globalThis.dpvizPlotly ??= new Promise((resolve, reject) => {
    const ready = () => resolve(globalThis.Plotly);
    const script = document.querySelector("script[src*='plotly-basic']");
    if (script) {
      if (globalThis.Plotly) return ready();
      script.addEventListener("load", ready);
      return script.addEventListener("error", () => fetchFromKernel(model, ready, reject));
    }
    return fetchFromKernel(model, ready, reject);
  });
  return globalThis.dpvizPlotly;
}

function fetchFromKernel(model, resolve, reject) {
  const receive = (content, buffers) => {
    if (content.kind !== "library") return;
    model.off("msg:custom", receive);
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  };
  model.on("msg:custom", receive);
  model.send({ kind: "library" });
}

// ---------------------------------------------------------------------------------------------- view

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function makeView(el, current, words) {
  const root = element("figure", "dpviz-figure");
  const caption = element("figcaption", "dpviz-title");
  const plot = element("div", "dpviz-plot");
  const tools = element("div", "dpviz-tools");
  const table = element("div", "dpviz-table");
  plot.setAttribute("role", "img");
  table.hidden = true;
  root.append(caption, plot, tools, table);
  el.append(root);

  let Plotly;
  let number;
  let lastDraw = 0;
  let waiting = 0;
  let hovered;
  let resizer;

  function drawNow() {
    waiting = 0;
    lastDraw = performance.now();
    const { data, layout } = current();
    const { title, meta, ...rest } = layout;
    setText(caption, title?.text ?? "");
    plot.setAttribute("aria-label", meta?.alt ?? title?.text ?? "");
    root.classList.toggle("dpviz-wide", Boolean(meta?.wide));
    Plotly.react(plot, data, { ...rest, ...fitted(plot, rest), uirevision: "stay" }, CONFIG);
    if (hovered) Plotly.Fx.hover(plot, hovered);
    if (!table.hidden) fillTable(table, current(), words);
    plot.dataset.drawn = number();
  }

  function draw() {
    if (!Plotly || waiting) return;
    if (performance.now() - lastDraw > FRAME) drawNow();
    else waiting = requestAnimationFrame(drawNow);
  }

  function start(loaded, count) {
    Plotly = loaded;
    number = count;
    drawNow();
    plot.on("plotly_hover", (event) => (hovered = event.event));
    plot.on("plotly_unhover", () => (hovered = undefined));
    let width = plot.clientWidth;
    resizer = new ResizeObserver(() => {
      if (plot.clientWidth === width || plot.clientWidth === 0) return;
      width = plot.clientWidth;
      drawNow();
    });
    resizer.observe(plot);
    if (current().layout.meta?.drag) dragControl(plot, () => current().layout.meta.drag);
  }

  const button = (kind, action) => {
    if (!words[kind]) return undefined;
    const node = element("button", "", words[kind]);
    node.type = "button";
    node.title = words[`${kind}_hint`] ?? words[kind];
    node.addEventListener("click", action);
    tools.append(node);
    return node;
  };
  const opener = button("table", () => {
    table.hidden = !table.hidden;
    opener.setAttribute("aria-expanded", String(!table.hidden));
    if (!table.hidden) fillTable(table, current(), words);
  });
  opener?.setAttribute("aria-expanded", "false");
  button("csv", () => saveText(csv(current()), fileName(current(), "csv"), "text/csv"));
  button("svg", () => saveImage(Plotly, current(), "svg"));
  button("png", () => saveImage(Plotly, current(), "png"));

  return {
    draw,
    start,
    end() {
      resizer?.disconnect();
      cancelAnimationFrame(waiting);
      if (Plotly) Plotly.purge(plot);
    },
  };
}

// Size and pointer behaviour follow the room there is: no zoom by dragging where a finger must scroll the page.
function fitted(plot, layout) {
  const isTouch = globalThis.matchMedia?.("(pointer: coarse)").matches;
  const dragmode = isTouch || layout.dragmode === false ? false : "zoom";
  return { width: plot.clientWidth, height: plot.clientHeight, dragmode, autosize: false };
}

// Dragging in the plot moves a control of the page; whoever owns the control listens on an element above.
function dragControl(plot, drag) {
  const send = (event) => {
    const axis = plot._fullLayout.xaxis;
    const bounds = plot.getBoundingClientRect();
    const at = event.clientX - bounds.left - axis._offset;
    const { control, low, high, step } = drag();
    const nearest = Math.round(axis.p2d(at) / step) * step;
    const value = Math.min(high, Math.max(low, nearest));
    plot.dispatchEvent(
      new CustomEvent("dpviz-drag", { bubbles: true, detail: { control, text: String(Number(value.toFixed(9))) } }),
    );
  };
  plot.classList.add("dpviz-draggable");
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.setPointerCapture(event.pointerId);
    send(event);
  });
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) send(event);
  });
}

// ---------------------------------------------------------------------------------------------- table and files

function isEqual(left, right) {
  return left.length === right.length && left.every((value, index) => Object.is(value, right[index]));
}

// The named traces, those over the same x together: [{heading, columns: [{name, values}]}].
function tables({ data, layout }) {
  const groups = [];
  for (const trace of data) {
    if (!trace.name || !trace.x || trace.visible === false) continue;
    const axis = layout[`xaxis${(trace.xaxis ?? "x").slice(1)}`];
    const heading = axis?.title?.text ?? "x";
    let group = groups.find((each) => each.heading === heading && isEqual(each.x, trace.x));
    if (!group) groups.push((group = { heading, x: trace.x, columns: [{ name: heading, values: trace.x }] }));
    group.columns.push({ name: trace.name, values: trace.y });
  }
  return groups;
}

function evenly(length) {
  const rows = Math.min(length, TABLE_ROWS);
  return Array.from({ length: rows }, (_, row) => (rows > 1 ? Math.round((row * (length - 1)) / (rows - 1)) : 0));
}

function shown(value) {
  if (typeof value !== "number") return value ?? "";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(4) : String(Number(value.toPrecision(5)));
  return text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "").replace("e+", "e").replaceAll("-", "−");
}

function fillTable(node, spec, words) {
  const parts = tables(spec).map(({ columns }) => {
    const table = element("table");
    const head = element("tr");
    for (const { name } of columns) {
      const cell = element("th", "", name);
      cell.scope = "col";
      head.append(cell);
    }
    table.createTHead().append(head);
    const body = table.createTBody();
    for (const index of evenly(columns[0].values.length)) {
      const row = body.insertRow();
      for (const { values } of columns) row.insertCell().textContent = shown(values[index]);
    }
    return table;
  });
  node.replaceChildren(element("p", "", words.table_note ?? ""), ...parts);
}

function quoted(value) {
  const text = String(value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(spec) {
  const meta = spec.layout.meta ?? {};
  const lines = [spec.layout.title?.text ?? "", ...(meta.receipt ?? [])].map((line) => `# ${line}`);
  for (const { columns } of tables(spec)) {
    lines.push(columns.map(({ name }) => quoted(name)).join(","));
    for (let row = 0; row < columns[0].values.length; row += 1) {
      lines.push(columns.map(({ values }) => quoted(values[row])).join(","));
    }
    lines.push("");
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

function fileName(spec, ending) {
  return `${spec.layout.meta?.file ?? "dpviz"}.${ending}`;
}

function saveLink(href, name) {
  const link = element("a");
  link.href = href;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

function saveText(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  saveLink(address, name);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length > WRAP_AT) lines.push("");
    lines[lines.length - 1] += `${lines.at(-1) ? " " : ""}${word}`;
  }
  return lines;
}

// An image carries what the page says around it: the title above, the receipt below.
async function saveImage(Plotly, spec, format) {
  const { title, meta, ...rest } = spec.layout;
  const above = wrapped(title?.text ?? "");
  const below = (meta?.receipt ?? []).flatMap(wrapped);
  const margin = { ...rest.margin, t: 40 + 22 * above.length, b: (rest.margin?.b ?? 50) + 16 * below.length + 12 };
  const layout = {
    ...rest,
    ...EXPORT_SIZE,
    autosize: false,
    margin,
    paper_bgcolor: "white",
    title: { text: above.join("<br>"), x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 16 }, font: { size: 17 } },
    annotations: [
      ...(rest.annotations ?? []),
      { text: below.join("<br>"), x: 0, xref: "paper", xanchor: "left", y: 0, yref: "paper", yanchor: "top", yshift: -52, showarrow: false, align: "left", font: { size: 11, color: "#555" } },
    ],
  };
  const address = await Plotly.toImage({ data: spec.data, layout, config: CONFIG }, { format, ...EXPORT_SIZE, scale: format === "png" ? 2 : 1 });
  saveLink(address, fileName(spec, format));
}
