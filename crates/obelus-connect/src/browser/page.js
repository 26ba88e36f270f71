// Runs in the server of the browser, which pages cannot reach. `ask` contains the request. Text of pages and models is
// only data in `ask`, never part of this script.
const context = page.context();
let guard = context.obelusGuard;
const fresh = guard === undefined;
if (fresh) {
  guard = context.obelusGuard = { held: [], sent: [], permits: [], working: new Set(), last: Date.now(), loading: null, storage: {} };
  context.on('request', (request) => { guard.working.add(request); guard.last = Date.now(); });
  const done = (request) => { guard.working.delete(request); guard.last = Date.now(); };
  context.on('requestfinished', done);
  context.on('requestfailed', done);
}
guard.sites = ask.sites.map((pattern) => new RegExp(pattern));
guard.pass = ask.pass.map((pattern) => new RegExp(pattern));
guard.drop = ask.drop.map((pattern) => new RegExp(pattern));
guard.sockets = ask.sockets;
guard.deletes = /(^|[^a-z])(delete|remove|destroy|erase|purge)([^a-z]|$)/i;
const allowed = (address) => {
  if (address === 'about:blank' || address === '') return true;
  try {
    const url = new URL(address);
    return !url.username && !url.password && guard.sites.some((site) => site.test(url.origin));
  } catch { return false; }
};
// The handlers outlive this run. They read the sites from a place that later runs update.
if (fresh) {
  const plain = (address) => { const url = new URL(address); return url.origin + url.pathname; };
  const operation = (request) => {
    try {
      const body = JSON.parse(request.postData());
      const name = body.operationName ?? /^\s*(?:query|mutation|subscription)\s+(\w+)/.exec(body.query)?.[1];
      return typeof name === 'string' && /^\w{1,64}$/.test(name) ? name : null;
    } catch { return null; }
  };
  // A value as it is shown: secrets are dots, and values that differ each time are replaced by their kind, so that the
  // rest can be compared.
  const named = (name, value) => {
    if (/pass|secret|token|csrf|cvv|cvc|card|iban/i.test(name)) return '••••';
    const isTime = /^\d{10}(\.\d+|\d{3})?$|^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(value);
    const number = Number(value), time = Number.isNaN(number) ? Date.parse(value) : number < 1e11 ? number * 1000 : number;
    if (['string', 'number'].includes(typeof value) && isTime && Math.abs(time - Date.now()) < 10000) return '(now)';
    return /nonce|idempot|trace|correlation|mutationid/i.test(name) && /^[\w-]{16,}$/.test(value) ? '(random)' : value;
  };
  // The content of a request, for the person who is asked about it.
  const fieldsOf = (request) => {
    const text = request.postData() ?? '', type = request.headers()['content-type'] ?? '';
    let pairs = [];
    try { const body = JSON.parse(text); pairs = typeof body === 'object' && body !== null && !Array.isArray(body) ? Object.entries(body.variables ?? body) : [['body', body]]; } catch {
      if (/urlencoded/.test(type)) pairs = [...new URLSearchParams(text)];
      else if (!/multipart/.test(type)) pairs = text === '' ? [] : [['body', text]];
      for (const part of /multipart/.test(type) ? text.matchAll(/name="([^"]*)"(?:; filename="([^"]*)")?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n([^\r]*)/g) : []) pairs.push([part[1], part[2] ?? part[3]]);
    }
    for (const [name, value] of new URL(request.url()).searchParams) pairs.push(['?' + name, value]);
    const sum = (text) => { let sum = 0x811c9dc5; for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193); return (sum >>> 0).toString(16); };
    const short = (text) => text.length <= 300 ? text : text.slice(0, 5000) + '… (' + text.length + ', ' + sum(text) + ')';
    const fields = {};
    for (const [name, value] of pairs.slice(0, 200)) {
      const plain = String(name).slice(0, 60), known = named(plain, value);
      let key = plain;
      for (let number = 2; key in fields; number += 1) key = plain + ' (' + number + ')';
      fields[key] = short(typeof known === 'string' ? known : JSON.stringify(known, named) ?? '');
    }
    if (pairs.length > 200) fields['…'] = '+' + (pairs.length - 200) + ' (' + sum(JSON.stringify(pairs.slice(200))) + ')';
    return fields;
  };
  // Whether a request has the content that was shown: secrets are compared by name, long texts by beginning, length and
  // digest.
  const carries = (permit, fields) => {
    if (permit.any) return true;
    const names = Object.keys(permit.fields), escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const plain = (text) => text.split(/<secret>\w+<\/secret>/).map(escaped).join('[^]+');
    const pattern = (text) => new RegExp('^' + text.split(/(?=… \(\d+, [0-9a-f]+\)$)/).map(plain).join('[^]*') + '$');
    return names.length === Object.keys(fields).length && names.every((name) => name in fields && pattern(permit.fields[name]).test(fields[name]));
  };
  // Whether a page is being opened and has not been used yet. Such a page may send any GET to its own site.
  const opens = (request, from) => {
    try {
      const opened = request.frame().parentFrame() === null && guard.loading !== null && guard.loading !== from;
      const mutates = /^\s*mutation\b/.test(JSON.parse(request.postData() ?? 'null')?.query ?? '');
      return opened && !mutates && new URL(from).origin === new URL(request.url()).origin && !guard.deletes.test(request.url().split(/[?#]/)[0]);
    } catch { return false; }
  };
  await context.route('**/*', async (route) => {
    const request = route.request();
    const method = request.method();
    const document = request.isNavigationRequest();
    let main = false, from = '';
    try {
      main = document && request.frame().parentFrame() === null;
      from = request.frame().url();
    } catch { main = document; }
    const address = request.url();
    const reads = ['GET', 'HEAD', 'OPTIONS'].includes(method);
    const leaves = main && !allowed(address);
    // A script's request to an address that names a deletion counts as a deletion, regardless of its method.
    const deletes = ['fetch', 'xhr'].includes(request.resourceType()) && guard.deletes.test(address.split(/[?#]/)[0]);
    // A page that was opened since the last action may also use POST to load its content from its own site.
    if (reads && main && !leaves) guard.loading = from;
    if (reads && !leaves && !deletes) return route.fallback();
    if (method === 'POST' && !document && !leaves && opens(request, from)) return route.fallback();
    let told;
    try { told = { method, address: plain(address), operation: operation(request), fields: fieldsOf(request), from, leaves }; } catch { return route.abort('aborted'); }
    const line = method + ' ' + told.address;
    const place = guard.permits.findIndex((permit) =>
      permit.method === method && permit.address === told.address && (permit.operation ?? null) === told.operation && carries(permit, told.fields));
    if (place >= 0) {
      guard.permits.splice(place, 1);
      guard.sent.push(told);
      return route.fallback();
    }
    if (!leaves && guard.pass.some((pattern) => pattern.test(line))) return route.fallback();
    // Background reports of a page are blocked without a question, because the page does not wait for their answer.
    const aside = request.resourceType() === 'ping' || guard.drop.some((pattern) => pattern.test(line));
    if (!aside && guard.held.length < 50) guard.held.push(told);
    // After `aborted` the page stays where it is; any other failure would show an error page.
    return route.abort(document ? 'aborted' : 'blockedbyclient');
  });
  // Requests of these APIs cannot be held back, so they are removed from pages, and from frames and windows that pages
  // create.
  const out = ['SharedWorker', 'fetchLater'];
  if (!ask.sockets) out.push('WebTransport', 'RTCPeerConnection', 'webkitRTCPeerConnection');
  await context.addInitScript((names) => { for (const name of names) delete globalThis[name]; }, out);
  await context.routeWebSocket(/.*/, (socket) => {
    const address = socket.url().replace(/^ws/, 'http');
    if (guard.sockets && allowed(address)) socket.connectToServer(); else socket.close();
  });
}
if (ask.restore) {
  for (const cookie of ask.restore.cookies) await context.addCookies([cookie]).catch(() => {});
  guard.storage = ask.restore.storage;
}
const stored = guard.storage[(() => { try { return new URL(page.url()).origin; } catch { return ''; } })()];
if (stored) {
  // The stored data of a site from before the restart of the browser; the page is reloaded to use it.
  delete guard.storage[new URL(page.url()).origin];
  const missing = await page.evaluate((stored) => {
    const missing = Object.entries(stored).filter(([name]) => localStorage.getItem(name) === null);
    for (const [name, value] of missing) localStorage.setItem(name, value);
    return missing.length;
  }, stored).catch(() => 0);
  // A link that deletes is not followed again.
  if (missing && !guard.deletes.test(new URL(page.url()).pathname + new URL(page.url()).search)) await page.reload({ waitUntil: 'domcontentloaded', timeout: 10000 }).catch(() => {});
}
if (ask.settle) {
  const kinds = ['document', 'stylesheet', 'script', 'xhr', 'fetch'];
  const end = Date.now() + ask.settle;
  const pause = (time) => new Promise((done) => setTimeout(done, time));
  await pause(100);
  while (Date.now() < end) {
    const busy = [...guard.working].some((request) => kinds.includes(request.resourceType()));
    if (!busy && Date.now() - guard.last > 150) break;
    await pause(50);
  }
  await page.waitForLoadState('domcontentloaded', { timeout: 5000 }).catch(() => {});
}
// Facts are read in the page. The origin of a frame is determined here, where pages cannot forge it: a frame without
// its own address belongs to the page around it.
const factsOfHandle = async (handle) => {
  const facts = await handle.evaluate(factsOf, ask.verbs);
  let frame = await handle.ownerFrame();
  while (frame?.parentFrame() && /^about:/.test(frame.url())) frame = frame.parentFrame();
  return { ...facts, frame: frame?.url() ?? '' };
};
// The element at a point of the whole page, scrolled into view.
const pointed = async (point) => {
  const [x, y] = await page.evaluate(([x, y]) => {
    if (y < scrollY || y >= scrollY + innerHeight || x < scrollX || x >= scrollX + innerWidth) {
      scrollTo({ left: Math.max(0, x - innerWidth / 2), top: Math.max(0, y - innerHeight / 2), behavior: 'instant' });
    }
    return [x - scrollX, y - scrollY];
  }, point);
  let frame = page.mainFrame(), [left, top] = [x, y], found = null;
  for (let depth = 0; depth < 5; depth += 1) {
    const handle = await frame.evaluateHandle(([left, top]) => {
      let node = document.elementFromPoint(left, top);
      while (node?.shadowRoot) { const inner = node.shadowRoot.elementFromPoint(left, top); if (!inner || inner === node) break; node = inner; }
      return node;
    }, [left, top]);
    found = handle.asElement();
    const inner = await found?.contentFrame();
    if (!inner) break;
    const box = await found.evaluate((node) => { const box = node.getBoundingClientRect(); return [box.x + node.clientLeft, box.y + node.clientTop]; });
    [left, top, frame] = [left - box[0], top - box[1], inner];
  }
  if (!found) return null;
  const told = await found.evaluate((node) => {
    const control = node.closest('a[href], button, input, select, textarea, label, [role], [onclick]') ?? node;
    const words = (part) => (part.getAttribute('aria-label') || part.getAttribute('title') || part.getAttribute('alt') || part.textContent || '').replace(/\s+/g, ' ').trim();
    const name = words(control).length <= 80 ? words(control) : words(node);
    // The text around an element whose name is not unique: from the nearest container with a text that differs from the
    // others.
    const all = (part) => (part.textContent ?? '').replace(/\s+/g, ' ').trim();
    const likes = [...control.getRootNode().querySelectorAll(control.localName)].filter((other) => other !== control && words(other) === words(control)).slice(0, 200);
    const above = (part) => { const chain = []; for (let at = part.parentElement; at; at = at.parentElement) chain.push(at); return chain; };
    const own = above(control), others = likes.map(above);
    const row = own.find((part, level) => !likes.some((like) => part.contains(like)) && others.every((chain) => !chain[level] || all(chain[level]) !== all(part)));
    const before = () => { for (let at = control.previousSibling; at; at = at.previousSibling) if (all(at)) return all(at); return all(control.parentElement ?? control); };
    const around = likes.length === 0 ? null : row ? all(row) : before();
    return { around, kind: node.localName, name: name.length <= 80 ? name : '', hint: (node.getAttribute('class') || node.id || '').slice(0, 60) };
  });
  return { ...told, x, y, facts: await factsOfHandle(found) };
};
const answer = { fresh, left: null, closed: 0, facts: [], held: [], sent: [] };
if (ask.home) {
  for (const other of context.pages()) {
    if (other !== page && !allowed(other.url())) { await other.close().catch(() => {}); answer.closed += 1; }
  }
  if (!allowed(page.url()) && !page.url().startsWith('chrome-error:')) {
    answer.left = page.url();
    for (let tries = 0; tries < 3 && !ask.stays && !allowed(page.url()); tries += 1) {
      const back = await page.goBack({ waitUntil: 'domcontentloaded', timeout: 5000 }).catch(() => null);
      if (back === null) break;
    }
    if (!allowed(page.url())) {
      const home = allowed(ask.home) ? ask.home : 'about:blank';
      await page.goto(home, { waitUntil: 'domcontentloaded', timeout: 10000 }).catch(() => {});
    }
    if (!allowed(page.url())) await page.goto('about:blank').catch(() => {});
  }
}
if (ask.permits) guard.permits = ask.permits;
if (ask.acts) guard.loading = null;
if (ask.take) {
  answer.held = guard.held;
  answer.sent = guard.sent;
  guard.held = [];
  guard.sent = [];
}
for (const id of ask.elements) {
  answer.facts.push(await page.locator('aria-ref=' + id).elementHandle({ timeout: 3000 }).then(factsOfHandle).catch(() => null));
}
if (ask.point) answer.point = await pointed(ask.point).catch(() => null);
if (ask.snapshot) {
  // Only the inspector knows event listeners; without it, roles, styles and attributes are used.
  const frames = page.frames();
  const within = (time, promise) => Promise.race([promise.catch(() => {}), new Promise((done) => setTimeout(done, time))]);
  const inspected = async () => {
    const session = await context.newCDPSession(page);
    try { await session.send('Runtime.evaluate', { expression: mark, includeCommandLineAPI: true }); } finally { await session.detach().catch(() => {}); }
  };
  await within(3000, inspected());
  await within(3000, Promise.all(frames.map((frame) => frame.evaluate(mark).catch(() => {}))));
  const unmark = () => {
    const key = Symbol.for('obelus.marks');
    for (const [node, name, value] of (globalThis[key] ?? []).reverse()) {
      if (value === null) node.removeAttribute(name); else node.setAttribute(name, value);
    }
    delete globalThis[key];
  };
  let text = '';
  try { text = await page.ariaSnapshot({ mode: 'ai' }); } finally {
    await within(3000, Promise.all(frames.map((frame) => frame.evaluate(unmark).catch(() => {}))));
  }
  answer.cut_text = text.length > ask.most;
  answer.snapshot = answer.cut_text ? text.slice(0, text.lastIndexOf('\n', ask.most)) : text;
  answer.titles = await Promise.all(context.pages().map((other) => other.title().catch(() => '')));
  answer.current = context.pages().indexOf(page);
}
if (ask.keep) {
  const storage = {};
  for (const frame of page.frames()) {
    const found = await frame.evaluate(() => [location.origin, { ...localStorage }]).catch(() => null);
    if (found && found[0] !== 'null' && JSON.stringify(found[1]).length < 200000) storage[found[0]] = found[1];
  }
  const cookies = await context.cookies().catch(() => null);
  if (cookies !== null) answer.profile = { cookies, storage };
}
if (ask.picture) {
  // The whole page, up to a size at which its picture is readable; if that fails, the visible part.
  const tallest = 8000;
  const size = await page.evaluate(() => {
    const root = document.documentElement;
    return { width: Math.max(root.scrollWidth, innerWidth), height: Math.max(root.scrollHeight, innerHeight) };
  }).catch(() => null);
  const shot = { path: ask.picture, type: 'png', timeout: 10000 };
  const whole = { ...shot, fullPage: true };
  answer.cut = size !== null && size.height > tallest;
  if (answer.cut) whole.clip = { x: 0, y: 0, width: size.width, height: tallest };
  const taken = (options) => page.screenshot(options).then(() => true, () => false);
  answer.picture = await taken(whole) || await taken(shot);
}
answer.address = page.url();
answer.tabs = context.pages().map((other) => other.url());
return answer;
