// The page around the notebook: how it looks, where its links lead, that it is starting, ready, or has lost its kernel.
"use strict";

(() => {
  const root = document.documentElement;

  // How the page looks stands in its address. This script runs before the body is there, so nothing changes in sight.
  const looks = new URLSearchParams(location.search);
  for (const word of ["teach", "embed", "lock"]) if (looks.get(word) === "1") root.dataset[word] = "";
  if (["light", "dark"].includes(looks.get("theme"))) root.dataset.theme = looks.get("theme");

  const LOST_AFTER = 4000; // ms; a shorter interruption is mended by the front end itself
  const KERNEL = /\/api\/kernels\/([0-9a-f-]{36})$/;

  // The front end asks the server whether the page's own kernel is there; the server does not tell. It is: the page
  // got its id a moment ago, and the websocket that follows says what is true.
  const ask = window.fetch.bind(window);
  window.fetch = (resource, options) => {
    const request = new Request(resource, options);
    const id = KERNEL.exec(new URL(request.url).pathname)?.[1];
    if (!id || request.method !== "GET") return ask(request);
    return Promise.resolve(Response.json({ id, name: "python3" }));
  };

  // It also tells the server to end the kernel when the page is left; the server sees that by itself.
  const tell = navigator.sendBeacon.bind(navigator);
  navigator.sendBeacon = (address, data) => /\/voila\/api\/shutdown\//.test(address) || tell(address, data);

  // A page that the browser kept when it was left shows a kernel that has ended since.
  window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());

  const byId = (id) => document.getElementById(id);

  // Without a word, then as the system says; the rest of the address stays as it is written.
  function turnTheme() {
    const next = { undefined: "light", light: "dark" }[root.dataset.theme];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    const others = location.search.slice(1).split("&").filter((part) => part && !part.startsWith("theme="));
    const parts = next ? [...others, `theme=${next}`] : others;
    const search = parts.length ? `?${parts.join("&")}` : "";
    history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
    document.dispatchEvent(new Event("dpviz-address"));
  }

  // A link to the page in another language takes the whole state along, one to another page of ours how it looks.
  const written = new WeakMap();
  function pointOn(link) {
    if (link.origin !== location.origin || !link.pathname.endsWith(".ipynb") || link.getAttribute("href")[0] === "#") return;
    if (!written.has(link)) written.set(link, link.search);
    if (link.closest(".page-languages")) link.search = location.search;
    else link.search = withLooks(written.get(link));
  }

  function withLooks(search) {
    const [own, here] = [search, location.search].map((text) => new URLSearchParams(text));
    const more = ["teach", "theme"].filter((word) => here.has(word) && !own.has(word));
    return [...search.slice(1).split("&").filter(Boolean), ...more.map((word) => new URLSearchParams({ [word]: here.get(word) }))].join("&");
  }

  for (const kind of ["pointerdown", "focusin", "click"])
    document.addEventListener(kind, ({ target }) => {
      const link = target.closest?.("a[href]");
      if (link && !link.closest(".dpviz")) pointOn(link); // an explainer's own links follow its state themselves
    }, true);

  document.addEventListener("click", ({ target }) => target.closest?.(".page-theme") && turnTheme());

  function followAddress() {
    for (const link of document.querySelectorAll(".page-languages a")) pointOn(link);
    byId("page-address").textContent = location.href;
  }

  function isShown() {
    const cells = byId("rendered_cells");
    const waits = [...cells.querySelectorAll(".jp-OutputArea-output")].some(
      (node) => node.childElementCount === 0 && node.textContent.startsWith("Loading widget"),
    );
    return !waits && !cells.querySelector("script[type='application/vnd.voila.cell-output+json']");
  }

  function showReady() {
    if (!isShown()) return false;
    byId("page-starting").hidden = true;
    root.dataset.page = "ready";
    return true;
  }

  function tellLoss(kernel) {
    let timer;
    const show = (isLost) => (byId("page-lost").hidden = !isLost);
    const look = () => {
      clearTimeout(timer);
      const isDead = kernel.isDisposed || kernel.status === "dead";
      if (isDead || kernel.connectionStatus !== "connected") timer = setTimeout(() => show(true), isDead ? 0 : LOST_AFTER);
      else show(false);
    };
    for (const signal of [kernel.connectionStatusChanged, kernel.statusChanged, kernel.disposed]) signal.connect(look);
    look();
  }

  // The front end has no event for "started": it sets this property of the window.
  let app;
  Object.defineProperty(window, "jupyterapp", {
    configurable: true,
    get: () => app,
    set(started) {
      app = started;
      app.widgetManagerPromise.promise.then((manager) => tellLoss(manager.kernel));
    },
  });

  // The front end opens every link of an output in a new tab; one to a page of ours stays in this one, but for those
  // that lead out of a frame.
  document.addEventListener("click", ({ target }) => {
    const link = "embed" in root.dataset ? null : target.closest?.("a[href][target='_blank']");
    if (link && new URL(link.href).origin === location.origin) link.removeAttribute("target");
  }, true);

  document.addEventListener("DOMContentLoaded", () => {
    document.addEventListener("dpviz-address", followAddress);
    followAddress();
    const observer = new MutationObserver(() => showReady() && observer.disconnect());
    observer.observe(byId("rendered_cells"), { childList: true, subtree: true, characterData: true });
    if (showReady()) observer.disconnect();
  });
})();
