/* The pages' own script: the header, the live board, links that light up, keys. No dependency, no request of its own. */
(() => {
  const $ = (sel, root = document) => root.querySelector(sel);
  const $$ = (sel, root = document) => [...root.querySelectorAll(sel)];
  const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
  const uuid = () => (crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join(""));

  // ---- patching: keyed by data-k, else by place; what the user did (open parts, typed text, focus) stays
  const fragment = (html) => { const t = document.createElement("template"); t.innerHTML = html; return t.content; };
  function patch(old, fresh) {
    const keyed = new Map([...old.children].filter((c) => c.dataset.k).map((c) => [c.dataset.k, c]));
    let at = old.firstChild;
    for (const want of [...fresh.childNodes]) {
      const key = want.nodeType === 1 ? want.dataset.k : null;
      let have = key ? keyed.get(key) : at;
      if (have && (have.nodeType !== want.nodeType || have.nodeName !== want.nodeName || (have.dataset?.k || null) !== (key || null))) have = null;
      if (!have) { old.insertBefore(want, at); continue; }
      if (have !== at) old.insertBefore(have, at);
      at = have.nextSibling;
      if (have.nodeType !== 1) { if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue; continue; }
      attributes(have, want);
      if (!have.dataset.slot) patch(have, want);
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  }
  function attributes(have, want) {
    for (const { name } of [...have.attributes]) if (!want.hasAttribute(name) && name !== "open" && name !== "style") have.removeAttribute(name);
    for (const { name, value } of want.attributes) if (name !== "open" && have.getAttribute(name) !== value && !(name === "class" && have.dataset.lit)) have.setAttribute(name, value);
  }

  let me = ""; // the reader's pass, from the header

  // ---- the board
  function board({ element, props, server, trigger, watch }) {
    const root = $(".board", element);
    let turn = 0, hashes = {}, ids = "", skew = 0, reader = me;
    document.addEventListener("ts-me", () => { if (reader !== me) { reader = me; attach(); } }); // whose labels are shown
    const slots = new Map();
    // The address says which runs to show: asking at once is faster than the page's load event, and cannot undo what a quick user began.
    const asked = new URLSearchParams(location.search), wanted = (asked.get("run") || asked.get("runs") || "").split(",").filter(Boolean);
    const shown = () => (props.value?.runs?.length ? props.value.runs : wanted);
    const find = (key) => root.querySelector(`:scope > [data-block="${CSS.escape(key)}"]`);

    function place(block) {
      if (block.into) { slots.set(block.key, block); fill(block); return; }
      let el = find(block.key);
      if (!el) {
        el = document.createElement("div");
        el.dataset.block = block.key;
        el.className = block.col === 1 ? "rl" : block.row === 1 ? "sum" : block.key.startsWith("none:") ? "cell gone" : "cell";
        el.style.gridRow = block.row; el.style.gridColumn = block.col;
        if (block.col > 1) { el.dataset.col = block.col - 1; el.tabIndex = -1; }
        const order = block.row * 100 + block.col;
        el.dataset.order = order;
        const after = [...root.children].find((c) => Number(c.dataset.order) > order);
        root.insertBefore(el, after || null);
      }
      patch(el, fragment(block.html));
      for (const s of slots.values()) if (el.querySelector(`[data-slot="${CSS.escape(s.into)}"]`)) fill(s);
    }
    function fill(block) {
      const slot = root.querySelector(`[data-slot="${CSS.escape(block.into)}"]`);
      if (slot) patch(slot, fragment(block.html));
      $$("[data-slot]", root).filter((s) => s !== slot && s.dataset.filled === block.key).forEach((s) => { s.replaceChildren(); delete s.dataset.filled; });
      if (slot) slot.dataset.filled = block.key;
    }
    function drop(keys) {
      const kept = new Set(keys);
      for (const key of Object.keys(hashes)) if (!kept.has(key)) {
        delete hashes[key];
        find(key)?.remove();
        const s = slots.get(key);
        if (s) { const slot = root.querySelector(`[data-slot="${CSS.escape(s.into)}"]`); if (slot?.dataset.filled === key) slot.replaceChildren(); slots.delete(key); }
      }
    }
    function take(answer) {
      skew = answer.now - Date.now() / 1000;
      drop(answer.keys);
      for (const b of answer.blocks) { place(b); hashes[b.key] = b.hash; }
      say("notes", (answer.notes || []).join(" "));
      clocks();
      tabs();
      local(root);
    }
    function say(kind, text) {
      let line = $(`.note-${kind}`, element);
      if (!line) { line = document.createElement("p"); line.className = `boardnote note-${kind}`; line.setAttribute("role", "status"); element.insertBefore(line, root.parentElement === element ? root : root.parentElement); }
      line.textContent = text; line.hidden = !text;
    }
    function clocks() { for (const c of $$("[data-began]", root)) c.textContent = span(Date.now() / 1000 + skew - Number(c.dataset.began)); }
    setInterval(clocks, 500);

    function tabs() {
      const sums = $$(":scope > .sum", root);
      root.style.setProperty("--cols", Math.max(1, sums.length));
      root.classList.toggle("many", sums.length > 1);
      root.classList.toggle("one", sums.length === 1);
      let bar = $(".coltabs", element);
      if (sums.length < 2) { bar?.remove(); delete root.dataset.tab; return; }
      if (!bar) {
        bar = document.createElement("div"); bar.className = "coltabs"; bar.setAttribute("role", "tablist");
        root.before(bar);
        bar.scrolls = {};
        bar.addEventListener("click", (e) => { const t = e.target.closest("[role=tab]"); if (t) choose(t.dataset.to); });
      }
      patch(bar, fragment(sums.map((s) => `<button type="button" role="tab" data-k="t${s.dataset.col}" data-to="${s.dataset.col}"></button>`).join("")));
      sums.forEach((s, i) => { bar.children[i].textContent = $("h2", s)?.textContent || `run ${i + 1}`; });
      show(root.dataset.tab || "1");
      function choose(to) { bar.scrolls[root.dataset.tab] = scrollY; show(to); scrollTo(0, bar.scrolls[to] ?? scrollY); }
      function show(to) {
        root.dataset.tab = to;
        for (const t of bar.children) { t.setAttribute("aria-selected", String(t.dataset.to === to)); }
        for (const c of root.children) if (c.dataset.col) c.classList.toggle("off", c.dataset.col !== to);
        for (const s of $$(".rl [data-of]", root)) s.classList.toggle("off", s.dataset.of !== to);
      }
    }

    async function follow(mine) {
      let wait = 500;
      while (mine === turn) {
        let answer;
        try { answer = await server.poll({ runs: shown(), known: hashes, me: reader }); } catch (e) { answer = null; }
        if (mine !== turn) return;
        if (!answer || (!answer.keys && !answer.error)) {
          say("line", "The connection to the app is lost; trying again. The run goes on without this page.");
          await sleep(wait); wait = Math.min(wait * 2, 8000); continue;
        }
        wait = 500;
        say("line", answer.error || "");
        if (answer.error) return busy(false);
        take(answer);
        if (!props.value?.runs?.length) props.value = { runs: wanted, url: "" }; // not earlier: Gradio sets the value once while it mounts
        if (answer.done) return busy(false);
        await sleep(document.hidden ? 1500 : 90);
      }
    }
    function busy(on) { document.body.classList.toggle("ts-running", on); element.setAttribute("aria-busy", String(on)); }
    function attach() {
      const value = props.value || {}, runs = shown();
      if (value.goto) { location.href = value.goto; return; }
      if (runs.join() !== ids) { ids = runs.join(); hashes = {}; slots.clear(); root.replaceChildren(); say("notes", ""); say("line", ""); tabs(); }
      if (value.url !== undefined) address(value.url);
      document.body.classList.toggle("ts-has-run", runs.length > 0);
      turn += 1;
      if (!runs.length) return busy(false);
      $("details.start")?.removeAttribute("open");
      busy(true);
      follow(turn);
    }
    watch("value", attach);
    attach();

    root.addEventListener("click", (e) => {
      const b = e.target.closest("[data-do]");
      if (!b || b.disabled) return;
      const form = b.closest("details.fix");
      b.disabled = true; setTimeout(() => { b.disabled = false; }, 1500);
      trigger(b.dataset.do, {
        run: b.dataset.run, round: Number(b.dataset.round) || 0, value: b.dataset.value, uuid: uuid(),
        note: form ? $("input", form).value : "", ms: form?.opened ? Math.round(performance.now() - form.opened) : 0,
      });
      if (form) { form.open = false; $("input", form).value = ""; }
    });
    root.addEventListener("toggle", (e) => { if (e.target.matches?.("details.fix") && e.target.open) e.target.opened = performance.now(); }, true);
    root.addEventListener("keydown", (e) => { if (e.key === "Enter" && e.target.matches("details.fix input")) e.preventDefault(); });
    links(root);
  }
  const span = (s) => (s < 60 ? `${Math.max(0, s).toFixed(0)} s` : `${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`);
  const local = (root) => { for (const t of $$("time[datetime]", root)) if (!t.dataset.local) { t.dataset.local = 1; 
    const at = new Date(t.getAttribute("datetime")), clock = at.toLocaleTimeString([], { hour12: false });
    t.textContent = t.dataset.date ? `${at.toLocaleDateString("sv")} ${clock.slice(0, 5)}` : clock;
   } };
  function address(url) {
    const to = new URL(url || location.pathname, new URL("./", location.href)), theme = new URLSearchParams(location.search).get("__theme");
    if (!url) return;
    if (theme) to.searchParams.set("__theme", theme);
    if (to.href !== location.href) history.replaceState(null, "", to.href.replaceAll("%2C", ","));
  }

  // ---- links that light up
  function links(root) {
    const clear = () => { for (const e of $$("[data-lit]", root)) { delete e.dataset.lit; e.classList.remove("h"); } };
    const lit = (list) => { for (const e of list) { e.dataset.lit = 1; e.classList.add("h"); } };
    function light(target) {
      clear();
      const cell = target.closest("[data-block]");
      const q = target.closest("[data-q]"), ch = target.closest(".ch"), note = target.closest("[data-from]"), v = target.closest("[data-judged]");
      if (q) lit([q, ...$$(`.ch[data-by~="${q.dataset.q}"]`, cell)]);
      else if (ch) {
        lit([...ch.dataset.by.split(" ").flatMap((n) => $$(`[data-q="${n}"]`, cell)), ...$$(`[data-p="${ch.dataset.p}"]`, root)]);
        lit($$(`[data-from~="${ch.dataset.p}"]`, root));
      } else if (note) lit([note, ...note.dataset.from.split(" ").filter(Boolean).flatMap((p) => $$(`[data-col="${cell.dataset.col}"] [data-p="${p}"]`, root))]);
      else if (v) lit(v.dataset.judged.split(" ").filter(Boolean).flatMap((p) => $$(`[data-col="${cell.dataset.col}"] [data-p="${p}"]`, root)).filter((c) => Number(c.closest("[data-order]").dataset.order) <= Number(cell.dataset.order)));
    }
    for (const on of ["pointerover", "focusin"]) root.addEventListener(on, (e) => light(e.target));
    root.addEventListener("pointerleave", clear);
    root.addEventListener("focusout", clear);
  }

  // ---- header: engine state, keys sheet
  const READY_MS = 15000; // fifty open pages ask for it all day
  function header({ element, props, server, watch }) {
    const line = $(".engine", element), sheet = $("dialog.sheet", element);
    document.title = `${$("nav .on", element)?.textContent || ""} · Trioscope`;
    $(".keys", element).addEventListener("click", () => sheet.showModal());
    let last = "", wake = () => {};
    document.addEventListener("visibilitychange", () => wake()); // a tab that was hidden asks at once
    const show = (html) => { if (html !== last) { last = html; line.replaceChildren(fragment(html)); line.title = line.textContent; } };
    (async () => {
      for (;;) {
        if (!document.hidden || !last) {
          let html;
          try { html = await server.status(); } catch (e) { html = null; } // Gradio's client also answers undefined
          show(html || '<span class="dot failed"></span><span>The app does not answer. If it was closed, start it again; nothing stored is lost.</span>');
        }
        await new Promise((go) => { wake = go; setTimeout(go, last.includes("dot ready") ? READY_MS : 2000); });
      }
    })();
    crowd(element);
    person({ element, props, watch });
  }
  // Where nobody logs in, a name typed once is kept in a cookie that the server reads with every act.
  function person({ element, props, watch }) {
    const button = $(".me", element), box = $("dialog.person", element), field = $("input", box), fault = $(".fault", box);
    const show = () => {
      const you = props.value;
      if (!you?.way) return;
      button.textContent = you.name || "not logged in";
      button.title = you.error || (you.way === "local" ? "Your name; change it here" : `Logged in as ${you.role}`);
      button.setAttribute("aria-label", `You: ${button.textContent}`);
      $(".known", box).textContent = you.error || (you.way === "local" ? "" : `${you.name}, ${you.role}`);
      $(".rename", box).hidden = you.way !== "local";
      $(".out", box).hidden = you.way !== "accounts";
      me = you.pass; document.dispatchEvent(new Event("ts-me"));
    };
    button.addEventListener("click", () => { if (!props.value?.way) return; field.value = props.value.name; fault.hidden = true; box.showModal(); field.select(); });
    $(".rename", box).addEventListener("submit", (e) => {
      e.preventDefault();
      const name = field.value.trim();
      if (name && !/^[\p{L}\p{N}_](?:[\p{L}\p{N}_ .@+'-]{0,38}[\p{L}\p{N}_.])?$/u.test(name)) { fault.textContent = `This cannot be a name; use ${props.value.rule}.`; fault.hidden = false; return; }
      document.cookie = `trioscope-name=${encodeURIComponent(name)}; path=/; samesite=strict; max-age=${name ? 31536000 : 0}`;
      location.reload();
    });
    watch("value", show);
    show();
  }
  // Browsers hold about six connections to one host and Gradio keeps one open per tab: warn before a seventh tab hangs.
  function crowd(element) {
    if (!window.BroadcastChannel) return;
    const me = uuid(), seen = new Map(), bus = new BroadcastChannel("trioscope");
    bus.onmessage = (e) => seen.set(e.data, Date.now());
    setInterval(() => {
      bus.postMessage(me);
      for (const [id, at] of seen) if (Date.now() - at > 7000) seen.delete(id);
      let note = $(".crowd", element);
      if (seen.size < 4) { note?.remove(); return; }
      if (!note) { note = document.createElement("p"); note.className = "crowd"; note.setAttribute("role", "status"); element.append(note); }
      note.textContent = `${seen.size + 1} tabs of Trioscope are open. A browser keeps about six connections to one address: close a tab before you open more.`;
    }, 2000);
  }

  // ---- small components
  function cards({ element, props, trigger, watch }) {
    const boxes = $$("input", element), many = boxes[0]?.type === "checkbox";
    const read = () => { const on = boxes.filter((b) => b.checked).map((b) => b.value); return many ? on : on[0]; };
    const show = () => { const on = [].concat(props.value); for (const b of boxes) b.checked = on.includes(b.value); };
    element.addEventListener("change", () => { props.value = read(); });  // the watch below tells of it
    watch("value", () => { show(); trigger("change"); });
    show();
  }
  function most(html) {
    const line = $("[data-method]", fragment(html));
    const box = line && $(`input[name=ts-method][value="${CSS.escape(line.dataset.method)}"]`);
    if (box) $(".most", box.closest(".card")).textContent = line.textContent;
  }
  function start({ element, trigger }) {
    element.addEventListener("click", (e) => {
      const b = e.target.closest("[data-pick]");
      if (b && !b.disabled) { b.disabled = true; setTimeout(() => { b.disabled = false; }, 1500); trigger("pick", { id: b.dataset.pick }); scrollTo({ top: 0 }); }
    });
  }
  function picker({ element, server }) {
    const field = $("input[type=search]", element), list = $(".found", element), go = $("a.go", element), chosen = new Map();
    let asked = 0;
    async function find() {
      const mine = ++asked;
      let html;
      try { html = await server.find({ search: field.value }); } catch (e) { html = '<p class="err">The app does not answer; try again.</p>'; }
      if (mine !== asked) return;
      list.replaceChildren(fragment(html));
      for (const b of $$("input", list)) b.checked = chosen.has(b.value);
    }
    function update() {
      const ids = [...chosen.keys()];
      go.toggleAttribute("aria-disabled", ids.length < 2);
      go.classList.toggle("disabled", ids.length < 2);
      if (ids.length > 1) go.href = `./compare?runs=${ids.join(",")}`; else go.removeAttribute("href");
      go.textContent = ids.length > 1 ? `Compare ${ids.length} runs` : "Tick two runs to compare";
    }
    let timer;
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 200); });
    list.addEventListener("change", (e) => { if (e.target.checked) chosen.set(e.target.value, 1); else chosen.delete(e.target.value); update(); });
    $("details", element).addEventListener("toggle", (e) => { if (e.target.open) { find(); field.focus(); } });
    update();
  }
  function table({ element, watch }) {
    const chosen = () => $$("input[name=tick]:checked", element).map((b) => b.value);
    function update() {
      const go = $("a.go", element), ids = chosen();
      if (!go) return;
      go.classList.toggle("disabled", ids.length < 2);
      if (ids.length > 1) go.href = `./compare?runs=${ids.join(",")}`; else go.removeAttribute("href");
      go.textContent = ids.length > 1 ? `Compare ${ids.length} runs` : "Tick two runs to compare them";
    }
    element.addEventListener("change", (e) => { if (e.target.name === "tick") update(); else if (e.target.closest("form.filters") && e.target.tagName === "SELECT") e.target.form.requestSubmit(); });
    watch("value", () => setTimeout(() => { update(); local(element); }, 0));
    setTimeout(update, 0);
  }

  // ---- keys
  const typing = (e) => e.target.closest?.("input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable=true],[role=listbox]");
  const rows = () => $$("#ts-board .cell:not(.off), #ts-board .sum:not(.off), tr[data-href]").filter((e) => e.offsetParent);
  function step(by) {
    const all = rows(), at = all.indexOf(document.activeElement?.closest?.("[data-block],tr[data-href]"));
    const to = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
    if (to) { to.focus({ preventScroll: true }); to.scrollIntoView({ block: "nearest" }); }
  }
  const here = () => document.activeElement?.closest?.("#ts-board [data-block]") || $("#ts-board .cell:not(.off)");
  const keys = {
    "/": () => $("#ts-question textarea, #ts-question input, form.filters input[type=search]")?.focus(),
    "?": () => $("dialog.sheet")?.showModal(),
    j: () => step(1), k: () => step(-1),
    o: () => { const a = document.activeElement, row = a?.closest?.("tr[data-href]"); if (row) { location.href = row.dataset.href; return; } const d = a?.closest?.("details") || (here() && $("details.calls", here())); if (d) d.open = !d.open; },
    f: () => { const d = here() && $("details.fix", here()); if (d) { d.open = true; $("[data-do=fork]", d)?.focus(); d.scrollIntoView({ block: "nearest" }); } },
    c: () => { const d = here() && $("details.fix", here()); if (d) { d.open = true; $("button", d)?.focus(); d.scrollIntoView({ block: "nearest" }); } },
  };
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || e.defaultPrevented) return;
    if (e.key === "Escape") {
      if ($("dialog[open]")) return;
      const open = e.target.closest?.("details.fix[open]");
      if (open) { open.open = false; $("summary", open).focus(); return; }
      if (document.body.classList.contains("ts-running")) $("#ts-stop")?.click(); else e.target.blur?.();
      return;
    }
    if (typing(e) || $("dialog[open]")) return;
    const act = keys[e.key];
    if (act && (e.key === "/" || e.key === "?" || rows().length)) { e.preventDefault(); act(); }
  });

  window.Trioscope = { header, board, cards, most, start, picker, table, patch, fragment };
})();
