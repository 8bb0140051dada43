"use strict";

async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

// Plotly reads some tags in text; what comes from the data is shown as it is.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

const fromData = new Set(["starts", "ends", "states", "words"]);

// Figures name the colours of the page, "--one", so that they follow light and dark.
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
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, ...given,
  };
  for (const key of Object.keys(made)) if (/^[xy]axis\d*$/.test(key)) made[key] = axis(made[key]);
  return made;
}

// A row of "states" has a character for each pair: 0 is new, others are known with a label.
function heat(trace) {
  const { starts, ends, states, words, ...rest } = trace;
  return {
    ...rest, x: ends.map(plain), y: starts.map(plain),
    text: states.map((row) => Array.from(row, (state) => plain(words[state]))),
    hovertemplate: "start %{y}<br>end %{x}<br>score %{z:.4g}<br>%{text}<extra></extra>",
  };
}

// The matrix is the heaviest and comes last; between figures the page stays alive.
async function draw(figures) {
  const order = Object.entries(figures).sort((a, b) => (a[0] === "matrix") - (b[0] === "matrix"));
  for (const [id, figure] of order) {
    await new Promise((resume) => setTimeout(resume));
    const data = painted(figure.data).map((trace) => (trace.states ? heat(trace) : trace));
    const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
    Plotly.react(id, data, layout(painted(figure.layout)), config);
  }
}

function search(input) {
  const table = document.getElementById(input.dataset.table);
  const rows = Array.from(table.tBodies[0].rows, (row) => [row, row.textContent.toLowerCase()]);
  const count = input.parentElement.querySelector(".count");
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    count.textContent = `${left} of ${rows.length}`;
  };
  input.addEventListener("input", filter);
  filter();
}

(async () => {
  document.querySelectorAll("input[type=search]").forEach(search);
  const [library, text] = await Promise.all([unpack("library"), unpack("figures")]);
  const script = document.createElement("script");
  script.textContent = library;
  document.head.append(script);
  const figures = JSON.parse(text);
  await draw(figures);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(figures));
  // Paper is light, and narrower than the screen.
  const print = matchMedia("print");
  print.addEventListener("change", () => draw(figures));
  addEventListener("beforeprint", () => document.querySelectorAll(".plot").forEach((plot) => Plotly.relayout(plot, { width: 660 })));
  addEventListener("afterprint", () => document.querySelectorAll(".plot").forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true })));
  document.documentElement.dataset.drawn = Object.keys(figures).length;
})().catch((error) => {
  console.error(error);
  document.querySelectorAll(".plot").forEach((plot) => (plot.textContent = "This figure could not be drawn: " + error));
});
