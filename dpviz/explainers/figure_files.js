// What is drawn, as a table and as files; joined to live_figure.js.

const TABLE_ROWS = 25;
const SHORT_TABLE = 3; // rows
const EXPORT_SIZE = { width: 900, height: 600 };
const WRAP_AT = 84; // characters a line in an exported title

function isEqual(left, right) {
  return left.length === right.length && left.every((value, index) => Object.is(value, right[index]));
}

function axisOf(layout, trace, side) {
  return layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {};
}

// What is drawn on an axis of named rows is the row's name.
function named(values, axis) {
  if (!axis.ticktext) return values;
  return Array.from(values, (value) => axis.ticktext[axis.tickvals.indexOf(value)] ?? value);
}

// The named traces, as {name, heads: [x, y], x, y}.
function curves({ data, layout }) {
  const drawn = data.filter((trace) => trace.name && trace.x && trace.visible !== false);
  return drawn.map((trace) => {
    const axes = ["x", "y"].map((side) => axisOf(layout, trace, side));
    const heads = axes.map((axis, at) => axis.title?.text || "xy"[at]);
    return { name: trace.name, heads, x: named(trace.x, axes[0]), y: named(trace.y, axes[1]) };
  });
}

// Curves over the same x stand side by side: [{x, columns: [{name, values}]}].
function tables(spec) {
  const groups = [];
  for (const { name, heads, x, y } of curves(spec)) {
    let group = groups.find((each) => isEqual(each.x, x));
    if (!group) groups.push((group = { x, columns: [{ name: heads[0], values: x }] }));
    group.columns.push({ name, values: y });
  }
  return groups;
}

// How many rows each table may show, all together at most TABLE_ROWS; the short ones are whole.
function rowsOf(groups) {
  const lengths = groups.map(({ x }) => x.length);
  const isShort = (length) => length <= SHORT_TABLE;
  const left = TABLE_ROWS - lengths.filter(isShort).reduce((sum, length) => sum + length, 0);
  const long = lengths.filter((length) => !isShort(length)).length;
  return lengths.map((length) => (isShort(length) ? length : Math.min(length, Math.max(Math.floor(left / long), 2))));
}

function evenly(length, rows) {
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
  const groups = tables(spec);
  const rows = rowsOf(groups);
  const parts = groups.map(({ x, columns }, group) => {
    const table = element("table");
    const head = element("tr");
    for (const { name } of columns) {
      const cell = element("th", "", name);
      cell.scope = "col";
      head.append(cell);
    }
    table.createTHead().append(head);
    const body = table.createTBody();
    for (const index of evenly(x.length, rows[group])) {
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
  const drawn = curves(spec);
  lines.push(["curve", ...(drawn[0]?.heads ?? ["x", "y"])].map(quoted).join(","));
  for (const { name, x, y } of drawn) {
    for (let at = 0; at < x.length; at += 1) lines.push([name, x[at], y[at]].map(quoted).join(","));
  }
  return `${lines.join("\n")}\n`;
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
