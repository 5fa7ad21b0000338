// Texts of others are set as text, never as HTML. Rows are kept by their id from one refresh to
// the next, so that what the viewer has unfolded or focused stays so.
const element = (kind, name, text) => {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
};

const link = (target) => {
  const made = element("a", "", target.label);
  made.href = target.href;
  made.addEventListener("click", (event) => {
    // A new tab or window is the browser's business; the same tab keeps the session.
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    // One entry of the history, as leave.js says.
    window.history.pushState({}, "", made.href);
    window.dispatchEvent(new PopStateEvent("popstate"));
  });
  return made;
};

const row = (item, isOpen, isLine) => {
  const made = element("li", "item");
  made.dataset.id = item.id;
  if (item.is_chosen) made.setAttribute("aria-current", "true");
  const badge = item.badge ? `badge ${item.badge.colour}` : "none";
  made.append(element("span", badge, item.badge?.label));
  const what = element("span", "what");
  what.append(item.link ? link(item.link) : item.what);
  made.append(what, element("span", "when quiet", item.when), element("span", "why", item.why));
  const below = [element("span", "until", item.until), element("span", "step quiet", item.step)];
  if (!isLine) made.append(...below);
  if (!isLine && !item.links.length && !item.more.length) return made;
  const aside = element("span", "aside quiet", item.more_label);
  aside.append(...item.links.map(link));
  const list = element("ul", "more quiet");
  list.append(...item.more.map((text) => element("li", "", text)));
  const toggle = element("button", "toggle");
  toggle.type = "button";
  toggle.setAttribute("aria-label", `All of ${item.what}`);
  const unfold = (is) => {
    made.classList.toggle("open", is);
    toggle.setAttribute("aria-expanded", String(is));
  };
  toggle.addEventListener("click", () => unfold(!made.classList.contains("open")));
  unfold(isOpen);
  if (!isLine) {
    made.append(toggle, aside, list);
    return made;
  }
  const second = element("span", "second");
  second.append(...below, aside);
  made.append(toggle, second, list);
  return made;
};

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector(".items");
  list.setAttribute("aria-label", data.alt);
  list.classList.toggle("lines", data.lines);
  for (const name of ["when", "until", "step"]) {
    list.classList.toggle(`no-${name}`, data.items.every((item) => !item[name]));
  }
  const before = new Map([...list.children].map((child) => [child.dataset.id, child]));
  const wanted = data.items.map((item) => {
    const said = JSON.stringify(item);
    const old = before.get(item.id);
    const isOpen = old?.classList.contains("open") ?? false;
    const made = old?.said === said ? old : row(item, isOpen, data.lines);
    made.said = said;
    return made;
  });
  const stays = wanted.length === before.size && wanted.every((one, at) => list.children[at] === one);
  if (!stays) list.replaceChildren(...wanted);
}
