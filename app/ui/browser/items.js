// Texts are set by link.js, which stands before this. Rows are kept by their id from one refresh to
// the next, so that what the viewer has unfolded or focused stays so.
const selects = (row) => {
  const root = row.getRootNode();
  // Not every browser tells of a selection in a shadow tree there.
  return (root.getSelection?.() ?? document.getSelection())?.type === "Range";
};

// A time is one word: a line ends between two of them.
const partsOf = (times) =>
  times.split(", ").flatMap((time, at, all) => {
    const isLast = at === all.length - 1;
    return time ? [element("span", "part", isLast ? time : `${time},`), isLast ? "" : " "] : [];
  });

const row = (item, isOpen, isLine) => {
  const made = element("li", "item");
  made.dataset.id = item.id;
  if (item.is_chosen) made.setAttribute("aria-current", "true");
  if (item.is_looked_after) made.classList.add("heeded");
  const what = element("span", "what");
  what.append(item.link ? link(item.link) : item.what);
  const said = element("span", "said");
  said.append(what, " ", element("span", "why", item.why), " ");
  const hints = element("span", "hints quiet");
  hints.append(element("span", "note", item.note), " ");
  hints.append(element("span", "number", item.more_label));
  if (item.note || item.more_label) said.append(hints);
  const aside = element("span", "aside quiet");
  aside.append(...item.links.map(link));
  const list = element("ul", "more quiet");
  if (item.acts.length) {
    const acts = element("li", "acts");
    acts.append(...item.acts.map(link));
    list.append(acts);
  }
  list.append(...item.more.map((text) => element("li", "", text)));
  const badge = element("span", item.badge ? `badge ${item.badge.colour}` : "", item.badge?.label);
  const when = element("span", "when quiet");
  when.append(...partsOf(item.when));
  const step = element("span", "step quiet", item.step);
  const until = element("span", item.is_far ? "until far" : "until", item.until);
  made.append(badge, said, step, aside, until, when, list);
  if (isLine) {
    // What is cut is whole where the pointer rests, too.
    for (const part of made.querySelectorAll(".what, .why, .step, .when")) part.title = part.textContent;
  } else if (!item.links.length && !item.more.length) return made;
  const toggle = element("button", "toggle");
  toggle.type = "button";
  toggle.setAttribute("aria-label", `All of ${item.what}`);
  const unfold = (is) => {
    made.classList.toggle("open", is);
    toggle.setAttribute("aria-expanded", String(is));
  };
  made.addEventListener("click", (event) => {
    // A link leads elsewhere, and who selects a text keeps it.
    if (event.target.closest("a") || selects(made)) return;
    unfold(!made.classList.contains("open"));
  });
  unfold(isOpen);
  list.before(toggle);
  return made;
};

const foldOf = (list) => {
  const made = element("li", "fold");
  const button = element("button");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", String(list.classList.toggle("unfolded")));
  });
  made.append(button);
  return made;
};

// What the columns are; a reader of the list hears it in each row's words.
const headOf = (words) => {
  const made = element("li", "head quiet");
  made.setAttribute("aria-hidden", "true");
  made.append(...words.map((word) => element("span", "", word)));
  return made;
};

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector(".items");
  list.setAttribute("aria-label", data.alt);
  list.classList.toggle("lines", data.lines);
  list.classList.toggle("apart", data.apart);
  list.classList.toggle("dense", data.dense);
  for (const name of ["when", "until", "step", "links"]) {
    list.classList.toggle(`no-${name}`, data.items.every((item) => !item[name].length));
  }
  const before = new Map([...list.children].map((child) => [child.dataset.id, child]));
  const wanted = data.items.map((item, at) => {
    const said = JSON.stringify(item);
    const old = before.get(item.id);
    const isOpen = old?.classList.contains("open") ?? false;
    const made = old?.said === said ? old : row(item, isOpen, data.lines);
    made.said = said;
    made.classList.toggle("folded", at >= data.seen);
    return made;
  });
  if (data.fold) {
    const fold = list.querySelector(".fold") ?? foldOf(list);
    fold.firstChild.textContent = data.fold;
    wanted.splice(data.seen, 0, fold);
  }
  if (data.lines) {
    const said = JSON.stringify(data.heads);
    const old = list.querySelector(".head");
    const head = old?.said === said ? old : headOf(data.heads);
    head.said = said;
    wanted.unshift(head);
  }
  const now = [...list.children];
  const stays = wanted.length === now.length && wanted.every((one, at) => now[at] === one);
  if (!stays) list.replaceChildren(...wanted);
}
