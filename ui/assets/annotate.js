/* The Annotate desk: keys, the form's id and clock, and one round trip per label. The server renders every part (escaped). */
const $ = (selector) => element.querySelector(selector);
const NEW_ITEM_MS = 250; // a second tap of the same key must not label an item that nobody can have read yet
const SLOW_MS = 10000;
let view = {}, form = "", busy = false, rechosen = false, timer = 0, samples = 4;
let revealed = kept("reveal"), shownAt = 0, since = 0, spent = 0; // the clock counts only while the page is visible

function kept(name) { try { return localStorage.getItem("trioscope-" + name) === "1"; } catch (e) { return false; } }
function keep(name, on) { try { localStorage.setItem("trioscope-" + name, on ? "1" : "0"); } catch (e) { /* private mode */ } }
function newId() { // randomUUID is missing on pages served over plain http from another machine
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
function tick() { const now = performance.now(); if (since) spent += now - since; since = document.hidden ? 0 : now; }
function say(text, tone) { const box = $(".an-message"); box.textContent = text; box.dataset.tone = tone; }
function queue() {
  const fields = Object.fromEntries(new FormData($(".an-filters")));
  return fields.order === undefined ? {} : Object.assign(fields, { round: Number(fields.round) });
}

function send(kind, extra) {
  if (busy) return;
  busy = true;
  element.querySelector(".an").dataset.busy = kind;
  clearTimeout(timer);
  timer = setTimeout(() => { release(); say("No answer from the server for 10 seconds. Press the same button again: a label is stored once.", "error"); }, SLOW_MS);
  trigger("act", Object.assign({ kind: kind, queue: queue() }, extra));
}
function release() { busy = false; clearTimeout(timer); delete $(".an").dataset.busy; }

function label(value) {
  if (busy || !view.item_id || performance.now() - shownAt < NEW_ITEM_MS) return;
  tick();
  $(".an-buttons [data-value=" + value + "]").classList.add("an-hit");
  send("label", { item_id: view.item_id, value: value, note: $(".an-note").value, reasons: reasons(), client_uuid: form,
                  milliseconds: Math.round(spent), expected: view.expected, seen: view.seen });
}
function reasons() { return Array.from(element.querySelectorAll(".an-chip[aria-pressed=true]"), (b) => b.dataset.reason); }
function chip(button) { button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true")); }
function neighbours() { return Array.from(element.querySelectorAll(".an-last [data-open]"), (b) => Number(b.dataset.open)); }
function back() {
  const older = neighbours()[neighbours().indexOf(view.item_id) + 1];
  if (older) send("open", { item_id: older });
  else say("No earlier answer in the list.", "");
}
function undoNewest() { // by its id: pressed again because no answer came, it must not take the label before it too
  const newest = $(".an-last [data-undo]");
  send("undo", newest ? { label_id: Number(newest.dataset.undo) } : {});
}
function choose() { if (busy) rechosen = true; else send("next"); }
function make() {
  if (busy) return;
  busy = true; $(".an").dataset.busy = "make";
  const button = $("[data-do=make]"); if (button) { button.disabled = true; button.textContent = "Searching the demo questions' passages …"; }
  trigger("make", { queue: queue() });
}
function toggleReveal() {
  if (!view.reveal_known) { say("The judge's verdict appears after you have answered.", ""); return; }
  revealed = !revealed; keep("reveal", revealed); showReveal(revealed);
}
function showReveal(on) { $(".an-reveal").hidden = !(view.reveal_known && on); $("[data-do=reveal]").setAttribute("aria-expanded", String(!$(".an-reveal").hidden)); }
function guidelines() { showGuide($(".an-guide").hidden); keep("guide", !$(".an-guide").hidden); }
function showGuide(on) { $(".an-guide").hidden = !on; $(".an-top [data-do=guidelines]").setAttribute("aria-expanded", String(on)); }
function saveGuideline() {
  const text = $(".an-edit textarea");
  trigger("guideline", { text: text.value, base: Number(text.dataset.base) });
}
function fork(button) {
  if (busy) return;
  button.disabled = true;
  trigger("fork", { item_id: view.item_id, run: button.dataset.run, round: Number(button.dataset.round), value: button.dataset.verdict, note: $(".an-note").value });
}
const DO = { guidelines, back, make, fork, guideline: saveGuideline, evidence: askEvidence, reveal: toggleReveal,
             undo: undoNewest, next: () => send("next"), cancel: (b) => server.cancel({ token: b.dataset.token }),
             keep: (b) => { b.disabled = true; trigger("keep", { token: b.dataset.token }); } };

function apply(next) {
  release();
  element.querySelectorAll(".an-hit").forEach((b) => b.classList.remove("an-hit"));
  if (next.goto) { location.href = next.goto; return; }
  for (const [part, place] of [["progress", ".an-progress"], ["body", ".an-item"], ["reveal", ".an-reveal"], ["last", ".an-last"],
                               ["queue", ".an-queue-words"], ["filters", ".an-filters"], ["guide", ".an-guide-body"]])
    if (next[part] !== null) $(place).innerHTML = next[part];
  samples = next.samples || samples;
  for (const n of element.querySelectorAll("[data-n]")) if (!n.value) n.value = samples;
  const known = next.reveal === null ? view.reveal_known : next.reveal !== "";
  const changed = next.fresh && next.item_id !== view.item_id;
  view = Object.assign({}, view, next.fresh ? next : { serial: next.serial, expected: next.expected ?? view.expected });
  view.reveal_known = known;
  if (next.message || next.fresh) { const box = $(".an-message"); box.innerHTML = next.message; box.dataset.tone = next.tone; }
  if (next.fresh) startForm(next, changed);
  if (next.fresh || next.value) markGiven(next.value);
  if (!next.fresh) element.querySelectorAll(".an-fork button:disabled").forEach((b) => { b.disabled = false; });
  if (next.evidence) watchEvidence(next.evidence);
  else if (next.tone === "error") element.querySelectorAll(".an-evidence [data-do=evidence]:disabled").forEach((b) => { b.disabled = false; b.closest(".an-evidence").querySelector(".an-samples").textContent = ""; });
  element.querySelectorAll("time[data-clock]").forEach((t) => { t.textContent = new Date(t.dateTime).toLocaleTimeString("en-GB"); });
  // A queue that was chosen while an act was under way; a form that was not saved stays, and its next act brings the new queue.
  if (rechosen && (next.fresh || next.tone !== "error")) send("next");
  rechosen = false;
}
function startForm(next, changed) {
  form = newId(); spent = 0; since = 0; tick(); shownAt = performance.now();
  $(".an").dataset.state = next.item_id ? (next.reviewing ? "reviewing" : "item") : "empty";
  $(".an-note").value = next.note;
  for (const b of element.querySelectorAll(".an-chip")) b.setAttribute("aria-pressed", String(next.reasons.includes(b.dataset.reason)));
  showReveal(revealed || Boolean(next.reviewing && next.value)); // reopening an answered item shows verdict and gold
  if (changed && window.scrollY > 0) window.scrollTo(0, 0);
  const now = new URLSearchParams(location.search), query = new URLSearchParams(next.query || "");
  if (now.has("__theme")) query.set("__theme", now.get("__theme"));
  if (next.reviewing) query.set("item", next.item_id);
  if (next.seen) query.set("seen", "1");
  history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
}
function markGiven(value) {
  element.querySelectorAll(".an-key").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === value)));
}

