// The panel in the browser: what a page says and what a reader sets. It speaks text and knows no formula. Its other
// parts, joined to this one: panel_controls.js, panel_lesson.js, panel_share.js, panel_teach.js.

const SPOKEN_PAUSE = 600; // ms; a screen reader hears a settled sentence, not each step of a drag
const GESTURE_PAUSE = 800; // ms; keyboard steps closer than this are undone together
const BROAD = 820; // px, at the ordinary text size; from here on the controls stand beside the figures
const HELD_BACK = new Set(["move", "estimate"]); // sent one at a time, the newest alone while the kernel is busy
const LOOKS = ["data-lock", "data-theme"]; // of the whole page, and may change while it is open

let panels = 0; // of this page, for unique ids

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function pushButton(word, action) {
  const button = element("button", "", word);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Put one node for each item into `node`; does nothing while the items stay the same.
function setItems(node, items, make) {
  const shown = JSON.stringify(items);
  if (node.dataset.shown === shown) return;
  node.dataset.shown = shown;
  node.replaceChildren(...items.map(make));
}

function later(pause, action) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, pause);
  };
}

// What a lecturer can lock, and with it all that stands in it.
function lockable(...nodes) {
  const fields = element("fieldset", "dpviz-lockable");
  fields.append(...nodes);
  return fields;
}

// Where the page is served by our own template it owns the address; in a notebook editor it does not.
const looks = () => document.documentElement.dataset;
const ownsAddress = () => looks().dpviz === "page";

function render({ model, el }) {
  const look = model.get("_look");
  const { controls, words } = look;
  const prefix = `dpviz-${(panels += 1)}`;
  const first = model.get("_reply");
  let count = first.count; // of the requests; a reply to an older one does not touch the controls
  let gesture = 0;
  let lastMove = -Infinity;
  let page;

  const send = (kind, more, isHeldBack = HELD_BACK.has(kind)) => {
    count += 1;
    const texts = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.text()]));
    const request = { kind, count, gesture, texts, ...more };
    if (page) page.dataset.asked = count;
    if (isHeldBack) {
      model.set("_request", request);
      model.save_changes();
    } else {
      model.send(request);
    }
    return count;
  };
  const press = (kind, value = "") => {
    gesture += 1;
    lastMove = -Infinity; // the next move begins a gesture of its own
    return send(kind, { value }, false);
  };
  const move = (isNewGesture) => {
    const now = performance.now();
    if (isNewGesture ?? now - lastMove > GESTURE_PAUSE) gesture += 1;
    lastMove = now;
    send("move");
  };
  const parts = Object.fromEntries(
    controls.map((control) => [control.name, makers[control.kind](control, `${prefix}-${control.name}`, move)]),
  );

  // What there is, in the order read.
  const desk = { look, words, prefix, press, send, reply: () => model.get("_reply"), page: () => page, refresh };
  const sentence = makeSentence(desk);
  const buttons = makeButtons(desk);
  const question = makeQuestion(desk);
  const story = makeStory(desk);
  const strip = makeStrip(desk);
  const breaches = makeBreaches(desk);
  const share = makeShare(desk);
  const teach = "teach" in looks() ? makeTeach(desk, question) : undefined;
  const pieces = [question, story, sentence, buttons, strip, breaches, share, teach].filter(Boolean);

  const lead = element("div", "dpviz-lead");
  if (question) lead.append(lockable(question.root));
  lead.append(story.root);
  const list = element("div", "dpviz-controls");
  list.append(...Object.values(parts).map((part) => part.root));
  const panel = element("section", "dpviz-panel");
  panel.setAttribute("aria-label", words.panel);
  panel.append(sentence.root, strip.root, lockable(list, buttons.root), sentence.refusals, sentence.spoken);
  const rest = element("div", "dpviz-rest");
  rest.append(...[breaches?.root, strip.details, share?.root].filter(Boolean));
  const side = element("div", "dpviz-side");
  side.append(panel, rest);
  el.classList.add("dpviz-through");
  el.append(...(teach ? [teach.root] : []), lead, side);

  function show() {
    const reply = model.get("_reply");
    const isLatest = reply.count >= count;
    if (isLatest) count = reply.count;
    for (const [name, part] of Object.entries(parts)) {
      if (isLatest && !reply.errors[name]) part.set(reply.texts[name]);
      part.complain(reply.errors[name] ?? "");
    }
    for (const piece of pieces) piece.show(reply, isLatest);
    if (page) keepRoom([reply.scenario, reply.breach, reply.pin, reply.prediction.phase].join());
    if (isLatest) isNewStep = false;
    sentence.state(Object.values(parts).map((part) => part.said()));
    page?.classList.toggle("dpviz-stale", Boolean(reply.fault));
    if (page) Object.assign(page.dataset, { ready: reply.count, messages: reply.messages });
  }

  // A step of a lecture: the page is laid out anew, once the reply to it is there.
  function refresh() {
    isNewStep = true;
    show();
  }

  // What has stood above the figures keeps its room, so that they do not move while a control does.
  let width = 0;
  let above; // what stands there
  let isNewStep = false;
  function keepRoom(now) {
    const isNewRoom = isNewStep || page.clientWidth !== width;
    if (now === above && !isNewRoom) return;
    if (isNewRoom) lead.style.minHeight = "";
    [above, width] = [now, page.clientWidth];
    lead.style.minHeight = `${lead.offsetHeight}px`;
  }

  const onDrag = ({ detail }) => {
    if (!("lock" in looks())) parts[detail.control]?.choose(detail.text, detail.isNew);
  };

  // Beside the figures everything stands in one column; else the sentence and the controls alone stand above them, and
  // the assumptions begin what stands below.
  function fit() {
    const scale = Number(getComputedStyle(page).getPropertyValue("--scale")) || 1;
    const isBroad = page.clientWidth >= BROAD * scale;
    page.classList.toggle("dpviz-broad", isBroad);
    keepRoom(above);
    if (isBroad && strip.root.parentNode !== panel) sentence.root.after(strip.root);
    if (!isBroad && strip.root.parentNode !== rest) rest.prepend(strip.root);
    if (isBroad && rest.parentNode !== side) side.append(rest);
    if (!isBroad && rest.parentNode !== page) page.append(rest);
    page.style.setProperty("--panel", `${panel.offsetHeight}px`);
    page.style.setProperty("--bar", `${teach?.root.offsetHeight ?? 0}px`);
  }

  function dress() {
    const lab = document.body.dataset.jpThemeLight;
    const elsewhere = lab === "false" ? "dark" : "light";
    page.style.colorScheme = ownsAddress() ? (looks().theme ?? "light dark") : elsewhere;
    for (const fields of page.querySelectorAll(".dpviz-lockable")) fields.disabled = "lock" in looks();
    teach?.show(model.get("_reply"));
  }

  const sizes = new ResizeObserver(() => page.isConnected && fit());
  const dresses = new MutationObserver(dress);
  let isGone = false;
  let endPage = () => undefined;

  // A page's figures are siblings of the panel: what is dragged in them rises to the box around both.
  function begin() {
    page = el.closest(".dpviz");
    if (!page) return isGone || requestAnimationFrame(begin);
    page.lang = look.language;
    page.addEventListener("dpviz-drag", onDrag);
    dress();
    fit();
    for (const node of [page, panel, ...(teach ? [teach.root] : [])]) sizes.observe(node);
    dresses.observe(document.documentElement, { attributeFilter: LOOKS });
    dresses.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
    const ends = [teach?.begin(), share.begin()];
    endPage = () => ends.forEach((end) => end?.());
    show();
    const isLinked = ownsAddress() && location.search.length > 1 && model.get("_reply").count === 0;
    return isLinked && send("open", { search: location.search });
  }

  model.on("change:_reply", show);
  show();
  begin();
  return () => {
    isGone = true;
    model.off("change:_reply", show);
    sizes.disconnect();
    dresses.disconnect();
    endPage();
    rest.remove();
    page?.removeEventListener("dpviz-drag", onDrag);
  };
}

