// What is drawn, as a table and as files; joined to live_figure.js.

const TABLE_ROWS = 25;
const EXPORT_SIZE = { width: 900, height: 600 };
const WRAP_AT = 84; // narrow characters a line in an exported title
const PIECES = /[⺀-鿿豈-﫿＀-￯][、。，．：；！？）」』】]*|[^\s⺀-鿿豈-﫿＀-￯]+/g; // where a line may break

function isEqual(left, right) {
  return left.length === right.length && left.every((value, index) => Object.is(value, right[index]));
}

function axisOf(layout, trace, side) {
  return layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {};
}

// What is drawn on an axis of named rows is the row's name.
function named(values, axis) {
  if (!axis.ticktext || axis.type === "log") return values;
  return Array.from(values, (value) => axis.ticktext[axis.tickvals.indexOf(value)] ?? value);
}

// Whether a place is within the ends of an axis; a line may go on beyond them.
function isAlong(axis, value) {
  if (!axis.range) return true;
  const [low, high] = [...axis.range].sort((one, other) => one - other);
  const at = axis.type === "log" ? Math.log10(value) : value;
  return !(at < low - 1e-9 || at > high + 1e-9);
}

// The named traces, as {name, trace, heads: [x, y], x, y, bounds: [of x, of y]}: "upper" or "lower" for a bound.
function curves({ data, layout }) {
  const drawn = data.filter((trace) => trace.name && trace.x && isShown(trace));
  return drawn.map((trace) => {
    const axes = ["x", "y"].map((side) => axisOf(layout, trace, side));
    const heads = axes.map((axis, at) => axis.title?.text || "xy"[at]);
    const isHere = (_, at) => !trace.mode?.includes("lines") || isAlong(axes[0], trace.x[at]);
    const [x, y] = ["x", "y"].map((side, at) => named(trace[side].filter(isHere), axes[at]));
    const bound = trace.meta?.bound ?? "";
    const bounds = axes[1].tickvals && axes[1].type !== "log" ? [bound, ""] : ["", bound]; // of rows the x is the value
    return { name: trace.name, trace, heads, x, y, bounds };
  });
}

// Curves over the same x stand side by side: [{x, columns: [{name, values, bound}]}].
function tables(spec) {
  const groups = [];
  for (const { name, heads, x, y, bounds } of curves(spec)) {
    let group = groups.find((each) => isEqual(each.x, x) && each.columns[0].bound === bounds[0]);
    if (!group) groups.push((group = { x, columns: [{ name: heads[0], values: x, bound: bounds[0] }] }));
    group.columns.push({ name, values: y, bound: bounds[1] });
  }
  return groups;
}

// How many rows each table may show, all together at most TABLE_ROWS: what the short ones leave is for the long.
function rowsOf(groups) {
  const rows = groups.map(() => 0);
  let left = TABLE_ROWS;
  const byLength = [...groups.keys()].sort((one, other) => groups[one].x.length - groups[other].x.length);
  for (const [rank, group] of byLength.entries()) {
    rows[group] = Math.min(groups[group].x.length, Math.ceil(left / (groups.length - rank)));
    left -= rows[group];
  }
  return rows;
}

function evenly(length, rows) {
  return Array.from({ length: rows }, (_, row) => (rows > 1 ? Math.round((row * (length - 1)) / (rows - 1)) : 0));
}

// To five digits: an upper bound is never shown less than it is, a lower bound never more.
function near(value, bound) {
  const nearest = Number(value.toPrecision(5));
  const off = bound === "upper" && nearest < value ? 1 : bound === "lower" && nearest > value ? -1 : 0;
  if (off === 0) return nearest;
  return Number((nearest + off * 10 ** (Math.floor(Math.log10(Math.abs(value))) - 4)).toPrecision(5));
}

function shown(value, bound) {
  if (typeof value !== "number") return value ?? "";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const rounded = near(value, bound);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? rounded.toExponential(4) : String(rounded);
  return text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "").replace("e+", "e").replaceAll("-", "−");
}

function fillTable(node, spec, words) {
  const groups = tables(spec);
  const rows = rowsOf(groups);
  const parts = groups.map(({ x, columns }, group) => {
    const table = element("table");
    table.createCaption().textContent = columns.slice(1).map(({ name }) => name).join("; ");
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
      for (const { values, bound } of columns) row.insertCell().textContent = shown(values[index], bound);
    }
    return table;
  });
  node.replaceChildren(element("p", "", words.table_note ?? ""), ...parts);
}

function quoted(value) {
  const text = String(value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(spec, cards, words) {
  const meta = spec.layout.meta ?? {};
  const lines = [spec.layout.title?.text ?? "", ...(meta.receipt ?? [])].map((line) => `# ${line}`);
  const drawn = curves(spec);
  lines.push([words.curve, words.status, ...(drawn[0]?.heads ?? ["x", "y"])].map(quoted).join(","));
  for (const { name, trace, x, y } of drawn) {
    const status = statusOf(trace, cards);
    for (let at = 0; at < x.length; at += 1) lines.push([name, status, x[at], y[at]].map(quoted).join(","));
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

function isWide(character) {
  return character >= "⺀" && character <= "￯";
}

// Lines of at most WRAP_AT narrow characters; a line may end at a space, and beside any wide character.
function wrapped(text) {
  const lines = [];
  let room = 0;
  let end = 0; // of the last piece
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const gap = index > end ? " " : "";
    const width = gap.length + [...piece].reduce((sum, character) => sum + (isWide(character) ? 2 : 1), 0);
    const fits = lines.length > 0 && width <= room;
    lines.push(fits ? `${lines.pop()}${gap}${piece}` : piece);
    room = (fits ? room : WRAP_AT) - width;
    end = index + piece.length;
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
    paper_bgcolor: "white", // a saved picture stands on its own
    title: { text: above.join("<br>"), x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 16 }, font: { size: 17 } },
    annotations: [
      ...(rest.annotations ?? []),
      { text: below.join("<br>"), x: 0, xref: "paper", xanchor: "left", y: 0, yref: "paper", yanchor: "top", yshift: -52, showarrow: false, align: "left", font: { size: 11, color: "#555" } },
    ],
  };
  const address = await Plotly.toImage({ data: spec.data, layout, config: CONFIG }, { format, ...EXPORT_SIZE, scale: format === "png" ? 2 : 1 });
  saveLink(address, fileName(spec, format));
}
