/* Training: times in the reader's zone, the part that the address names shown once it is there; a run at work is followed, unless nobody looks. */
const EVERY_MS = 3000;
let shown = false, following = false, mark = "";
const whole = () => element.querySelector(".tr-whole");
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
function place() {
  const part = location.hash.length > 1 && element.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`);
  if (!part || shown) return;
  shown = true;
  part.scrollIntoView({ block: "start" });
}
function times() {
  for (const t of element.querySelectorAll("time[datetime]")) {
    const at = new Date(t.dateTime);
    t.textContent = `${at.toLocaleDateString("sv")} ${at.toLocaleTimeString("sv").slice(0, 5)}`;
  }
}
async function follow() {
  if (following) return;
  following = true;
  while (whole()?.dataset.working) {
    await sleep(EVERY_MS);
    if (document.hidden) await new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
    let answer = null;
    try { answer = await server.look({ query: Object.fromEntries(new URLSearchParams(location.search)), mark }); } catch (e) { answer = null; }
    if (!answer?.html) continue; // nothing new, or the app does not answer: the header says so
    mark = answer.mark;
    const at = whole(), fresh = window.Trioscope.fragment(answer.html).firstElementChild;
    if (!fresh.dataset.working) delete at.dataset.working;
    window.Trioscope.patch(at, fresh); // what is open and where the reader is stays
    times();
  }
  following = false;
}
(function begin() {
  if (!window.Trioscope) return setTimeout(begin, 20);
  const show = () => { times(); place(); follow(); };
  watch("value", () => setTimeout(show, 0));
  setTimeout(show, 0);
})();
