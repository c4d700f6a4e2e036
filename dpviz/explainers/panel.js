// The panel in the browser: controls, live sentence, messages. It speaks text and knows no formula.

const ADDRESS_PAUSE = 300; // ms; browsers refuse an address that changes too often
const SPOKEN_PAUSE = 600; // ms; a screen reader hears a settled sentence, not each step of a drag
const GESTURE_PAUSE = 800; // ms; keyboard steps closer than this are undone together

let panels = 0; // of this page, for unique ids

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function later(pause, action) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, pause);
  };
}

// Where the page is served by our own template it owns the address; in a notebook editor it does not.
const ownsAddress = () => document.documentElement.dataset.dpviz === "page";

function render({ model, el }) {
  const { controls, words } = model.get("_look");
  const prefix = `dpviz-${(panels += 1)}`;
  let count = model.get("_reply").count; // of the requests; a reply to an older one does not touch the controls
  let gesture = 0;
  let lastMove = -Infinity;

  const side = element("div", "dpviz-side");
  const panel = element("section", "dpviz-panel");
  panel.setAttribute("aria-label", words.panel);
  const list = element("div", "dpviz-controls");
  const buttons = element("div", "dpviz-buttons");
  const fault = element("p", "dpviz-fault");
  const notes = element("div", "dpviz-notes");
  const plain = element("p", "dpviz-plain");
  const technical = element("p", "dpviz-technical");
  const spoken = element("div", "dpviz-spoken");
  fault.setAttribute("role", "alert");
  notes.setAttribute("role", "status");
  spoken.setAttribute("role", "status");
  const sentence = element("div", "dpviz-sentence");
  sentence.append(plain, technical);
  panel.append(sentence, list, buttons, notes, fault, spoken);
  const assumes = element("p", "dpviz-assumes");
  side.append(panel, assumes);
  el.classList.add("dpviz-through");
  el.append(side);

  const send = (kind, more) => {
    count += 1;
    const texts = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.text()]));
    const request = { count, gesture, texts, ...more };
    const page = el.closest(".dpviz");
    if (page) page.dataset.asked = count;
    if (kind === "move") {
      model.set("_request", request);
      model.save_changes();
    } else {
      model.send({ kind, ...request });
    }
  };
  const press = (kind) => {
    gesture += 1;
    lastMove = -Infinity; // the next move begins a gesture of its own
    send(kind);
  };
  const move = (isNewGesture) => {
    const now = performance.now();
    if (isNewGesture ?? now - lastMove > GESTURE_PAUSE) gesture += 1;
    lastMove = now;
    send("move");
  };

  const makers = { slider: makeSlider, choice: makeChoice, seed: makeSeed };
  const parts = Object.fromEntries(
    controls.map((look) => [look.name, makers[look.kind](look, `${prefix}-${look.name}`, move, () => press("draw"))]),
  );
  for (const part of Object.values(parts)) list.append(part.root);

  const addButton = (kind) => {
    const button = element("button", "", words[kind]);
    button.type = "button";
    button.addEventListener("click", () => press(kind));
    buttons.append(button);
    return button;
  };
  const undo = addButton("undo");
  addButton("reset");

  const speak = later(SPOKEN_PAUSE, () => setText(spoken, `${plain.textContent} ${technical.textContent}`));
  const follow = later(ADDRESS_PAUSE, () => {
    const { query } = model.get("_reply");
    history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
  });

  function show() {
    const reply = model.get("_reply");
    const isLatest = reply.count >= count;
    if (isLatest) count = reply.count;
    for (const [name, part] of Object.entries(parts)) {
      if (isLatest && !reply.errors[name]) part.set(reply.texts[name]);
      part.complain(reply.errors[name] ?? "");
    }
    setText(plain, reply.plain);
    setText(technical, reply.technical);
    setText(assumes, reply.assumes);
    setText(fault, reply.fault);
    if (notes.dataset.shown !== reply.notes.join("\n")) {
      notes.dataset.shown = reply.notes.join("\n");
      notes.replaceChildren(...reply.notes.map((note) => element("p", "", note)));
    }
    undo.disabled = !reply.can_undo;
    const page = el.closest(".dpviz");
    page?.classList.toggle("dpviz-stale", Boolean(reply.fault));
    if (page) Object.assign(page.dataset, { ready: reply.count, messages: reply.messages });
    if (ownsAddress() && reply.count > 0 && reply.query) follow();
    speak();
  }

  const onDrag = ({ detail }) => parts[detail.control]?.choose(detail.text, detail.isNew);
  let isGone = false;
  let page;
  // A page's figures are siblings of the panel: what is dragged in them rises to the box around both.
  function begin() {
    page = el.closest(".dpviz");
    if (!page) return isGone || requestAnimationFrame(begin);
    page.addEventListener("dpviz-drag", onDrag);
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
    page?.removeEventListener("dpviz-drag", onDrag);
  };
}

// ---------------------------------------------------------------------------------------------- controls

// Each part: root, text() as it stands, set(text) from the kernel, choose(text) from elsewhere on the page, complain(sentence).