// ---------------------------------------------------------------------------------------------- what is said

// The live sentence, what was refused, and the voice of both for those who do not see them.
function makeSentence({ words, page }) {
  const root = element("div", "dpviz-sentence");
  const plain = element("p", "dpviz-plain");
  const technical = element("p", "dpviz-technical");
  root.append(plain, technical);

  const refusals = element("div", "dpviz-refusals");
  const fault = element("p", "dpviz-fault");
  const notes = element("div", "dpviz-notes");
  fault.setAttribute("role", "alert");
  notes.setAttribute("role", "status");
  const settings = element("ul", "dpviz-state"); // for paper, where no control can be read
  settings.setAttribute("aria-label", words.state);
  refusals.append(notes, fault, settings);

  const spoken = element("div", "dpviz-spoken");
  spoken.setAttribute("role", "status");
  let said; // what was spoken or stood there from the start
  let now = [];
  const speak = later(SPOKEN_PAUSE, () => {
    if (page()?.classList.contains("dpviz-hide-answers")) return;
    const news = now.filter((line) => !said.includes(line));
    said = now;
    if (news.length > 0) spoken.replaceChildren(...news.map((line) => element("p", "", line)));
  });

  return {
    root,
    refusals,
    spoken,
    state: (lines) => setItems(settings, lines, (line) => element("li", "", line)),
    show(reply) {
      setText(plain, reply.plain);
      setText(technical, reply.technical);
      setText(fault, reply.fault);
      setItems(notes, reply.notes, (note) => element("p", "", note));
      const { title, story, lesson } = reply.story;
      const around = [title, story, lesson, reply.breach_line, reply.pin, reply.prediction.line].filter(Boolean);
      now = [...around, reply.plain, reply.technical];
      said ??= around;
      speak();
    },
  };
}

export default { render };
