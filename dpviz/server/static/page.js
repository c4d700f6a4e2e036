// The page around the notebook: says that it is starting, that it is ready, and that its kernel was lost.
"use strict";

(() => {
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

  const byId = (id) => document.getElementById(id);

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
    document.documentElement.dataset.page = "ready";
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

  // The front end opens every link of an output in a new tab; one to a page of ours stays in this one.
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href][target='_blank']");
    if (link && new URL(link.href).origin === location.origin) link.removeAttribute("target");
  }, true);

  document.addEventListener("DOMContentLoaded", () => {
    const observer = new MutationObserver(() => showReady() && observer.disconnect());
    observer.observe(byId("rendered_cells"), { childList: true, subtree: true, characterData: true });
    if (showReady()) observer.disconnect();
  });
})();
