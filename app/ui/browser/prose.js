// Texts and links are made by link.js, which stands before this.
export default function ({ data, parentElement }) {
  const parts = data.parts.map((part) => (typeof part === "string" ? part : link(part)));
  parentElement.querySelector("p").replaceChildren(...parts);
}
