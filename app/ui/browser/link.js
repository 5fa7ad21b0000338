// Elements with the texts of others, which are set as text, never as HTML.
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
