// LiveFigure in the browser: keep the figure's state per model, draw it with plotly.js, and follow each change.
//
// plotly.js draws a figure anew for any change, which takes it longer than a step of a slider may last. So where only
// the arrays and texts of drawn traces changed, the drawn nodes are moved instead (figure_moves.js), and plotly.js
// draws once more when the reader points at the figure: only then does it matter what it knows.
//
// Its parts: figure_look.js (theme, type, print), figure_moves.js, figure_cards.js, figure_files.js (table and files).

const CONFIG = { displayModeBar: false, doubleClick: "reset", responsive: false, showTips: false };
const FRAME = 12; // ms; two draws closer than this share one animation frame
const LONGEST_WAIT = 1500; // ms

export default () => {
  let spec; // the figure as it stands
  let number = 0; // of the last message that is in `spec`
  const views = new Set();

  function take(content, buffers) {
    let paths; // of what changed; none when all may have
    if (content.kind === "whole") {
      spec = decode(content.spec, buffers);
    } else if (content.number === number + 1) {
      for (const [path, value] of content.edits) edit(spec, path, decode(value, buffers));
      paths = content.edits.map(([path]) => path);
    } else {
      return false;
    }
    number = content.number;
    for (const view of views) view.draw(paths);
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
      const said = { words: model.get("_words"), cards: model.get("_cards"), dark: model.get("_dark") };
      const view = makeView(el, () => spec, said);
      views.add(view);
      Promise.all([library(model), addressIsRead(el)]).then(
        ([Plotly]) => views.has(view) && view.start(Plotly, () => number),
        () => view.fail(),
      );
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
      script.addEventListener("error", () => fetchFromKernel(model, ready, reject));
      const isOver = performance.getEntriesByName(script.src).length > 0 && document.readyState === "complete";
      return isOver ? fetchFromKernel(model, ready, reject) : undefined; // it failed before anyone listened
    }
    return fetchFromKernel(model, ready, reject);
  });
  return globalThis.dpvizPlotly;
}

// A page opened by a link starts in the link's state: its first picture waits until the kernel has read the address.
function addressIsRead(el) {
  if (document.documentElement.dataset.dpviz !== "page" || location.search.length < 2) return Promise.resolve();
  const patience = performance.now() + LONGEST_WAIT;
  return new Promise((resolve) => {
    const look = () => {
      const isRead = Number(el.closest(".dpviz")?.dataset.ready) > 0;
      if (isRead || performance.now() > patience) resolve();
      else requestAnimationFrame(look);
    };
    look();
  });
}

