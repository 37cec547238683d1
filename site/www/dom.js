// The little that the page needs to change what it shows. Text only ever goes in as
// text: there is no way here to insert HTML.

export const byId = (id) => document.getElementById(id);

// make returns a new element. Of the properties, those with a hyphen and `role` are
// attributes. Children that are null are left out.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "role" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// say tells those who listen to the page something that others see in its place.
export function say(text) {
  const said = byId("said");
  said.textContent = "";
  requestAnimationFrame(() => (said.textContent = text));
}

// on runs work at an event of target, once at a time. The button that stands for it is
// marked meanwhile, and keeps the focus, which a disabled one would lose.
export function on(type, target, button, work) {
  target.addEventListener(type, async (event) => {
    event.preventDefault();
    if (button.ariaDisabled === "true") return;
    button.ariaDisabled = "true";
    try {
      await work();
    } finally {
      button.ariaDisabled = null;
    }
  });
}

export const onClick = (button, work) => on("click", button, button, work);

// verdict returns a line that says how something went: good, bad, or neither (plain).
export function verdict(kind, title, text) {
  return make("p", { className: "verdict " + kind }, make("strong", {}, title), " ", text);
}
