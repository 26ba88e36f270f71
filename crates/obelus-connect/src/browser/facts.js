// Runs in a page. A page can hide properties: a field named `action` hides the `action` of its form, and an image named
// `URL` hides `document.URL`. So properties are read through the browser's prototypes, and attributes as attributes.
(element, verbNames) => {
  const attribute = (node, name) => Element.prototype.getAttribute.call(node, name);
  const getter = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get;
  const tag = (node) => getter(Element, 'localName').call(node);
  const closest = (node, selector) => Element.prototype.closest.call(node, selector);
  const kinds = { button: HTMLButtonElement, input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement };
  const own = (node, name) => { const kind = kinds[tag(node)]; return kind && Object.getOwnPropertyDescriptor(kind.prototype, name)?.get.call(node); };
  const texts = ['text', 'search', 'email', 'tel', 'url', 'password', 'number', 'date', 'datetime-local', 'month', 'week', 'time', 'color', 'range'];
  // A click on a part of a link, button or label is a click on the whole.
  let target = closest(element, 'a[href], area[href], button, input, select, textarea, label') ?? element;
  if (tag(target) === 'label') target = Object.getOwnPropertyDescriptor(HTMLLabelElement.prototype, 'control').get.call(target) ?? element;
  const type = tag(target) === 'input' || tag(target) === 'button' ? own(target, 'type') : tag(target);
  const disabled = (node) => Element.prototype.matches.call(node, ':disabled') || closest(node, '[aria-disabled="true" i], [inert]') !== null;
  const readonly = () => Element.prototype.hasAttribute.call(target, 'readonly') || attribute(target, 'aria-readonly') === 'true';
  const typed = tag(target) === 'textarea' || (tag(target) === 'input' && texts.includes(type)) || element.isContentEditable === true;
  const isLink = ['a', 'area'].includes(tag(target)) && Element.prototype.hasAttribute.call(target, 'href');
  const submits = (node) => ['submit', 'image'].includes(['input', 'button'].includes(tag(node)) ? own(node, 'type') : '');
  const form = own(target, 'form') ?? closest(target, 'form');
  const enabled = !disabled(element) && !disabled(target);
  const flat = (text) => (text ?? '').replace(/\s+/g, ' ').trim().slice(0, 60);
  // The label of a field, for the person who is asked about its form.
  const label = (node) => {
    const labels = kinds[tag(node)] ? Object.getOwnPropertyDescriptor(kinds[tag(node)].prototype, 'labels')?.get.call(node) : null;
    const words = labels?.length ? flat(labels[0].textContent.replace(tag(node) === 'select' ? node.textContent : '', '')) : '';
    return (flat(attribute(node, 'aria-label')) || words || flat(attribute(node, 'placeholder')) || flat(attribute(node, 'name')) || tag(node)).replace(/[:*\s]+$/, '');
  };
  // SVG elements have no `innerText`.
  const inner = (node) => { try { return getter(HTMLElement, 'innerText').call(node) ?? ''; } catch { return getter(Node, 'textContent').call(node) ?? ''; } };
  const facts = {
    enabled, editable: typed && enabled && !readonly(),
    takes_files: type === 'file', hides: type === 'password', searches: type === 'search' || closest(target, '[role=searchbox i]') !== null || (type !== 'password' && closest(target, 'search, [role=search i]') !== null), submits: false, enters: false, link: null, form: null, place: null,
  };
  if (isLink) { const href = getter(tag(target) === 'a' ? HTMLAnchorElement : HTMLAreaElement, 'href').call(target); facts.link = href; return facts; }
  if (!form) { return facts; }
  const members = [...getter(HTMLFormElement, 'elements').call(form)].slice(0, 2000);
  const images = [...Document.prototype.querySelectorAll.call(document, 'input[type=image i]')].filter((node) => own(node, 'form') === form);
  const sender = submits(target) ? target : [...members, ...images].find((node) => submits(node) && !disabled(node)) ?? null;
  facts.submits = submits(target);
  facts.enters = tag(target) === 'input' && !facts.submits;
  const said = (name) => (sender && attribute(sender, 'form' + name)) || attribute(form, name) || '';
  let method = said('method').trim().toUpperCase();
  if (!['POST', 'DIALOG'].includes(method)) method = 'GET';
  const here = getter(Document, 'URL').call(document), base = getter(Node, 'baseURI').call(document);
  let address = here;
  try { address = new URL(said('action').trim() || here, base).href; } catch { address = 'about:invalid'; }
  if (method === 'GET') { try { const plain = new URL(address); plain.search = ''; address = plain.href; } catch {} }
  const fields = [], verbs = [], values = [];
  // Rich text editors that replace a field: their text is sent, and copied to the field only when the form is
  // submitted.
  const editors = new Map();
  const written = (editor) => String(editor.CodeMirror?.getValue?.() ?? inner(editor)).slice(0, 20000);
  for (const node of members) {
    const kind = tag(node) === 'input' ? own(node, 'type') : tag(node);
    const name = attribute(node, 'name') ?? '';
    if (verbNames.includes(name.toLowerCase()) && (kind === 'hidden' || node === sender)) verbs.push(String(own(node, 'value')).slice(0, 100));
    if (!kinds[tag(node)] || ['button', 'submit', 'image', 'reset'].includes(kind) || tag(node) === 'button') continue;
    const inside = closest(node, '.CodeMirror');
    if (inside && editors.has(inside)) { if (node === target) facts.place = editors.get(inside); continue; }
    const field = { name: name.slice(0, 60), kind, autocomplete: (attribute(node, 'autocomplete') ?? '').toLowerCase().slice(0, 100), label: label(node), group: '', value: '' };
    fields.push(field);
    if (node === target) facts.place = fields.length - 1;
    const editor = kind === 'textarea' && node.nextElementSibling?.matches('.CodeMirror') ? node.nextElementSibling : null;
    if (editor) { editors.set(editor, fields.length - 1); field.value = written(editor); values.push(name + '=' + field.value); continue; }
    if (kind === 'password' && own(node, 'value')) field.value = '••••';
    if (['hidden', 'password'].includes(kind)) continue;
    const value = String(['checkbox', 'radio'].includes(kind) ? own(node, 'checked') : own(node, 'value'));
    // For card numbers and codes, only the length is read.
    const short = /(^| )(cc-|one-time-code)/.test(attribute(node, 'autocomplete') ?? '') ? value.length : value.slice(0, 20000);
    values.push(name + '=' + short);
    const chosen = () => [...getter(HTMLSelectElement, 'selectedOptions').call(node)].map((option) => flat(option.textContent)).join(', ');
    if (kind === 'radio') { field.group = name || field.label; if (value === 'true') field.value = field.label; }
    else if (kind === 'checkbox') field.value = value === 'true' ? 'yes' : 'no';
    else if (tag(node) === 'select') field.value = chosen();
    else field.value = typeof short === 'number' ? '•'.repeat(Math.min(short, 16)) : short;
  }
  for (const node of Element.prototype.querySelectorAll.call(form, '[contenteditable]:not([contenteditable=false i])')) {
    if (closest(node, '.CodeMirror') || closest(node.parentElement, '[contenteditable]:not([contenteditable=false i])')) continue;
    const value = written(node);
    fields.push({ name: '', kind: 'editor', autocomplete: '', label: flat(attribute(node, 'aria-label')) || flat(attribute(node, 'data-placeholder')) || 'text', group: '', value });
    values.push('=' + value);
    if (Node.prototype.contains.call(node, element)) facts.place = fields.length - 1;
  }
  const nth = [...Document.prototype.querySelectorAll.call(document, 'form')].indexOf(form);
  facts.form = { nth, method, address, fields, verbs, values, search: closest(form, 'search, [role=search i]') !== null };
  return facts;
}
