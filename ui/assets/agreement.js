/* The Agreement page: one act, one answer; the server renders (escaped). */
let busy = false, samples = 4;
function newId() { return crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join(""); }
function send(kind, data) { if (busy) return; busy = true; setTimeout(() => { busy = false; }, 10000); trigger(kind, data); }
function form(button) {
  const note = button.parentElement.querySelector("input");
  return { item_id: Number(button.dataset.item), label: button.dataset.label || "", note: note ? note.value : "", uuid: newId() };
}
const DO = {
  decide: (b) => send("decide", form(b)), undecide: (b) => send("undecide", form(b)), known: (b) => send("known", form(b)),
  unknown: (b) => send("unknown", form(b)), evidence: askEvidence, cancel: (b) => server.cancel({ token: b.dataset.token }),
  keep: (b) => send("keep", { token: b.dataset.token }),
  fork: (b) => send("fork", { run: b.dataset.run, round: Number(b.dataset.round), value: b.dataset.verdict, note: "" }),
};
function apply(next) {
  busy = false;
  if (next.goto) { location.href = next.goto; return; }
  samples = next.samples || samples;
  if (next.html !== undefined) element.querySelector(".ag-main").innerHTML = next.html;
  else if (next.tone === "error") element.querySelectorAll(".ag-main .an-skeleton").forEach((s) => s.remove());
  const box = element.querySelector(".ag-message");
  box.innerHTML = next.message; box.dataset.tone = next.tone;
  for (const n of element.querySelectorAll("[data-n]")) if (!n.value) n.value = samples;
  if (next.evidence) watchEvidence(next.evidence);
  else for (const b of element.querySelectorAll(".an-do:disabled")) b.disabled = false;
  element.querySelectorAll("time[data-moment]").forEach((t) => { t.textContent = new Date(t.dateTime).toLocaleString("sv"); });
}
element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button && DO[button.dataset.do]) DO[button.dataset.do](button);
});
watch("value", () => { if (props.value && props.value.serial) apply(props.value); });
if (props.value && props.value.serial) apply(props.value);
