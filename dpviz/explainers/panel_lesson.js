// What a page teaches: its question, scenarios, and assumptions that can be broken; joined to panel.js.
//
// Each piece: root, and show(reply, isLatest); an older reply does not touch what a reader has just set.

// The question to answer before looking. Nothing is judged and nothing kept.
//
// While a lecture hides its answers a guess is locked here and is an estimate for the kernel, which answers a guess.
function makeQuestion({ look: { question }, words, prefix, press, send, reply, page }) {
  if (!question) return undefined;
  const id = `${prefix}-guess`;
  const root = element("section", "dpviz-aside dpviz-question");
  const asked = element("p", "dpviz-asked", question.text);
  asked.id = `${id}-asked`;
  root.setAttribute("aria-labelledby", asked.id);
  const line = element("p", "dpviz-answer-line");

  const part = makers[question.control.kind](question.control, id, () => {
    if (question.control.kind === "slider") send("estimate", { value: part.text() });
  });
  part.set(question.control.start);
  let isHeld = false; // the guess, until the answer may be seen
  let told = ""; // the answer where there was no guess
  const give = () => {
    isHeld = Boolean(page()?.classList.contains("dpviz-hide-answers"));
    press(isHeld ? "estimate" : "guess", part.text());
  };
  const ask = () => {
    isHeld = false;
    press("ask");
  };
  if (question.control.kind === "number") {
    part.root.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && give());
  }
  const inputs = part.root.querySelectorAll("input");

  const lock = pushButton(words.lock, give);
  const skip = pushButton(words.skip, () => press("skip"));
  const again = pushButton(words.ask_again, ask);
  const answer = pushButton(words.answer_question, ask);
  const row = element("div", "dpviz-buttons");
  row.append(lock, skip, again);
  const full = element("div", "dpviz-full");
  full.append(element("p", "dpviz-eyebrow", words.question), asked, part.root, row, line);
  root.append(full, answer);

  const nextFocus = { open: () => inputs[0], locked: () => again, skipped: () => answer };
  let phase;
  return {
    root,
    // A lecture comes to the question, its answer hidden or shown.
    pose(isHidden) {
      if (reply().prediction.phase === "skipped") ask();
      else if (isHidden) this.hold();
      else if (isHeld) give();
      else if (phase === "open") press("sheet");
    },
    hold() {
      if (reply().prediction.phase !== "locked") return;
      isHeld = true;
      press("estimate", part.text());
    },
    show({ prediction, sheet }, isLatest) {
      if (isLatest && (prediction.error || prediction.phase !== "open")) isHeld = false;
      const now = isHeld ? "locked" : prediction.phase;
      const isChanged = phase !== undefined && now !== phase;
      const hasFocus = root.contains(document.activeElement);
      phase = now;
      if (sheet.length > 0) told = sheet[0].lesson;
      root.dataset.phase = phase;
      full.hidden = phase === "skipped";
      answer.hidden = phase !== "skipped";
      lock.hidden = skip.hidden = phase !== "open";
      again.hidden = phase !== "locked";
      for (const input of inputs) input.disabled = phase === "locked";
      if (isLatest && !prediction.error && prediction.guess) part.set(prediction.guess);
      if (isChanged && phase === "open") part.set(prediction.guess || question.control.start);
      part.complain(prediction.error);
      setText(line, prediction.line || (phase === "open" ? told : ""));
      if (isChanged && hasFocus) nextFocus[phase]().focus(); // the button that was pressed is gone
    },
  };
}

// The buttons over the whole state, in the same order on every page.
function makeButtons({ look, words, press }) {
  const root = element("div", "dpviz-buttons");
  const select = element("select", "dpviz-scenario");
  select.setAttribute("aria-label", words.scenario);
  const none = new Option(words.scenario_none, "");
  none.disabled = true; // a scenario ends when a control leaves it
  select.append(none, ...look.scenarios.map(({ name, title }) => new Option(title, name)));
  select.addEventListener("change", () => press("scenario", select.value));

  const pin = pushButton(words.pin, () => press(pin.getAttribute("aria-pressed") === "true" ? "unpin" : "pin"));
  const seed = look.controls.find(({ kind }) => kind === "seed");
  const draw = seed && pushButton(seed.again, () => press("draw"));
  const undo = pushButton(words.undo, () => press("undo"));
  const reset = pushButton(words.reset, () => press("reset"));
  root.append(...[look.scenarios.length > 0 && select, pin, draw, undo, reset].filter(Boolean));
  return {
    root,
    show(reply, isLatest) {
      if (isLatest) select.value = reply.scenario;
      pin.setAttribute("aria-pressed", String(Boolean(reply.pin)));
      setText(pin, reply.pin ? words.unpin : words.pin);
      undo.disabled = !reply.can_undo;
    },
  };
}

// What is running: the scenario's story, what a broken assumption does, what is pinned.
function makeStory() {
  const root = element("div", "dpviz-running");
  const box = element("section", "dpviz-aside dpviz-story");
  const [title, story, lesson] = ["dpviz-story-title", "dpviz-story-text", "dpviz-lesson"].map((name) => element("p", name));
  box.append(title, story, lesson);
  const breach = element("p", "dpviz-breach-line");
  const pin = element("p", "dpviz-pin-note");
  root.append(box, breach, pin);
  return {
    root,
    show(reply) {
      box.hidden = !reply.story.title;
      box.setAttribute("aria-label", reply.story.title ?? "");
      setText(title, reply.story.title ?? "");
      setText(story, reply.story.story ?? "");
      setText(lesson, reply.story.lesson ?? "");
      breach.hidden = !reply.breach_line;
      setText(breach, reply.breach_line);
      pin.hidden = !reply.pin;
      setText(pin, reply.pin);
    },
  };
}

// The assumptions, short in a strip and in full below it.
function makeStrip({ words }) {
  const root = element("section", "dpviz-assumptions");
  root.setAttribute("aria-label", words.strip);
  const strip = element("dl", "dpviz-strip");
  const details = element("details", "dpviz-all-assumptions");
  const assumes = element("p", "dpviz-assumes");
  details.append(element("summary", "", words.all_assumptions), assumes);
  root.append(element("p", "dpviz-eyebrow", words.strip), strip);
  const item = ([label, text, isCaveat]) => {
    const node = element("div", isCaveat ? "dpviz-caveat" : "");
    const said = element("dd");
    if (isCaveat) said.append(element("strong", "", words.caveat));
    said.append(text);
    node.append(element("dt", "", label), said);
    return node;
  };
  return {
    root,
    details,
    show(reply) {
      setItems(strip, reply.strip, item);
      setText(assumes, reply.assumes);
    },
  };
}

// Assumptions that can be broken: what the page claims stays, what really holds is drawn beside it.
function makeBreaches({ look, words, prefix, press }) {
  if (look.breaches.length === 0) return undefined;
  const root = element("section", "dpviz-breaches");
  const title = element("p", "dpviz-eyebrow", words.breaches);
  title.id = `${prefix}-breaches`;
  root.setAttribute("aria-labelledby", title.id);
  const buttons = look.breaches.map(({ name, title: word }) => {
    const button = pushButton(word, () => press("breach", button.getAttribute("aria-pressed") === "true" ? "" : name));
    return [name, button];
  });
  const row = element("div", "dpviz-buttons");
  row.append(...buttons.map(([, button]) => button));
  root.append(title, lockable(row));
  return {
    root,
    show(reply) {
      for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(name === reply.breach));
    },
  };
}
