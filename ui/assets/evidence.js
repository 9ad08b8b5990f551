/* Sampling answers from an item's pool: ask, watch, cancel. The page's handler answers the event "evidence" with a token. */
function evidenceBox(button) { return button.closest(".an-evidence"); }
function askEvidence(button) {
  const box = evidenceBox(button), n = Number($n(box).value) || 0;
  button.disabled = true;
  box.querySelector(".an-samples").textContent = "Waiting for the model …";
  trigger("evidence", { item_id: Number(button.dataset.item), n: n });
}
function $n(box) { return box.querySelector("[data-n]"); }
async function watchEvidence(token) {
  for (let misses = 0; misses < 10;) {
    let answer = null;
    try { answer = await server.samples({ token: token }); } catch (e) { answer = null; }
    const shown = element.querySelectorAll(".an-evidence");
    if (!shown.length) return;
    if (!answer || answer.html === undefined) { misses += 1; await pause(1000); continue; }
    const box = Array.from(shown).find((b) => b.querySelector("[data-item]").dataset.item === String(answer.item)) ;
    if (!box) return; // another item is open; the samples are kept and come back when it is opened again
    box.querySelector(".an-samples").innerHTML = answer.html;
    box.querySelector("[data-do=evidence]").disabled = !answer.done;
    if (answer.done) return;
    await pause(400);
  }
}
function pause(ms) { return new Promise((go) => setTimeout(go, ms)); }
