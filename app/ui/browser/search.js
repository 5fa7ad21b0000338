// The box keeps what is typed; the server answers with hits. Names are set as text, never as HTML.
const WAIT = 120;
const CHORD = 1200;

const element = (kind, name, text) => {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
};

const isField = (target) =>
  target?.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target?.tagName);

const plain = (event) => !(event.ctrlKey || event.metaKey || event.altKey);

export default function ({ data, parentElement, setTriggerValue }) {
  const find = (name) => parentElement.querySelector(name);
  const [input, panel, list, note] = ["input", ".panel", "ul", "p"].map(find);
  const state = (parentElement.search ??= { at: 0, before: null, answer: null });
  input.placeholder = `${data.label}  ( / )`;
  input.setAttribute("aria-label", data.label);

  const show = (is) => {
    panel.hidden = !is;
    input.setAttribute("aria-expanded", String(is));
  };
  const select = (at) => {
    const rows = [...list.children];
    state.at = Math.max(0, Math.min(at, rows.length - 1));
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === state.at)));
    rows[state.at]?.scrollIntoView({ block: "nearest" });
    if (rows.length) input.setAttribute("aria-activedescendant", `hit-${state.at}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    clearTimeout(state.typing);
    state.entered = null;
    input.value = "";
    show(false);
    input.blur();
  };
  const open = (hit) => {
    close();
    // One entry of the history, as leave.js says. Nothing is told to the server beside it: Streamlit
    // would take the next address for a choice on the page that is left, an entry of its own.
    window.history.pushState({}, "", hit.href);
    window.dispatchEvent(new PopStateEvent("popstate"));
  };
  const row = (hit, place) => {
    const made = element("li");
    made.id = `hit-${place}`;
    made.setAttribute("role", "option");
    const link = element("a", "hit");
    link.href = hit.href;
    link.tabIndex = -1;
    link.append(element("span", "quiet", hit.kind), element("span", "", hit.name));
    link.append(element("span", "quiet", hit.about));
    link.addEventListener("click", (event) => {
      if (event.button || !plain(event) || event.shiftKey) return;
      event.preventDefault();
      open(hit);
    });
    made.append(link);
    return made;
  };
  const keys = () => {
    const every = [{ keys: "/", label: "search" }, ...data.keys, { keys: "r", label: "refresh" }];
    list.replaceChildren(
      ...every.map((one) => {
        const made = element("li");
        const line = element("span", "hit");
        line.append(element("kbd", "", one.keys), element("span", "", one.label));
        made.append(line);
        return made;
      }),
    );
    note.textContent = "Esc closes this list.";
    show(true);
  };

  // What was typed before is no question any more: the next answer is on its way.
  const answer = () => {
    if (!input.matches(":focus") || state.answer?.asked !== input.value) return;
    const wanted = state.entered === input.value;
    state.entered = null;
    if (wanted && state.answer.hits.length) {
      open(state.answer.hits[0]);
      return;
    }
    list.replaceChildren(...state.answer.hits.map(row));
    note.textContent = state.answer.note;
    select(0);
    show(true);
  };
  const ask = () => {
    answer();
    setTriggerValue("query", input.value);
  };
  // A question is answered once; the page is drawn again without it.
  if (data.asked) {
    state.answer = data;
    answer();
  }
  input.oninput = () => {
    clearTimeout(state.typing);
    state.entered = null;
    if (input.value.trim()) state.typing = setTimeout(ask, WAIT);
    else show(false);
  };
  input.onkeydown = (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") select(state.at + 1);
    else if (event.key === "ArrowUp") select(state.at - 1);
    else if (event.key === "Enter") {
      const { asked, hits } = state.answer ?? {};
      if (asked === input.value && hits[state.at]) open(hits[state.at]);
      else if (input.value.trim()) {
        // Who is faster than the answer is led to its first hit.
        state.entered = input.value;
        clearTimeout(state.typing);
        ask();
      }
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  input.onblur = () => setTimeout(() => show(false), 200);
  input.onfocus = () => input.value.trim() && ask();

  const pressed = (event) => {
    if (!plain(event) || isField(event.composedPath()[0])) return;
    const chord = state.before && event.timeStamp - state.before.at < CHORD ? state.before.key : "";
    state.before = { key: event.key, at: event.timeStamp };
    const target = data.keys.find((one) => one.keys === `${chord} ${event.key}`);
    if (target) {
      const menu = document.querySelectorAll("[data-testid=stSidebarNav] a");
      [...menu]
        .find((link) => new URL(link.href).pathname.split("/").pop() === target.address)
        ?.click();
      state.before = null;
    } else if (event.key === "/") {
      event.preventDefault();
      input.focus();
    } else if (event.key === "?") keys();
    else if (event.key === "Escape") show(false);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
