// The controls of a page, and that of an answer; joined to panel.js.
//
// Each part: root, text() as it stands, said() in words, set(text) from the kernel, choose(text) from elsewhere on the
// page, complain(sentence). `move` tells that the text was changed, and whether by a new gesture if that is known.

const makers = { slider: makeSlider, number: makeNumber, choice: makeChoice, seed: makeNumber };

function nameOf({ word, symbol, unit }) {
  return `${word}${symbol ? `, ${symbol}` : ""}${unit ? ` (${unit})` : ""}`;
}

function saidOf({ word, symbol, unit }, text) {
  return `${word}${symbol ? ` ${symbol}` : ""} = ${text}${unit ? ` (${unit})` : ""}`;
}

function heading(look, id) {
  const label = element("label", "dpviz-label");
  label.htmlFor = id;
  label.append(element("span", "dpviz-word", look.word), " ", element("span", "dpviz-symbol", look.symbol));
  return label;
}

function complainer(inputs, id) {
  const line = element("p", "dpviz-error");
  line.id = `${id}-error`;
  line.setAttribute("role", "alert");
  const complain = (sentence) => {
    setText(line, sentence);
    for (const input of inputs) {
      if (sentence) input.setAttribute("aria-describedby", line.id);
      else input.removeAttribute("aria-describedby");
      input.setAttribute("aria-invalid", String(Boolean(sentence)));
    }
  };
  return [line, complain];
}

function controlBox(look, className = "dpviz-control") {
  const root = element("div", className);
  root.dataset.control = look.name;
  return root;
}

// A box that reports what was typed; `known(text)` writes in it, but leaves alone what is being typed just now.
function typedBox(look, id, move) {
  const box = element("input", "dpviz-box");
  Object.assign(box, { type: "text", id, autocomplete: "off", spellcheck: false, maxLength: 40 });
  box.setAttribute("aria-label", nameOf(look));
  let last = ""; // the text that the kernel wrote or was told
  box.addEventListener("change", () => {
    last = box.value;
    move(true);
  });
  box.addEventListener("focus", () => box.select());
  const known = (text) => {
    const isTyping = document.activeElement === box && box.value !== last;
    if (!isTyping && box.value !== text) box.value = text;
    last = text;
  };
  return [box, known];
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

  const root = controlBox(look);
  const [box, known] = typedBox(look, id, move);
  const slider = element("input", "dpviz-slider");
  Object.assign(slider, { type: "range", min: 0, max: stops.length - 1, step: 1 });
  slider.setAttribute("aria-label", `${look.word} ${look.symbol}`);
  const [error, complain] = complainer([box, slider], id);
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
    known(text);
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

  return {
    root,
    complain,
    choose,
    text: () => box.value,
    said: () => saidOf(look, box.value),
    set(text) {
      known(text);
      place(text);
    },
  };
}

// A number that is typed: an answer with no place on an axis, or a seed.
function makeNumber(look, id, move) {
  const root = controlBox(look, `dpviz-control dpviz-${look.kind}`);
  const [box, set] = typedBox(look, id, move);
  const [error, complain] = complainer([box], id);
  const line = element("div", "dpviz-line");
  line.append(heading(look, id), box);
  if (look.unit) line.append(element("span", "dpviz-unit", look.unit));
  root.append(line, error);
  return { root, complain, text: () => box.value, said: () => saidOf(look, box.value), choose: set, set };
}

function makeChoice(look, id, move) {
  const root = controlBox(look, "dpviz-control dpviz-choice");
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
  const [error, complain] = complainer([group], id);
  const title = element("div", "dpviz-label");
  title.append(element("span", "dpviz-word", look.word));
  root.append(title, group, error);
  const set = (text) => {
    for (const input of inputs) input.checked = input.value === text;
  };
  const text = () => inputs.find((input) => input.checked)?.value ?? "";
  const word = () => look.options.find(([option]) => option === text())?.[1] ?? "";
  return { root, complain, set, choose: set, text, said: () => `${look.word} = ${word()}` };
}