function heading(look, id) {
  const label = element("label", "dpviz-label");
  label.htmlFor = id;
  label.append(element("span", "dpviz-word", look.word), " ", element("span", "dpviz-symbol", look.symbol));
  return label;
}

function complainer(input, id) {
  const line = element("p", "dpviz-error");
  line.id = `${id}-error`;
  line.setAttribute("role", "alert");
  const complain = (sentence) => {
    setText(line, sentence);
    if (sentence) input.setAttribute("aria-describedby", line.id);
    else input.removeAttribute("aria-describedby");
    input.setAttribute("aria-invalid", String(Boolean(sentence)));
  };
  return [line, complain];
}

// A box that reports what was typed; returns how to write in it, which leaves alone what is being typed just now.
function typedBox(box, move) {
  let known = ""; // the text that the kernel wrote or was told
  box.addEventListener("change", () => {
    known = box.value;
    move(true);
  });
  return (text) => {
    const isTyping = document.activeElement === box && box.value !== known;
    if (!isTyping && box.value !== text) box.value = text;
    known = text;
  };
}

function makeSlider(look, id, move) {
  const { stops } = look;
  const values = stops.map(Number);
  const isLog = values[0] > 0 && values.at(-1) / values[0] >= 100;
  const scale = isLog ? Math.log : (value) => value;
  const nearest = (text) => {
    const target = scale(Number(text));
    const gaps = values.map((value) => Math.abs(scale(value) - target));
    return gaps.indexOf(Math.min(...gaps));
  };

  const root = element("div", "dpviz-control");
  root.dataset.control = look.name;
  const box = element("input", "dpviz-box");
  Object.assign(box, { type: "text", id, autocomplete: "off", spellcheck: false, maxLength: 40 });
  box.setAttribute("aria-label", `${look.word}, ${look.symbol}${look.unit ? ` (${look.unit})` : ""}`);
  const slider = element("input", "dpviz-slider");
  Object.assign(slider, { type: "range", min: 0, max: stops.length - 1, step: 1 });
  slider.setAttribute("aria-label", `${look.word} ${look.symbol}`);
  const [error, complain] = complainer(box, id);
  const ends = element("div", "dpviz-ends");
  ends.append(element("span", "", look.low), element("span", "dpviz-unit", look.unit), element("span", "", look.high));
  const line = element("div", "dpviz-line");
  line.append(heading(look, id), box);
  root.append(line, slider, ends, error);

  const place = (text) => {
    slider.value = nearest(text);
    slider.style.setProperty("--filled", `${(100 * slider.value) / (stops.length - 1)}%`);
    slider.setAttribute("aria-valuetext", look.unit ? `${text} ${look.unit}` : text);
  };
  const choose = (text, isNewGesture) => {
    if (box.value === text) return;
    box.value = text;
    typed(text);
    place(text);
    move(isNewGesture);
  };
  slider.addEventListener("pointerdown", () => (slider.dataset.pressed = "new"));
  slider.addEventListener("input", () => {
    const isPressed = slider.dataset.pressed;
    if (isPressed) slider.dataset.pressed = "held";
    choose(stops[slider.value], isPressed ? isPressed === "new" : undefined);
  });
  for (const kind of ["pointerup", "pointercancel"]) slider.addEventListener(kind, () => delete slider.dataset.pressed);
  const typed = typedBox(box, move);
  box.addEventListener("focus", () => box.select());

  return {
    root,
    complain,
    choose,
    text: () => box.value,
    set(text) {
      typed(text);
      place(text);
    },
  };
}

function makeChoice(look, id, move) {
  const root = element("div", "dpviz-control");
  root.dataset.control = look.name;
  const group = element("div", "dpviz-options");
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", look.word);
  const inputs = look.options.map(([option, word]) => {
    const input = element("input");
    Object.assign(input, { type: "radio", name: id, value: option, id: `${id}-${option}` });
    input.addEventListener("change", () => move(true));
    const label = element("label", "", word);
    label.htmlFor = input.id;
    group.append(input, label);
    return input;
  });
  const [error, complain] = complainer(group, id);
  root.append(element("span", "dpviz-label", look.word), group, error);
  const set = (text) => {
    for (const input of inputs) input.checked = input.value === text;
  };
  return {
    root,
    complain,
    set,
    choose: set,
    text: () => inputs.find((input) => input.checked)?.value ?? "",
  };
}

function makeSeed(look, id, move, draw) {
  const root = element("div", "dpviz-control dpviz-seed");
  root.dataset.control = look.name;
  const box = element("input", "dpviz-box");
  Object.assign(box, { type: "text", id, autocomplete: "off", spellcheck: false, maxLength: 20 });
  const set = typedBox(box, move);
  const again = element("button", "", look.again);
  again.type = "button";
  again.addEventListener("click", draw);
  const [error, complain] = complainer(box, id);
  const line = element("div", "dpviz-line");
  line.append(heading(look, id), again, box);
  root.append(line, error);
  return { root, complain, text: () => box.value, choose: set, set };
}

export default { render };
