/* The Annotate desk: keys, the form's id and clock, and one round trip per label. The server renders every part (escaped). */
const $ = (selector) => element.querySelector(selector);
const NEW_ITEM_MS = 250; // a second tap of the same key must not label an item that nobody can have read yet
const SLOW_MS = 10000;
let view = {}, form = "", busy = false, revealed = false, timer = 0;
let shownAt = 0, since = 0, spent = 0; // the clock counts only while the page is visible

function newId() { // randomUUID is missing on pages served over plain http from another machine
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
function tick() { const now = performance.now(); if (since) spent += now - since; since = document.hidden ? 0 : now; }
function say(text, tone) { const box = $(".an-message"); box.textContent = text; box.dataset.tone = tone; }

function send(kind, extra) {
  if (busy) return;
  busy = true;
  element.querySelector(".an").dataset.busy = kind;
  clearTimeout(timer);
  timer = setTimeout(() => { release(); say("No answer from the server for 10 seconds. Press the same button again: a label is stored once.", "error"); }, SLOW_MS);
  trigger("act", Object.assign({ kind: kind, order: $(".an-order select").value }, extra));
}
function release() { busy = false; clearTimeout(timer); delete $(".an").dataset.busy; }

function label(value) {
  if (busy || !view.item_id || performance.now() - shownAt < NEW_ITEM_MS) return;
  tick();
  $(".an-buttons [data-value=" + value + "]").classList.add("an-hit");
  send("label", { item_id: view.item_id, value: value, note: $(".an-note").value, client_uuid: form,
                  milliseconds: Math.round(spent), expected: view.expected, seen: view.seen });
}
function neighbours() { return Array.from(element.querySelectorAll(".an-last [data-open]"), (b) => Number(b.dataset.open)); }
function back() {
  const older = neighbours()[neighbours().indexOf(view.item_id) + 1];
  if (older) send("open", { item_id: older });
  else say("No earlier answer in the list.", "");
}
function make() {
  if (busy) return;
  busy = true; $(".an").dataset.busy = "make";
  const button = $("[data-do=make]"); if (button) { button.disabled = true; button.textContent = "Searching the demo questions' passages …"; }
  trigger("make", { order: $(".an-order select").value });
}
function toggleReveal() {
  if (!view.reveal_known) { say("The judge's verdict appears after you have answered.", ""); return; }
  revealed = !revealed; showReveal();
}
function showReveal() { $(".an-reveal").hidden = !(view.reveal_known && revealed); $("[data-do=reveal]").setAttribute("aria-expanded", String(revealed)); }
function guidelines() { const box = $(".an-guide"); if (box.open) box.close(); else box.showModal(); }
const DO = { guidelines, back, make, reveal: toggleReveal, undo: () => send("undo"), next: () => send("next") };

function apply(next) {
  release();
  element.querySelectorAll(".an-hit").forEach((b) => b.classList.remove("an-hit"));
  for (const [part, place] of [["progress", ".an-progress"], ["body", ".an-item"], ["reveal", ".an-reveal"], ["last", ".an-last"]])
    if (next[part] !== null) $(place).innerHTML = next[part];
  const known = next.reveal === null ? view.reveal_known : next.reveal !== "";
  const changed = next.fresh && next.item_id !== view.item_id;
  view = Object.assign({}, view, next.fresh ? next : { serial: next.serial, expected: next.expected ?? view.expected });
  view.reveal_known = known;
  const box = $(".an-message");
  box.innerHTML = next.message; box.dataset.tone = next.tone;
  if (next.fresh) startForm(next, changed);
  if (next.fresh || next.value) markGiven(next.value);
  element.querySelectorAll("time[data-clock]").forEach((t) => { t.textContent = new Date(t.dateTime).toLocaleTimeString("en-GB"); });
}
function startForm(next, changed) {
  form = newId(); spent = 0; since = 0; tick(); shownAt = performance.now();
  $(".an").dataset.state = next.item_id ? (next.reviewing ? "reviewing" : "item") : "empty";
  $(".an-note").value = next.note;
  $(".an-order select").value = next.order;
  revealed = Boolean(next.reviewing && next.value); // reopening an answered item shows verdict and gold
  showReveal();
  if (changed && window.scrollY > 0) window.scrollTo(0, 0);
  const query = new URLSearchParams(location.search);
  if (next.reviewing) query.set("item", next.item_id); else query.delete("item");
  if (next.seen) query.set("seen", "1"); else query.delete("seen");
  if (next.order === "uncertain") query.delete("order"); else query.set("order", next.order);
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
  if (event.key === "Escape" && event.target === $(".an-note")) { event.target.blur(); return; }
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  const digit = !event.shiftKey && /^(Digit|Numpad)\d$/.test(event.code) ? event.code.slice(-1) : ""; // digits need shift on some layouts
  const key = /^\d$/.test(event.key) ? event.key : digit || event.key.toLowerCase();
  const open = document.querySelector("dialog[open]");
  if (open && !(key === "g" && open === $(".an-guide"))) return;
  if (KEYS[key]) { event.preventDefault(); KEYS[key](); }
}
element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) { if (event.target === $(".an-guide")) $(".an-guide").close(); return; }
  if (button.dataset.value) label(button.dataset.value);
  else if (button.dataset.open) send("open", { item_id: Number(button.dataset.open) });
  else if (DO[button.dataset.do]) DO[button.dataset.do]();
});
$(".an-order select").addEventListener("change", (event) => { event.target.blur(); send("next"); });
document.addEventListener("visibilitychange", tick);
document.addEventListener("keydown", onKey);
watch("value", () => { if (props.value && props.value.serial) apply(props.value); });
if (props.value && props.value.serial) apply(props.value);