function fetchFromKernel(model, resolve, reject) {
  const receive = (content, buffers) => {
    if (content.kind !== "library") return;
    model.off("msg:custom", receive);
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
    script.onload = () => resolve(URL.revokeObjectURL(script.src));
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

// A region that a button opens; it takes the focus, since it may scroll.
function region(className, label) {
  const node = element("div", className);
  node.id = `dpviz-${Math.random().toString(36).slice(2)}`;
  node.hidden = true;
  node.tabIndex = 0;
  node.setAttribute("role", "region");
  node.setAttribute("aria-label", label);
  return node;
}

function makeView(el, current, { words, cards, dark }) {
  const root = element("figure", "dpviz-figure");
  const caption = element("figcaption", "dpviz-title");
  const plot = element("div", "dpviz-plot");
  const tools = element("div", "dpviz-tools");
  const table = region("dpviz-table", words.table ?? "");
  const explained = region("dpviz-cards", words.cards ?? "");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-details", table.id);
  root.append(caption, plot, tools, explained, table);
  el.append(root);

  let Plotly;
  let number;
  let lastDraw = 0;
  let waiting = 0;
  let isMoved = false; // by hand, so that plotly.js does not know
  let isPrinting = false;
  let drawn = {}; // look and size of what stands there
  let hovered;
  const ends = [];

  // What stands around the plot follows every draw, whoever moves the plot itself.
  function drawAround() {
    const { title, meta } = current().layout;
    setText(caption, title?.text ?? "");
    plot.setAttribute("aria-label", meta?.alt ?? title?.text ?? "");
    root.classList.toggle("dpviz-wide", Boolean(meta?.wide));
    if (!table.hidden) fillTable(table, current(), words);
    plot.dataset.drawn = number();
  }

  function drawNow() {
    cancelAnimationFrame(waiting);
    waiting = 0;
    isMoved = false;
    drawAround();
    const own = lookOf(root);
    const look = isPrinting ? { ...own, ...PRINTED } : own;
    const { data, layout } = dressed(current(), look, dark);
    const { title, meta, ...rest } = layout;
    const size = { width: isPrinting ? PRINT_WIDTH : plot.clientWidth, height: plot.clientHeight };
    Plotly.react(plot, data, { ...rest, ...size, ...pointed(rest), autosize: false, uirevision: "stay" }, CONFIG);
    drawn = { look, ...size };
    if (hovered) Plotly.Fx.hover(plot, hovered);
    plot.dataset.settled = number();
    lastDraw = performance.now();
  }

  function draw(paths) {
    if (!Plotly || waiting) return;
    if (paths && !hovered && moveDrawn(Plotly, plot, current(), paths)) {
      drawAround();
      isMoved = true;
    } else if (performance.now() - lastDraw > FRAME) {
      drawNow();
    } else {
      waiting = requestAnimationFrame(drawNow);
    }
  }

  function start(loaded, count) {
    Plotly = loaded;
    number = count;
    drawNow();
    plot.on("plotly_hover", (event) => (hovered = event.event));
    plot.on("plotly_unhover", () => (hovered = undefined));
    const resizer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = plot;
      const isNew = width !== drawn.width || height !== drawn.height;
      if (isNew && width > 0 && height > 0 && !isPrinting) drawNow();
    });
    resizer.observe(plot);
    ends.push(
      () => resizer.disconnect(),
      onLookChange(root, () => isPrinting || isSameLook(lookOf(root), drawn.look) || drawNow()),
      onPrint((is) => {
        if (is === isPrinting) return;
        isPrinting = is;
        drawNow();
      }),
    );
    if (current().layout.meta?.drag) dragControl(plot, () => current().layout.meta.drag);
    const catchUp = (event) => isMoved && !plot.hasPointerCapture(event.pointerId) && drawNow();
    for (const kind of ["pointermove", "pointerdown"]) plot.addEventListener(kind, catchUp, true);
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
  const opener = (kind, node, fill) => {
    const opens = button(kind, () => {
      node.hidden = !node.hidden;
      opens.setAttribute("aria-expanded", String(!node.hidden));
      if (!node.hidden) fill();
    });
    opens?.setAttribute("aria-expanded", "false");
    opens?.setAttribute("aria-controls", node.id);
  };
  opener("table", table, () => fillTable(table, current(), words));
  if (cards.length) opener("cards", explained, () => fillCards(explained, cards, dark));
  button("csv", () => saveText(csv(current(), cards, words), fileName(current(), "csv"), "text/csv"));
  for (const format of ["svg", "png"]) {
    button(format, () => saveImage(Plotly, dressed(current(), { ...lookOf(root), ...PRINTED }, dark), format));
  }

  return {
    draw,
    start,
    fail: () => setText(caption, words.no_library ?? ""),
    end() {
      for (const stop of ends) stop();
      cancelAnimationFrame(waiting);
      if (Plotly) Plotly.purge(plot);
    },
  };
}

// No zoom by dragging where a finger must scroll the page.
function pointed(layout) {
  const isTouch = matchMedia("(pointer: coarse)").matches;
  return { dragmode: isTouch || layout.dragmode === false ? false : "zoom" };
}

// Dragging in the plot moves a control of the page; whoever owns the control listens on an element above.
function dragControl(plot, drag) {
  const send = (event, isNew) => {
    const axis = plot._fullLayout.xaxis;
    const bounds = plot.getBoundingClientRect();
    const at = event.clientX - bounds.left - axis._offset;
    const { control, low, high, step } = drag();
    const nearest = Math.round(axis.p2d(at) / step) * step;
    const value = Math.min(high, Math.max(low, nearest));
    plot.dispatchEvent(
      new CustomEvent("dpviz-drag", { bubbles: true, detail: { control, text: String(Number(value.toFixed(9))), isNew } }),
    );
  };
  plot.classList.add("dpviz-draggable");
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.setPointerCapture(event.pointerId);
    send(event, true);
  });
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) send(event, false);
  });
}
