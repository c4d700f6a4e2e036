// Taking a page along: its address, a link, a receipt, paper, a frame in another page; joined to panel.js.

const ADDRESS_PAUSE = 300; // ms; browsers refuse an address that changes too often
const PAGE_WORDS = ["teach", "embed", "theme", "lock"]; // of the address, about the page and not its state
const FRAME_HEIGHT = 900; // px, of a frame whose page does not follow the height that is told

// The address of a state: what the kernel wrote, and the page words of the present address but for `changes`.
function addressOf(query, changes = {}) {
  const now = new URLSearchParams(location.search);
  const kept = PAGE_WORDS.map((word) => [word, word in changes ? changes[word] : now.get(word)]);
  const around = new URLSearchParams(kept.filter(([, value]) => value));
  return `?${[query, around.toString()].filter(Boolean).join("&")}`;
}

function putAddress(query, changes) {
  const search = addressOf(query, changes);
  history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
  document.dispatchEvent(new CustomEvent("dpviz-address", { detail: { query: search.slice(1) } }));
}

function wholeAddress(query, changes) {
  return new URL(addressOf(query, changes), location.href.split("#")[0]).href;
}

function saveText(text, name) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// What puts a text in the clipboard, and where that is not allowed in a box to copy it from.
function makeCopier({ words }) {
  const root = element("div", "dpviz-copied");
  const said = element("p");
  said.setAttribute("role", "status");
  const box = element("input", "dpviz-copy-box");
  Object.assign(box, { type: "text", readOnly: true, hidden: true });
  box.setAttribute("aria-label", words.copy_text);
  root.append(said, box);

  const offer = (text) => {
    box.hidden = false;
    box.value = text;
    box.focus();
    box.select();
    setText(said, words.copy_by_hand);
  };
  const copy = async (text) => {
    setText(said, "");
    box.hidden = true;
    if (!navigator.clipboard) return offer(text);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return offer(text); // the reader or the frame around the page does not allow it
    }
    return setText(said, words.copied);
  };
  return { root, copy };
}

// A page in a frame of another offers the way out; a page in a notebook editor has no address of its own.
function makeShare(desk) {
  if (ownsAddress() && "embed" in looks()) return makeWayOut(desk);
  const { words, reply } = desk;
  const root = element("section", "dpviz-share");
  root.setAttribute("aria-label", words.share);
  const row = element("div", "dpviz-buttons");
  root.append(row);
  const receipt = pushButton(words.receipt, () => {
    const { receipt: lines, file } = reply();
    saveText(`${lines.join("\n")}\n`, `${file}_receipt.txt`);
  });
  if (!ownsAddress()) {
    row.append(receipt);
    return { root, show: () => undefined, begin: () => undefined };
  }

  const { root: copied, copy } = makeCopier(desk);
  const link = element("a", "dpviz-link", words.link);
  const frame = () => {
    const node = element("iframe");
    node.src = wholeAddress(reply().query, { teach: "", embed: "1" });
    node.title = document.title;
    node.width = "100%";
    node.height = FRAME_HEIGHT;
    node.loading = "lazy";
    node.style.border = "0";
    return node.outerHTML;
  };
  row.append(
    pushButton(words.copy_link, () => copy(link.href)),
    receipt,
    pushButton(words.print, () => window.print()),
    pushButton(words.embed, () => copy(frame())),
    link,
  );
  root.append(copied);
  return { root, ...following(link, desk) };
}

function makeWayOut(desk) {
  const root = element("p", "dpviz-share");
  const link = element("a", "dpviz-link", desk.words.open_full);
  link.target = "_blank";
  link.rel = "noopener";
  root.append(link);
  const { show, begin } = following(link, desk, { embed: "" });
  const start = () => {
    const ends = [begin(), tellHeight()];
    return () => ends.forEach((end) => end());
  };
  return { root, show, begin: start };
}

// The address and `link` follow the state; the link also what others change in the address, as the page's theme.
function following(link, { reply }, changes) {
  const point = () => (link.href = wholeAddress(reply().query, changes));
  const follow = later(ADDRESS_PAUSE, () => putAddress(reply().query));
  return {
    show({ count, query }) {
      point();
      if (count > 0 && query) follow();
    },
    begin() {
      document.addEventListener("dpviz-address", point);
      return () => document.removeEventListener("dpviz-address", point);
    },
  };
}

// A page in a frame tells the page around it how high it is.
function tellHeight() {
  let told;
  const sizes = new ResizeObserver(() => {
    const ends = Array.from(document.body.children, (node) => node.getBoundingClientRect().bottom + scrollY);
    const height = Math.ceil(Math.max(...ends));
    if (height === told) return;
    told = height;
    window.parent.postMessage({ type: "dpviz-height", height }, "*");
  });
  for (const node of document.body.children) sizes.observe(node);
  return () => sizes.disconnect();
}
