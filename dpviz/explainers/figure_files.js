// What is drawn, as a table and as files; joined to live_figure.js.

const TABLE_ROWS = 25;
const EXPORT_SIZE = { width: 900, height: 600 };
const WRAP_AT = 84; // characters a line in an exported title

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
