/* Evaluate: asks for the parts that have changed, keeps what the reader opened, sorted and chose, and hands files to the browser. */
const query = new URLSearchParams(location.search);
const state = { id: query.get("id") || "", metric: query.get("metric") || "em", cost: query.get("cost") || "calls", first: query.get("first") || "", second: query.get("second") || "",
  chosen: {}, pairPage: 1, runsPage: 1 };
const root = element.querySelector(".ev"), message = root.querySelector(".ev-message");
const part = (name) => root.querySelector(`[data-part="${name}"]`);
const sorts = new Map();
let hashes = {}, turn = 0, toShow = state.first ? "pair" : "";
document.body.classList.toggle("ev-all", !state.id);

const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
const say = (text) => { message.textContent = text || ""; };

async function follow() {
  const mine = ++turn;
  while (mine === turn) {
    let answer = null;
    try { answer = await server.look({ ...state, known: hashes }); } catch (e) { answer = null; }
    if (mine !== turn) return;
    if (!answer) { say("The connection to the app is lost; trying again. An evaluation goes on without this page."); await sleep(3000); continue; }
    say(answer.error);
    if (answer.error) { root.dataset.state = "error"; return; }
    take(answer);
    await sleep(answer.active ? 1000 : 8000);
  }
}
function take({ parts, hashes: fresh, active }) {
  root.dataset.state = active ? "active" : "still";
  for (const section of root.querySelectorAll("[data-part]")) if (!(section.dataset.part in fresh)) section.replaceChildren();
  for (const [name, html] of Object.entries(parts)) {
    const section = part(name), open = new Set([...section.querySelectorAll("details[open]")].map((d) => d.dataset.k));
    const first = !section.firstChild, focus = section.contains(document.activeElement);
    if (focus || !first) window.Trioscope.patch(section, window.Trioscope.fragment(html)); else section.replaceChildren(window.Trioscope.fragment(html));
    if (!first) for (const d of section.querySelectorAll("details")) if (open.has(d.dataset.k)) d.open = true;
    for (const t of section.querySelectorAll("table[data-sorted]")) sort(t);
    for (const t of section.querySelectorAll("time[datetime]")) { const at = new Date(t.dateTime); t.textContent = `${at.toLocaleDateString("sv")} ${at.toLocaleTimeString("sv").slice(0, 5)}`; }
    for (const s of section.querySelectorAll("select[data-set]")) s.value = state[s.dataset.set];
  }
  hashes = fresh;
  const wanted = toShow && part(toShow);
  if (wanted?.firstChild) { toShow = ""; wanted.querySelector("[tabindex='-1']")?.focus({ preventScroll: true }); wanted.scrollIntoView({ block: "start" }); }
}

// ---- sorting: numbers first and by their mean, text by the alphabet; what has no figure stands last
const figure = (cell) => { const n = parseFloat(cell.textContent.replaceAll(",", "").replace("\u2212", "-")); return Number.isNaN(n) ? null : n; };
function sort(table) {
  const by = sorts.get(table.dataset.sorted);
  if (!by) return;
  const body = table.tBodies[0], rows = [...body.rows];
  const numbers = rows.some((r) => figure(r.cells[by.col]) !== null && by.col > 0);
  const key = (r) => (numbers ? figure(r.cells[by.col]) : r.cells[by.col].textContent.trim());
  rows.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return by.sign * (numbers ? x - y : x.localeCompare(y));
  });
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((th, n) => th.setAttribute("aria-sort", n !== by.col ? "none" : by.sign > 0 ? "ascending" : "descending"));
}

function address() {
  const to = new URLSearchParams({ id: state.id });
  if (state.metric !== "em") to.set("metric", state.metric);
  if (state.cost !== "calls") to.set("cost", state.cost);
  if (state.first) { to.set("first", state.first); to.set("second", state.second); }
  const theme = query.get("__theme");
  if (theme) to.set("__theme", theme);
  history.replaceState(null, "", `${location.pathname}?${to}`);
}
function choose(changes, show) { Object.assign(state, changes); toShow = show || ""; address(); follow(); }

async function download(button) {
  const answer = await server.file({ id: state.id, metric: state.metric, form: button.dataset.file, table: button.dataset.table === "rows" ? "" : button.dataset.table });
  if (!answer || answer.error) return say(answer?.error || "The app does not answer; try again.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([answer.text], { type: "text/plain;charset=utf-8" }));
  link.download = answer.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The names of our events stand here as strings: Gradio makes its listeners from them.
const ACTS = { halt: () => trigger("halt", { id: state.id }), proceed: () => trigger("proceed", { id: state.id }), retry: () => trigger("retry", { id: state.id }) };
root.addEventListener("click", (e) => {
  const mark = e.target.closest("[data-label]");
  if (mark) return choose({ chosen: { label: mark.dataset.label }, runsPage: 1 }, "runs");
  const b = e.target.closest("button");
  if (!b) return;
  const d = b.dataset;
  if (d.do) { b.disabled = true; ACTS[d.do](); setTimeout(() => { b.disabled = false; }, 5000); }
  else if (d.col !== undefined) {
    const table = b.closest("table"), before = sorts.get(table.dataset.sorted), col = Number(d.col);
    sorts.set(table.dataset.sorted, { col, sign: before?.col === col ? -before.sign : col ? -1 : 1 });
    sort(table);
  }
  else if (d.file) download(b);
  else if (d.chosen) choose({ chosen: JSON.parse(d.chosen), runsPage: 1 }, "runs");
  else if (d.first) choose({ first: d.first, second: d.second, pairPage: 1 }, "pair");
  else if (d.close) choose({ first: "", second: "" });
  else if (d.page) choose(d.of === "pair" ? { pairPage: Number(d.page) } : { runsPage: Number(d.page) }, d.of);
});
root.addEventListener("change", (e) => { if (e.target.dataset.set) choose({ [e.target.dataset.set]: e.target.value }); });
watch("value", () => { if (props.value?.goto) location.href = props.value.goto; else if (props.value?.serial) follow(); });
(function begin() { if (window.Trioscope) follow(); else setTimeout(begin, 20); })();
