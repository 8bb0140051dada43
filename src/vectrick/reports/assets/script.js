"use strict";

async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

// Plotly interprets some tags in text, so text from the data is escaped.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

const fromData = new Set(["starts", "ends", "states", "words"]);

// Figures use the names of the page's colors, such as "--one", so that they follow the light and dark themes.
function painted(value) {
  if (typeof value === "string") return value.startsWith("--") ? colour(value.slice(2)) : value;
  if (Array.isArray(value)) return value.length > 1000 ? value : value.map(painted);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fromData.has(key) ? inner : painted(inner)]));
  }
  return value;
}

function axis(given) {
  return {
    gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true,
    ...given, title: { standoff: 8, ...(given || {}).title },
  };
}

function layout(given) {
  const made = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 56, r: 16, t: 28, b: 48 },
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") },
    hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("line"), font: { color: colour("ink") } },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, modebar: { orientation: "v" }, ...given,
  };
  for (const key of Object.keys(made)) if (/^[xy]axis\d*$/.test(key)) made[key] = axis(made[key]);
  return made;
}

// A row of "states" has a character for each pair: 0 is new, other digits are known edges.
function heat(trace) {
  const { starts, ends, states, words, ...rest } = trace;
  return {
    ...rest, x: ends.map(plain), y: starts.map(plain),
    text: states.map((row) => Array.from(row, (state) => plain(words[state]))),
    hovertemplate: "start %{y}<br>end %{x}<br>score %{z:.4g}<br>%{text}<extra></extra>",
  };
}

// The matrix takes the longest, so it comes last; between figures, the page stays responsive.
async function draw(figures) {
  const order = Object.entries(figures).sort((a, b) => (a[0] === "matrix") - (b[0] === "matrix"));
  for (const [id, figure] of order) {
    await new Promise((resume) => setTimeout(resume));
    const data = painted(figure.data).map((trace) => (trace.states ? heat(trace) : trace));
    const config = {
      responsive: true, displaylogo: false, displayModeBar: withTools.has(id), modeBarButtonsToRemove: ["lasso2d", "select2d"],
    };
    Plotly.react(id, data, layout(painted(figure.layout)), config);
  }
}

// Plotly's mode bar would cover the legend, above all on a phone, so a button shows it.
const withTools = new Set();

function toggleTools(button, figures) {
  const id = button.dataset.plot;
  withTools.has(id) ? withTools.delete(id) : withTools.add(id);
  button.setAttribute("aria-pressed", withTools.has(id));
  draw({ [id]: figures[id] });
}

const shownRows = 200;

// A table with separate data shows some of its rows; any other table has all of its rows in the page.
function rowsOf(table, tables, explanations) {
  const given = tables[table.id], why = explanations[table.id] || [];
  if (given) return given.map((cells, j) => ({ cells, why: why[j], text: cells.slice(0, 2).join(" ").toLowerCase() }));
  return Array.from(table.tBodies[0].rows, (row) => ({
    row, text: "", cells: Array.from(row.cells, (cell) => ("value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent)),
  }));
}

// The terms of a row's score, below the row; a click or the Enter key shows and hides them.
function explainable(row, why) {
  row.classList.add("explained");
  row.tabIndex = 0;
  row.setAttribute("aria-expanded", "false");
  const toggle = () => {
    const open = row.getAttribute("aria-expanded") === "true";
    row.setAttribute("aria-expanded", !open);
    if (open) return row.nextElementSibling.remove();
    const below = document.createElement("tr"), cell = below.insertCell(), list = document.createElement("table");
    below.className = "why";
    cell.colSpan = row.cells.length;
    const total = why.reduce((sum, [, value]) => sum + value, 0), largest = Math.max(...why.map(([, value]) => Math.abs(value)));
    for (const [name, value] of [...why, ["total", total]]) {
      const line = list.insertRow(), bar = document.createElement("span");
      line.insertCell().textContent = name;
      const number = line.insertCell();
      number.className = "number";
      number.textContent = value.toPrecision(4);
      bar.className = value < 0 ? "bar negative" : "bar";
      bar.style.width = `${Math.min(100, (100 * Math.abs(value)) / (largest || 1))}px`;
      line.insertCell().append(bar);
    }
    cell.append(list);
    row.after(below);
  };
  row.addEventListener("click", toggle);
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(); });
}

function madeRow(cells, numeric, why) {
  const row = document.createElement("tr");
  if (why) explainable(row, why);
  cells.forEach((value, j) => {
    const cell = row.insertCell();
    if (numeric[j]) cell.className = "number";
    cell.textContent = typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value;
  });
  return row;
}

function compared(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

// Sort by a click on a header, and search if the table has a search field.
function enliven(table, tables, explanations) {
  const all = rowsOf(table, tables, explanations), headers = Array.from(table.tHead.rows[0].cells);
  const numeric = headers.map((header) => header.classList.contains("number"));
  const input = document.querySelector(`input[data-table="${table.id}"]`);
  let order = all;
  const show = () => {
    const words = input ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const left = order.filter(({ text }) => words.every((word) => text.includes(word)));
    const some = tables[table.id] ? left.slice(0, shownRows) : left;
    table.tBodies[0].replaceChildren(...some.map(({ row, cells, why }) => row || madeRow(cells, numeric, why)));
    if (!input) return;
    const cut = some.length < left.length ? `, the first ${some.length} are shown` : "";
    input.parentElement.querySelector(".count").textContent = `${left.length} of ${all.length}${cut}`;
  };
  headers.forEach((header, j) => {
    const button = document.createElement("button");
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const up = header.ariaSort ? header.ariaSort === "descending" : !numeric[j];
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.ariaSort = up ? "ascending" : "descending";
      order = all.slice().sort((a, b) => (up ? 1 : -1) * compared(a.cells[j], b.cells[j]));
      show();
    });
  });
  if (input) input.addEventListener("input", show);
  show();
}

(async () => {
  const [library, text, rows, why] = await Promise.all(["library", "figures", "tables", "explanations"].map(unpack));
  const tables = JSON.parse(rows), explanations = JSON.parse(why);
  document.querySelectorAll("table:has(thead)").forEach((table) => enliven(table, tables, explanations));
  const script = document.createElement("script");
  script.textContent = library;
  document.head.append(script);
  const figures = JSON.parse(text);
  await draw(figures);
  document.querySelectorAll("button.tools").forEach((button) => button.addEventListener("click", () => toggleTools(button, figures)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(figures));
  // Printed pages are light, and narrower than the screen.
  const print = matchMedia("print");
  print.addEventListener("change", () => draw(figures));
  addEventListener("beforeprint", () => document.querySelectorAll(".plot").forEach((plot) => Plotly.relayout(plot, { width: 660 })));
  addEventListener("afterprint", () => document.querySelectorAll(".plot").forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true })));
  document.documentElement.dataset.drawn = Object.keys(figures).length;
})().catch((error) => {
  console.error(error);
  document.querySelectorAll(".plot").forEach((plot) => (plot.textContent = "This figure could not be drawn: " + error));
});
