// For lectures: a bar that steps through what a page teaches, answers that can be held back, and sheets to print;
// joined to panel.js.

const TYPED_IN = "input:not([type=range], [type=radio]), textarea, [contenteditable]";

// The steps of a lecture: the question, each scenario and each broken assumption, first without its answer.
function stepsOf({ question, scenarios, breaches }) {
  const twice = (kind, items) => items.flatMap(({ name }) => [true, false].map((isHidden) => ({ kind, name, isHidden })));
  const first = question ? [{ name: "" }] : [];
  return [...twice("question", first), ...twice("scenario", scenarios), ...twice("breach", breaches)];
}

function makeTeach(desk, question) {
  const { look, words, press, reply, page } = desk;
  const steps = stepsOf(look);
  const wantsRest = matchMedia("(prefers-reduced-motion: reduce)");
  let at = 0;
  let isHidden = true;

  const root = element("div", "dpviz-teach");
  root.setAttribute("role", "toolbar");
  root.setAttribute("aria-label", words.teach);
  const answers = pushButton("", () => {
    hide(!isHidden);
    if (steps[at]?.kind === "question") question.pose(isHidden);
    else if (isHidden) question?.hold();
  });
  const lock = pushButton("", () => {
    const isLocked = "lock" in looks();
    if (isLocked) delete looks().lock;
    else looks().lock = "1";
    putAddress(reply().query, { lock: isLocked ? "" : "1" });
  });
  const back = pushButton(words.previous, () => step(at - 1));
  const next = pushButton(words.next, () => step(at + 1));
  const position = element("span", "dpviz-position");
  position.setAttribute("role", "status");
  const sheets = makeSheets(desk);
  const [worksheet, key] = ["worksheet", "key"].map((kind) => {
    const button = pushButton(words[kind], () => sheets.ask(kind, button));
    return button;
  });
  root.append(back, position, next, answers, lock, worksheet, key);

  function hide(isWanted) {
    isHidden = isWanted;
    page().classList.toggle("dpviz-hide-answers", isHidden);
    page().dataset.step = steps[at]?.kind ?? "";
    desk.refresh();
  }

  // A step brings the page into the state that worksheet and key are about; to what is there already it adds nothing.
  function step(wanted) {
    if (!steps[wanted]) return;
    const { kind, name, isHidden: isWanted } = steps[wanted];
    const isSame = kind === steps[at].kind && name === steps[at].name;
    const isBroken = steps[at].kind === "breach" || reply().breach;
    at = wanted;
    hide(isWanted);
    if (kind === "scenario") {
      if (isBroken) press("breach", "");
      if (!isSame || reply().scenario !== name) press("scenario", name);
    } else if (!isSame) {
      press("reset");
      if (kind === "breach") press("breach", name);
    }
    if (kind === "question") question.pose(isHidden);
    else if (isHidden) question?.hold();
    desk.refresh();
    if (kind !== "question" && page().querySelector(".dpviz-question:focus-within")) next.focus(); // it folds
    page().scrollIntoView({ block: "start", behavior: wantsRest.matches ? "instant" : "smooth" });
  }

  // Whoever chooses a scenario goes on from there.
  function onChange({ target }) {
    const chosen = (one) => one.kind === "scenario" && one.name === target.value && one.isHidden === isHidden;
    if (!target.matches(".dpviz-scenario")) return;
    at = steps.findIndex(chosen);
    hide(isHidden);
  }

  // A presenter's remote control sends these two keys.
  function onKey(event) {
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    const isOther = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.defaultPrevented;
    if (!by || isOther || sheets.isOpen() || event.target.closest?.(TYPED_IN)) return;
    event.preventDefault();
    step(at + by);
  }

  return {
    root,
    show(now) {
      setText(answers, isHidden ? words.show_answers : words.hide_answers);
      setText(lock, "lock" in looks() ? words.unlock_controls : words.lock_controls);
      const told = words.position.replace("{step}", Math.min(at + 1, steps.length)).replace("{steps}", steps.length);
      setText(position, told);
      back.disabled = at <= 0;
      next.disabled = at >= steps.length - 1;
      sheets.show(now);
    },
    begin() {
      hide(isHidden);
      document.addEventListener("keydown", onKey);
      page().addEventListener("change", onChange);
      const end = sheets.begin();
      return () => {
        document.removeEventListener("keydown", onKey);
        page()?.removeEventListener("change", onChange);
        end();
      };
    },
  };
}

// A worksheet leaves room for the answers, a key gives them; either takes the place of the page until it is closed.
function makeSheets({ words, press, page }) {
  let wanted; // {kind, button, count}: what was asked for and has not come
  let open; // {kind, button, root}: what is shown

  function close() {
    const { root, button } = open;
    open = undefined;
    page().classList.remove("dpviz-has-sheet");
    root.remove();
    button.focus();
  }

  function paper(kind, items) {
    const root = element("section", `dpviz-sheet dpviz-${kind}`);
    const title = element("h2", "", words.sheet_title.replace("{page}", document.title).replace("{kind}", words[kind]));
    title.id = "dpviz-sheet-title";
    title.tabIndex = -1;
    root.setAttribute("aria-labelledby", title.id);
    const row = element("div", "dpviz-buttons");
    row.append(pushButton(words.print, () => window.print()), pushButton(words.close, close));
    const list = element("ol", "dpviz-items");
    list.append(...items.map((item) => sheetItem(kind, item)));
    const address = element("p", "dpviz-sheet-address", new URL(location.pathname, location.href).href);
    root.append(row, title, list, address);
    return [root, title];
  }

  function begin() {
    const before = () => open && (looks().print = open.kind);
    const after = () => delete looks().print;
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }

  return {
    begin,
    isOpen: () => open !== undefined,
    ask(kind, button) {
      if (open) close();
      wanted = { kind, button, count: press("sheet") };
    },
    show({ count, sheet }) {
      if (!wanted || count < wanted.count) return;
      const { kind, button } = wanted;
      wanted = undefined;
      if (sheet.length === 0) return; // the page says what is broken
      const [root, title] = paper(kind, sheet);
      open = { kind, button, root };
      page().classList.add("dpviz-has-sheet");
      page().append(root);
      title.focus();
    },
  };
}

function sheetItem(kind, { title, story, ask, answer, lesson }) {
  const root = element("li", "dpviz-item");
  const said = (name, text) => text && root.append(element("p", name, text));
  root.append(element("h3", "", title));
  said("dpviz-item-story", story);
  said("dpviz-item-ask", ask);
  if (kind === "worksheet") {
    root.append(element("div", "dpviz-room"));
  } else {
    said("dpviz-item-answer", answer);
    said("dpviz-item-lesson", lesson);
  }
  return root;
}
