// Leaves for another page as a link does: one entry of the browser's history, where st.switch_page
// makes three and "back" may lead nowhere. Streamlit follows an address when the browser tells of
// it, as it does for the button "back".
export default function ({ data, parentElement }) {
  if (parentElement.left === data.href) return;
  parentElement.left = data.href;
  window.history.pushState({}, "", data.href);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