const KEYS = { 1: () => label("sufficient"), 2: () => label("insufficient"), 3: () => label("unsure"), 0: () => label("skip"),
               n: () => $(".an-note").focus(), b: back, u: DO.undo, v: toggleReveal, g: guidelines, q: DO.next };
function typing(target) { return target.closest && target.closest("input, textarea, select, [contenteditable=true], [role=listbox], [role=textbox]"); }
function onKey(event) {
  if (!element.isConnected) { document.removeEventListener("keydown", onKey); return; }
  if (event.key === "Escape") {
    if (typing(event.target)) event.target.blur(); else if ($(".an-queue").open) $(".an-queue").open = false; else if (!$(".an-guide").hidden) guidelines();
    return;
  }
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  const digit = !event.shiftKey && /^(Digit|Numpad)\d$/.test(event.code) ? event.code.slice(-1) : ""; // digits need shift on some layouts
  const key = /^\d$/.test(event.key) ? event.key : digit || event.key.toLowerCase();
  if (document.querySelector("dialog[open]")) return;
  const reason = /^[4-9]$/.test(key) ? element.querySelectorAll(".an-chip")[Number(key) - 4] : null;
  if (reason) { event.preventDefault(); chip(reason); }
  else if (KEYS[key]) { event.preventDefault(); KEYS[key](); }
}
element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) { if (!event.target.closest(".an-queue")) $(".an-queue").open = false; return; }
  if (button.dataset.value) label(button.dataset.value);
  else if (button.dataset.reason) { chip(button); button.blur(); }
  else if (button.dataset.open) send("open", { item_id: Number(button.dataset.open) });
  else if (button.dataset.undo) send("undo", { label_id: Number(button.dataset.undo) });
  else if (DO[button.dataset.do]) DO[button.dataset.do](button);
});
$(".an-filters").addEventListener("change", (event) => {
  event.target.blur();
  if (event.target.dataset.rule) trigger("rule", { overlap: Number(event.target.value), queue: queue() });
  else choose();
});
$(".an-filters").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", tick);
document.addEventListener("keydown", onKey);
if (kept("guide") && matchMedia("(min-width:761px)").matches) showGuide(true);
watch("value", () => { if (props.value && props.value.serial) apply(props.value); });
if (props.value && props.value.serial) apply(props.value);
