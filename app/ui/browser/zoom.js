// A zoom on one chart with a time axis moves all of the page, and can become the range. So does the
// time that is pointed at.
// Plotly tells of a zoom by an event of its own, so each chart that appears is listened to.
const LISTENS = Symbol.for("headroom.zoom");
const FRAME = ["cluster", "range", "between"];
const RANGE = ["xaxis.range[0]", "xaxis.range[1]"];

const charts = () =>
  [...document.querySelectorAll(".js-plotly-plot")].filter(
    ({ layout, _fullLayout }) =>
      _fullLayout?.xaxis?.type === "date" && layout?.meta?.axis === "page axis",
  );

// Plotly tells of a time as text, and takes it as a number; its dates know no zones.
const milliseconds = (text) => {
  const found = Date.parse(`${String(text).replace(" ", "T")}Z`);
  return Number.isNaN(found) ? null : found;
};

const isSeen = (chart) => {
  const { top, bottom } = chart.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
};

// The server placed marks for the whole axis: what it sent stays with the figure until the end.
const pencil = document.createElement("canvas").getContext("2d");
const marksFor = (chart, span) => {
  const marks = chart.layout.meta?.marks;
  if (!marks) return {};
  const { annotations, shapes } = chart.layout;
  marks.whole ??= { annotations, shapes };
  if (!span) return marks.whole;
  const [start, end] = span.map(milliseconds);
  pencil.font = `${marks.note.font.size}px ${chart._fullLayout.font.family}`;
  const width = (text) => pencil.measureText(text).width;
  return marksWithin(chart, { start, end, pixels: chart._fullLayout._size.w, width });
};

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const state = (parentElement.zoomed ??= { span: null, moving: false });
  const offer = () => {
    const [from, to] = (state.span ?? ["", ""]).map((one) => String(one).slice(11, 16));
    button.textContent = `${data.label} ${from} – ${to}`;
    button.hidden = !state.span || !data.label;
  };
  state.zoomed = async (chart, change) => {
    if (state.moving) return;
    const span = RANGE.map((key, place) => change[key] ?? change["xaxis.range"]?.[place]);
    const all = change["xaxis.autorange"] === true;
    if (!all && !(span[0] && span[1])) return;
    state.span = all ? null : span;
    state.offer();
    state.moving = true;
    try {
      const wanted = all ? { "xaxis.autorange": true } : { "xaxis.range": [...span] };
      const moved = charts().map((one) => {
        const marks = marksFor(one, state.span);
        const change = one === chart ? marks : { ...wanted, ...marks };
        return Object.keys(change).length ? window.Plotly?.relayout(one, change) : null;
      });
      await Promise.all(moved);
    } finally {
      state.moving = false;
    }
  };
  state.offer = offer;
  // All charts tell of the time that is pointed at in one of them.
  state.pointed = (chart, at) => {
    for (const one of charts()) {
      if (one === chart || one._fullLayout.hovermode !== "x unified") continue;
      if (at === null) window.Plotly?.Fx.unhover(one);
      // The last argument: the other chart does not tell of it in turn.
      else if (isSeen(one)) window.Plotly?.Fx.hover(one, { xval: at }, ["xy"], true);
    }
  };
  // New figures come without the zoom. Not at each plot: a chart that is zoomed again, or back, is
  // plotted before it tells of that.
  state.drawn = (chart) => {
    const isTimes = charts().includes(chart);
    if (!state.span || state.moving || !isTimes) return;
    const shown = chart._fullLayout.xaxis.range.map(milliseconds);
    const isZoomed = state.span.every(
      (one, place) => Math.abs(milliseconds(one) - shown[place]) < 1000,
    );
    const change = isZoomed ? {} : { "xaxis.range": [...state.span] };
    Object.assign(change, marksFor(chart, state.span));
    if (Object.keys(change).length) window.Plotly?.relayout(chart, change);
  };
  const listen = () => {
    for (const chart of charts()) {
      // What listened to a figure is gone with it, though its element stays.
      if (chart._ev[LISTENS]) continue;
      chart._ev[LISTENS] = true;
      chart.on("plotly_relayout", (change) => state.zoomed(chart, change));
      chart.on("plotly_hover", (found) => state.pointed(chart, milliseconds(found.xvals?.[0])));
      chart.on("plotly_unhover", () => state.pointed(chart, null));
      chart.on("plotly_react", () => state.drawn(chart));
      state.drawn(chart);
    }
  };
  button.onclick = () => {
    setTriggerValue("range", state.span.map(String));
    state.span = null;
    offer();
  };
  // Streamlit leaves out of the address what was not chosen on this page. Without an entry of the
  // history, and once a drawing: "back" must find what it left.
  if (state.at !== data.drawn) {
    state.at = data.drawn;
    const address = new URL(window.location.href);
    for (const name of FRAME) {
      if (name in data.address) address.searchParams.set(name, data.address[name]);
      else address.searchParams.delete(name);
    }
    if (address.href !== window.location.href)
      window.history.replaceState(window.history.state, "", address);
  }
  // Charts have the colours of the theme that the server was told of: Streamlit tells of another one
  // with the next thing that the viewer does. This runs again when it changes.
  const theme = getComputedStyle(button).colorScheme;
  if (theme !== data.theme && theme !== state.theme) setTriggerValue("theme", theme);
  state.theme = theme;
  if (state.page !== data.page) Object.assign(state, { page: data.page, span: null });
  offer();
  listen();
  // A refresh may put a new chart in the place of one: it gets the zoom before it is painted.
  state.observer?.disconnect();
  state.observer = new MutationObserver(listen);
  state.observer.observe(document.body, { childList: true, subtree: true });
  clearInterval(state.timer);
  state.timer = setInterval(listen, 500);
  return () => {
    state.observer.disconnect();
    clearInterval(state.timer);
  };
}
