/* Training: times in the reader's zone (Trioscope.table), and the part that the address names is shown once it is there. */
let shown = false;
function place() {
  const part = location.hash.length > 1 && element.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`);
  if (!part || shown) return;
  shown = true;
  part.scrollIntoView({ block: "start" });
}
(function begin() {
  if (!window.Trioscope) return setTimeout(begin, 20);
  window.Trioscope.table({ element, trigger, props, server, watch });
  watch("value", () => setTimeout(place, 0));
  setTimeout(place, 0);
})();
