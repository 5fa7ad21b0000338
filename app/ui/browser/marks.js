// The marks of a chart for the part of its axis that is seen. The server places them for the whole
// one: app/style/charts/marks.py has the same rule, and a test compares the two.
const SIGN = "▼";
const [SIGN_PIXELS, GAP_PIXELS, NEAR_PIXELS, ROW_PIXELS, HOVER_LINES] = [12, 6, 60, 18, 8];
const [WORTH_A_ROW, QUIET] = [2, 4];

const markOf = (events, axis) => {
  const first = events.reduce((best, one) => (one.rank < best.rank ? one : best));
  const at = ((first.at - axis.start) / (axis.end - axis.start)) * axis.pixels;
  const from = Math.min(Math.max(0, at - SIGN_PIXELS / 2), axis.pixels - SIGN_PIXELS);
  const place = { at, from, to: from + SIGN_PIXELS, text: "", isLeft: false };
  return { events, first, lines: [first], ...place };
};

const textsOf = ({ events, first }) => {
  const ofAll = events.length > 1 ? [`${events.length} changes`] : [];
  const texts = ofAll.length && first.rank === QUIET ? ofAll : [first.word, ...ofAll];
  return texts.filter(Boolean);
};

const withWords = (found, mark, axis) => {
  for (const text of textsOf(mark)) {
    const pixels = GAP_PIXELS + axis.width(text);
    const beside = [
      { ...mark, text, from: mark.from - pixels, isLeft: true },
      { ...mark, text, to: mark.to + pixels },
    ];
    const free = beside
      .filter((words) => words.from >= 0 && words.to <= axis.pixels)
      .map((words) => ({
        words,
        below: found.filter((one) => one !== mark && one.from < words.to && words.from < one.to),
      }))
      .filter(({ below }) => below.every((one) => one.first.rank > mark.first.rank));
    if (!free.length) continue;
    const { words, below } = free.reduce((a, b) => (b.below.length < a.below.length ? b : a));
    const all = [mark, ...below];
    const events = all.flatMap((one) => one.events).sort((a, b) => a.at - b.at);
    const whole = { ...words, events, lines: all.flatMap((one) => one.lines) };
    const left = found.filter((one) => !below.includes(one));
    return left.map((one) => (one === mark ? whole : one));
  }
  return found;
};

const named = (marks, axis) => {
  let found = marks;
  for (const mark of [...marks].reverse().sort((a, b) => a.first.rank - b.first.rank))
    if (found.includes(mark) && !mark.text) found = withWords(found, mark, axis);
  return found;
};

const joined = (found, axis) => {
  const all = [];
  for (const mark of found) {
    const before = all.at(-1);
    if (before && !before.text && !mark.text && mark.from - before.to < NEAR_PIXELS) {
      const both = markOf([...before.events, ...mark.events], axis);
      all[all.length - 1] = { ...both, lines: [...before.lines, ...mark.lines] };
    } else all.push(mark);
  }
  return all;
};

const inARow = (events, axis) => {
  const found = [];
  for (const event of events) {
    found.push(markOf([event], axis));
    while (found.length > 1 && found.at(-2).to > found.at(-1).from) {
      const [before, last] = found.splice(-2);
      found.push(markOf([...before.events, ...last.events], axis));
    }
  }
  return named(joined(named(found, axis), axis), axis);
};

const isNamed = ({ text, first }) => text && text === first.word;

// Events are in order of time; an axis has its start and end, its pixels, and how wide a text is.
const placedMarks = (events, axis, mostRows) => {
  const shown = events.filter(({ at }) => at >= axis.start && at <= axis.end);
  const lowest = inARow(shown, axis);
  const firsts = lowest.filter(isNamed).map(({ first }) => first);
  const left = shown.filter((one) => one.rank <= WORTH_A_ROW && !firsts.includes(one));
  const above = mostRows > 1 ? inARow(left, axis) : [];
  const below = above.some(isNamed) ? shown.filter((one) => !left.includes(one)) : null;
  const rows = below ? [inARow(below, axis), above] : [lowest];
  return rows.flatMap((marks, row) => marks.map((one) => ({ ...one, row })));
};

const plain = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const noteOf = (mark, note, rows) => {
  const { events, first, text, isLeft, at, from, to } = mark;
  const words = isLeft ? [plain(text), SIGN] : [SIGN, plain(text)];
  const lines = events.slice(0, HOVER_LINES).map((one) => one.hover);
  if (events.length > HOVER_LINES) lines.push(`and ${events.length - HOVER_LINES} more`);
  return {
    ...note,
    x: first.x,
    text: words.filter(Boolean).join(" "),
    hovertext: lines.join("<br>"),
    xanchor: isLeft ? "right" : "left",
    xshift: isLeft ? to - at : from - at,
    yshift: -ROW_PIXELS * (rows - 1 - mark.row),
    font: { ...note.font, color: first.colour },
  };
};

const lineOf = ({ x, colour }, line) => ({
  ...line,
  x0: x,
  x1: x,
  line: { ...line.line, color: colour },
});

// What a chart's annotations and shapes become where marks are placed for a part of its axis.
const marksWithin = (chart, axis) => {
  const { events, rows, note, line } = chart.layout.meta.marks;
  const dated = events.map((one) => ({ ...one, at: Date.parse(`${one.x}Z`) }));
  // There is room for the rows that the server found.
  const found = placedMarks(dated, axis, rows);
  const others = (all) => (all ?? []).filter((one) => one.name !== note.name);
  const lines = found.flatMap((mark) => mark.lines.map((one) => lineOf(one, line)));
  return {
    annotations: [
      ...others(chart.layout.annotations),
      ...found.map((one) => noteOf(one, note, rows)),
    ],
    shapes: [...others(chart.layout.shapes), ...lines],
  };
};
