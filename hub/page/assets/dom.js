// Building the page. Text only ever becomes text nodes: nothing here, and
// nothing that uses it, makes HTML of a string.

// h makes an element. Properties that begin with "on" are listeners, all
// others attributes; false, null and undefined are left out.
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === false || value == null) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export const $ = (id) => document.getElementById(id);

// show replaces what a region holds. Whoever has the focus there keeps it: the
// element with the same data-key gets it back.
export function show(region, ...children) {
  const focused = region.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  region.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
  if (focused !== undefined) {
    region.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

// An element that is replaced between the press of a button on it and the
// release is never clicked, so what replaces elements by itself waits that long.
let pressed = false;
const held = new Map(); // actions and their arguments

function release() {
  pressed = false;
  const due = [...held];
  held.clear();
  for (const [action, args] of due) action(...args);
}

addEventListener('pointerdown', (event) => { pressed ||= event.button === 0; }, true); // others open menus, and may have no end
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(release), true); // the click comes first
addEventListener('blur', release); // of the window: the end may be somewhere else

// steady makes an action one that waits while a button is pressed. Of several
// calls that wait the last one is made.
export const steady = (action) => (...args) => {
  if (pressed) held.set(action, args);
  else action(...args);
};

// sureButton asks once more before it acts.
export function sureButton(label, key, action) {
  const button = h('button', { type: 'button', class: 'quiet', 'data-key': key }, label);
  button.addEventListener('click', () => {
    if (button.dataset.sure === undefined) {
      button.dataset.sure = '';
      button.textContent = `Really ${label[0].toLowerCase()}${label.slice(1)}`;
      button.classList.add('danger');
      announce(`Press again to ${label[0].toLowerCase()}${label.slice(1)}.`);
      return;
    }
    action();
  });
  button.addEventListener('blur', () => {
    delete button.dataset.sure;
    button.textContent = label;
    button.classList.remove('danger');
  });
  return button;
}

// arrows moves the focus with the arrow keys, Home and End among the elements of a
// list that match selector.
export function arrows(list, selector) {
  list.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const items = [...list.querySelectorAll(selector)];
    const at = items.indexOf(document.activeElement);
    if (at < 0) return;
    const next = items[{ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

// typing calls an action with what is in a field when somebody stops typing there, and
// with Enter at once.
export function typing(field, action) {
  const pause = 200; // ms
  let timer;
  const now = () => {
    clearTimeout(timer);
    action(field.value);
  };
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(now, pause);
  });
  field.addEventListener('keydown', (event) => { if (event.key === 'Enter') now(); });
}

// announce tells those who don't see the page what changed.
export function announce(text) {
  $('announce').textContent = text;
}
