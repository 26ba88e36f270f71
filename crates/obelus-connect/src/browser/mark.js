// Runs in a page, with the inspector's `getEventListeners` if it is available. An element that reacts to a click or a
// key but is not a control by its markup gets a role and, if it has no text, a name, so that the next snapshot lists
// it. `unmark` removes both before the page is used.
(() => {
  const key = Symbol.for('obelus.marks');
  if (globalThis[key]) return;
  const marks = globalThis[key] = [];
  const listeners = typeof getEventListeners === 'function' ? getEventListeners : () => ({});
  const kinds = ['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart', 'touchend', 'keydown', 'keypress', 'keyup'];
  const controls = 'a[href], area[href], button, input, select, textarea, summary, option, label, video, audio, iframe, object, embed';
  const roleless = ['', 'none', 'presentation', 'generic', 'img', 'image'];
  const all = [];
  const collect = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (all.length >= 20000) return;
      all.push(node);
      if (node.shadowRoot) collect(node.shadowRoot);
      if (node.localName !== 'iframe') continue;
      // Frames of this site are handled here; a frame of another site runs this script itself.
      try { if (node.contentDocument) { node.contentWindow[key] = []; collect(node.contentDocument); } } catch {}
    }
  };
  collect(document);
  const attribute = (node, name) => (Element.prototype.getAttribute.call(node, name) ?? '').trim();
  const style = (node) => getComputedStyle(node);
  const points = (node) => node !== null && style(node).cursor === 'pointer';
  // Characters of an icon font have no meaning as text.
  const words = (node) => (node.textContent ?? '').replace(/[\uE000-\uF8FF]/g, '').replace(/\s+/g, ' ').trim();
  const isControl = (node) => node.matches(controls) || !roleless.includes(attribute(node, 'role').toLowerCase().split(/\s+/)[0]) || node.isContentEditable === true;
  const reacts = (node) => {
    if (['html', 'body'].includes(node.localName)) return false;
    if (node.hasAttribute('tabindex') && Number(attribute(node, 'tabindex')) >= 0) return true;
    if (points(node) && !points(node.parentElement)) return true;
    const known = listeners(node);
    return kinds.some((kind) => known[kind]?.length > 0 || typeof node['on' + kind] === 'function');
  };
  const isShown = (node) => {
    const box = node.getBoundingClientRect(), { visibility, pointerEvents } = style(node);
    return box.width > 0 && box.height > 0 && visibility === 'visible' && pointerEvents !== 'none';
  };
  // A title after the character of an icon is not used as a name.
  const named = (node) => ['aria-label', 'aria-labelledby', 'alt'].some((name) => attribute(node, name))
    || words(node) !== '' || [...node.querySelectorAll('[alt], [aria-label]')].some((inner) => attribute(inner, 'alt') || attribute(inner, 'aria-label'));
  // A name for a control without text: a text that its author wrote for people or tests, else a guess by the names of
  // its icon, its picture, its class or its target.
  const hint = (node) => {
    const all = [node, ...node.querySelectorAll('*')];
    const said = (names) => all.flatMap((inner) => names.map((name) => attribute(inner, name))).find((text) => text !== '');
    const classes = all.reverse().map((inner) => attribute(inner, 'class')).join(' ').split(/\s+/);
    const plain = /^(btn|button|icon|icons|fa|fas|far|fab|fal|bi|mdi|svg|d-.*|[mp][trblxy]?-\d)$/;
    const telling = [...new Set(classes.filter((name) => name !== '' && !plain.test(name)))].slice(0, 3).join(' ');
    const short = (text) => '(' + text.replace(/\s+/g, ' ').slice(0, 60) + ')';
    const text = said(['title', 'alt', 'data-tooltip', 'data-original-title', 'data-bs-original-title', 'aria-description', 'data-icon', 'data-testid', 'name']);
    if (text) return short(text);
    // Pictures and sprites by their file names: `img/trash.svg`, `icons.svg#trash`.
    const file = (address) => address?.split(/[?#]/)[0].split('/').pop()?.replace(/\.\w+$/, '');
    const sprite = said(['xlink:href', 'href'])?.split('#')[1];
    const picture = file(all.map((inner) => inner.localName === 'img' ? attribute(inner, 'src') : '').find((src) => src !== '' && !src.startsWith('data:')));
    const icon = sprite || picture || /(?:^| )(?:fa|bi|mdi|icon|glyphicon|ti|ri)-([\w-]+)/.exec(telling)?.[1];
    if (icon) return short('icon ' + icon);
    const guess = telling || file(attribute(node, 'href')) || said(['class', 'id']);
    if (guess) return short(guess);
    const box = node.getBoundingClientRect();
    const middle = [box.x + box.width / 2 + scrollX, box.y + box.height / 2 + scrollY].map(Math.round);
    return '(' + node.localName + ' at ' + middle.join(',') + ')';
  };
  // A dialog that is invisible and cannot be clicked is closed, although it is in the tree of the page.
  const isOpen = (node) => {
    for (let above = node; above !== null; above = above.parentElement) if (style(above).opacity === '0') return false;
    const box = node.getBoundingClientRect();
    return style(node).pointerEvents !== 'none' && box.right > 0 && box.bottom + scrollY > 0 && box.left < document.documentElement.scrollWidth;
  };
  const set = (node, name, value) => {
    marks.push([node, name, Element.prototype.getAttribute.call(node, name)]);
    Element.prototype.setAttribute.call(node, name, value);
  };
  const active = all.filter((node) => isControl(node) || reacts(node));
  const holders = new Set();
  for (const node of active) {
    for (let above = node.parentElement; above !== null && !holders.has(above); above = above.parentElement) holders.add(above);
  }
  for (const node of all) {
    if (node.matches('dialog, [role=dialog i], [role=alertdialog i]') && !isOpen(node)) set(node, 'aria-label', '(closed)');
  }
  const blocks = /^(block|flex|grid|table|list-item)/;
  for (const node of active.filter(isShown)) {
    if (isControl(node)) {
      const says = node.matches('label, option, iframe, object, embed, video, audio, input[type=submit], input[type=button], input[type=reset]');
      if (!says && !named(node) && !node.labels?.length && !attribute(node, 'placeholder') && !node.isContentEditable) set(node, 'aria-label', attribute(node, 'title') || hint(node));
      continue;
    }
    // An element with controls, or with a text of several parts, is shown by its parts; a click on one of them reaches
    // it.
    if (holders.has(node)) continue;
    if (words(node).length > 80 && [...node.children].some((child) => blocks.test(style(child).display))) continue;
    const bare = !named(node);
    set(node, 'role', 'button');
    if (bare) set(node, 'aria-label', attribute(node, 'title') || hint(node));
  }
})()
