// The age ticks in the browser, by the server's clock. Amber beyond two polls, red beyond four, as
// the pages colour it. A page that is not drawn any more must not look fresh.
const words = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d`;
};

export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".live");
  const state = (parentElement.live ??= {});
  if (state.now !== data.now) Object.assign(state, { now: data.now, drawn: Date.now() / 1000 });
  const set = (colour, text, title) => {
    place.className = `live ${colour}`;
    if (place.textContent !== text) place.textContent = text;
    place.title = title;
  };
  const tick = () => {
    const since = Date.now() / 1000 - state.drawn;
    const app = document.querySelector("[data-testid=stApp]");
    const connection = app?.getAttribute("data-test-connection-state") ?? "CONNECTED";
    const age = data.polled_at === null ? null : data.now + since - data.polled_at;
    if (connection !== "CONNECTED")
      return set("red", `connection lost ${words(since)} ago`, "The page shows what it last got.");
    if (data.paused) return set("orange", `paused ${words(since)} ago`, "Go on in the menu.");
    if (since > 2 * data.longest && !document.hidden)
      return set("red", `not drawn for ${words(since)}`, "The server is busy, or stopped.");
    if (age === null) return set("red", "no poll yet", "");
    const colour = age > 4 * data.interval ? "red" : age > 2 * data.interval ? "orange" : "gray";
    set(colour, `${words(age)} ago`, "Age of the newest poll.");
  };
  tick();
  clearInterval(state.timer);
  state.timer = setInterval(tick, 1000);
  return () => clearInterval(state.timer);
}
