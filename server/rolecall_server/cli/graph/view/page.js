// The page of `rolecall graph view`: a map of the code, what is chosen on it, and what that is connected with.

const graph = JSON.parse(document.getElementById("graph").textContent);
const MAX_LINES = 300;
const MAX_ITEMS = 60;
const MAX_RESULTS = 60;

const files = graph.files.map(([path, module, lines, isTest], id) => ({
  id, path, module, lines, isTest, weight: Math.max(lines, 4), symbols: [],
  imports: { incoming: [], outgoing: [] }, calls: { incoming: [], outgoing: [] },
}));
const symbols = graph.symbols.map(([file, name, kind, line], n) => ({
  id: files.length + n, file: files[file], name, kind, line, calls: { incoming: [], outgoing: [] },
}));
const nodes = [...files, ...symbols];
for (const symbol of symbols) symbol.file.symbols.push(symbol);
for (let n = 0; n < graph.imports.length; n += 2) {
  connect(files[graph.imports[n]], files[graph.imports[n + 1]], "imports", true);
}
for (let n = 0; n < graph.calls.length; n += 3) {
  connect(nodes[graph.calls[n]], nodes[graph.calls[n + 1]], "calls", graph.calls[n + 2] === 1);
}
const byName = new Map(nodes.map((node) => [addressOf(node), node]));
let tree = folderTree(files);

const map = document.getElementById("map");
const svg = map.querySelector("svg");
const search = document.querySelector("#search input");
const results = document.getElementById("results");
let shown = tree;
let chosen = null;
let tiles = [];

function connect(from, to, kind, certain) {
  from[kind].outgoing.push({ node: to, certain });
  to[kind].incoming.push({ node: from, certain });
}

function addressOf(node) {
  return node.file ? `${node.file.path}::${node.name}` : node.path;
}

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function drawn(name, properties, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// ---- what is chosen lives in the address, so that the browser's Back and a bookmark work

function choose(node) {
  const address = node ? addressOf(node) : "";
  if (decodeURIComponent(location.hash.slice(1)) === address) follow();
  else location.hash = encodeURIComponent(address);
}

function follow() {
  let address = "";
  try {
    address = decodeURIComponent(location.hash.slice(1));
  } catch {
    // An address somebody typed: nothing is chosen.
  }
  chosen = byName.get(address) ?? null;
  if (chosen && shown.path && !fileOf(chosen).path.startsWith(`${shown.path}/`)) show(tree);
  else paint();
  describe();
}

function fileOf(node) {
  return node.file ?? node;
}

function edgeKind() {
  return document.querySelector("#choices input[name=edges]:checked").value;
}

/** The files that *node* is connected with, by direction; a file's calls are those of all that is in it. */
function neighbours(node, direction) {
  const kind = edgeKind();
  const file = fileOf(node);
  const sources = kind === "imports" ? [file] : node.file ? [node] : [node, ...node.symbols];
  const found = new Map();
  for (const source of sources) {
    for (const { node: other, certain } of source[kind][direction]) {
      const target = fileOf(other);
      if (target !== file) found.set(target, certain || found.get(target) === true);
    }
  }
  return found;
}

// ---- the map

function show(folder) {
  shown = folder;
  drawCrumbs();
  draw();
}

function showTests(areShown) {
  tree = folderTree(areShown ? files : files.filter((file) => !file.isTest));
  show(tree);
}

function draw() {
  const { width, height } = map.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  tiles = layOut(shown, width, height);
  const group = document.getElementById("tiles");
  group.replaceChildren(...tiles.flatMap(drawTile));
  paint();
}

function drawTile(tile) {
  const { x, y, w, h, node } = tile;
  tile.rect = drawn("rect", {
    x: x.toFixed(1), y: y.toFixed(1), width: Math.max(w, 0.5).toFixed(1), height: Math.max(h, 0.5).toFixed(1),
    style: `--hue:${tile.hue}`,
  });
  tile.rect.append(drawn("title", {}, node.file ? `${node.path}\n${node.file.lines} lines` : tile.label));
  tile.rect.tile = tile;
  if (!node.file) {
    tile.rect.setAttribute("class", "folder");
    return tile.hasLabel ? [tile.rect, label(tile, tile.label, 12, "name")] : [tile.rect];
  }
  tile.text = w > 34 && h > 15 ? label(tile, node.name, Math.min(h / 2 + 4, 13), "") : null;
  return tile.text ? [tile.rect, tile.text] : [tile.rect];
}

function label(tile, text, dy, kind) {
  const fitting = Math.floor((tile.w - 8) / (kind === "name" ? 7.4 : 6.3));
  const cut = text.length > fitting ? `${text.slice(0, Math.max(fitting - 1, 1))}…` : text;
  return drawn("text", { x: (tile.x + 4).toFixed(1), y: (tile.y + dy).toFixed(1), class: kind }, cut);
}

/** Colour the tiles and draw the lines for what is chosen. */
function paint() {
  const incoming = chosen ? neighbours(chosen, "incoming") : new Map();
  const outgoing = chosen ? neighbours(chosen, "outgoing") : new Map();
  const file = chosen && fileOf(chosen);
  const dims = incoming.size + outgoing.size > 0;
  const places = new Map();
  for (const tile of tiles) {
    if (!tile.node.file) continue;
    places.set(tile.node.file, tile);
    const [into, out] = [incoming.has(tile.node.file), outgoing.has(tile.node.file)];
    const state = tile.node.file === file ? "chosen" : into && out ? "both" : into ? "in" : out ? "out" : dims ? "dim" : "";
    tile.rect.setAttribute("class", `file ${tile.node.file.isTest ? "test" : ""} ${state}`);
  }
  const from = places.get(file);
  const wanted = [...lines(outgoing, "out"), ...lines(incoming, "in")].filter((line) => places.has(line.file));
  const paths = from ? wanted.slice(0, MAX_LINES).flatMap((line) => drawLine(from, places.get(line.file), line)) : [];
  const outline = from ? [drawOutline(from)] : [];
  document.getElementById("lines").replaceChildren(...outline, ...paths);
  drawLegend(incoming, outgoing, wanted.length);
}

/** The border of what is chosen, above its neighbours. */
function drawOutline({ x, y, w, h }) {
  return drawn("rect", { x: x.toFixed(1), y: y.toFixed(1), width: w.toFixed(1), height: h.toFixed(1) });
}

function lines(found, direction) {
  return [...found].map(([file, certain]) => ({ file, certain, direction }));
}

function drawLine(from, to, { certain, direction }) {
  const [x1, y1] = [from.x + from.w / 2, from.y + from.h / 2];
  const [x2, y2] = [to.x + to.w / 2, to.y + to.h / 2];
  const bend = direction === "in" ? 0.18 : -0.18;
  const [mx, my] = [(x1 + x2) / 2 + (y2 - y1) * bend, (y1 + y2) / 2 - (x2 - x1) * bend];
  const ends = drawn("circle", { cx: x2.toFixed(1), cy: y2.toFixed(1), r: 2.5, class: direction });
  return [ends, drawn("path", {
    d: `M${x1.toFixed(1)} ${y1.toFixed(1)}Q${mx.toFixed(1)} ${my.toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`,
    class: `${direction} ${certain ? "" : "possible"}`,
  })];
}

function drawLegend(incoming, outgoing, nInView) {
  const legend = document.getElementById("legend");
  if (!chosen) return legend.replaceChildren();
  const calls = edgeKind() === "calls";
  const nOutside = incoming.size + outgoing.size - nInView;
  return legend.replaceChildren(
    element("b", { class: "incoming" }, `${calls ? "called from" : "imported by"} ${count(incoming.size, "file")}`), " · ",
    element("b", { class: "outgoing" }, `${calls ? "calls into" : "imports"} ${count(outgoing.size, "file")}`),
    [...incoming.values(), ...outgoing.values()].includes(false) ? " · dashed: possible" : "",
    nOutside > 0 ? ` · ${nOutside} outside this view` : "",
    nInView > MAX_LINES ? ` · ${MAX_LINES} lines drawn` : "",
  );
}

function drawCrumbs() {
  const parts = shown.path ? shown.path.split("/") : [];
  const items = [element("button", { onclick: () => show(tree) }, "all")];
  let folder = tree;
  for (const part of parts) {
    folder = folder.children.get(part);
    const target = folder;
    items.push(element("span", {}, "/"), element("button", { onclick: () => show(target) }, part));
  }
  document.getElementById("crumbs").replaceChildren(...items);
}

function folderAt(path) {
  let folder = tree;
  for (const part of path ? path.split("/") : []) folder = folder.children.get(part);
  return folder;
}

function parentOf(path) {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

// ---- the panel

function describe() {
  const panel = document.getElementById("detail");
  panel.scrollTop = 0;
  if (!chosen) panel.replaceChildren(...overview());
  else if (chosen.file) panel.replaceChildren(...aboutSymbol(chosen));
  else panel.replaceChildren(...aboutFile(chosen));
}

function overview() {
  const nLines = files.reduce((sum, file) => sum + file.lines, 0);
  const most = [...files].filter((file) => file.imports.incoming.length)
    .sort((a, b) => b.imports.incoming.length - a.imports.incoming.length);
  const called = symbols.filter((symbol) => symbol.calls.incoming.length)
    .sort((a, b) => b.calls.incoming.length - a.calls.incoming.length);
  return [
    element("h2", {}, graph.title),
    element("p", {}, `${count(files.length, "file")}, ${count(nLines, "line")}, ${count(symbols.length, "class or function", "classes and functions")}`),
    element("p", {}, "Choose a file on the map, or search with /. A double click or Enter goes into a folder, Backspace goes out."),
    ...list("Imported most", most.slice(0, 15).map((file) => ({ node: file, certain: true, note: `by ${file.imports.incoming.length}` })), false),
    ...list("Called most", called.slice(0, 15).map((symbol) => ({ node: symbol, certain: true, note: `from ${symbol.calls.incoming.length}` })), false),
  ];
}

function aboutFile(file) {
  const outer = file.symbols.filter((symbol) => !symbol.name.includes("."));
  const calls = (direction) => merged(file.calls[direction]);
  return [
    element("h2", {}, file.module || file.path),
    element("p", {}, file.path),
    element("p", {}, count(file.lines, "line")),
    ...list("Imported by", file.imports.incoming),
    ...list("Imports", file.imports.outgoing),
    ...list("Defines", outer.map((node) => ({ node, certain: true })), false),
    ...list("Calls when it is imported", calls("outgoing")),
  ];
}

function aboutSymbol(symbol) {
  const inside = symbol.file.symbols.filter(
    (other) => other.name.startsWith(`${symbol.name}.`) && !other.name.slice(symbol.name.length + 1).includes("."),
  );
  return [
    element("h2", {}, symbol.name),
    element("p", {}, `${symbol.kind} in `, link(symbol.file), `, line ${symbol.line}`),
    ...list("Called by", merged(symbol.calls.incoming)),
    ...list("Calls", merged(symbol.calls.outgoing)),
    ...list("Contains", inside.map((node) => ({ node, certain: true })), false),
  ];
}

/** Each node once, certain if one of its edges is. */
function merged(edges) {
  const found = new Map();
  for (const { node, certain } of edges) found.set(node, certain || found.get(node) === true);
  return [...found].map(([node, certain]) => ({ node, certain }));
}

function list(title, edges, isSorted = true) {
  if (!edges.length) return [];
  const ordered = isSorted
    ? [...edges].sort((a, b) => b.certain - a.certain || (addressOf(a.node) < addressOf(b.node) ? -1 : 1))
    : edges;
  const items = element("ul", {}, ...ordered.slice(0, MAX_ITEMS).map(item));
  const parts = [element("h3", {}, isSorted ? `${title} (${edges.length})` : title), items];
  if (ordered.length > MAX_ITEMS) {
    const more = element("button", { class: "more", onclick: () => {
      items.append(...ordered.slice(MAX_ITEMS).map(item));
      more.remove();
    } }, `${ordered.length - MAX_ITEMS} more`);
    parts.push(more);
  }
  return parts;
}

function item({ node, certain, note }) {
  const name = node.file ? node.name : node.module || node.path;
  const isNear = !node.file || node.file === (chosen && fileOf(chosen));
  const aside = note ?? node.kind;
  return element("li", {},
    element("button", {
      class: certain ? "" : "possible", title: certain ? "" : "possible, not certain", onclick: () => choose(node),
    },
    ...(aside ? [element("small", { class: "note" }, aside)] : []),
    ...(certain ? [] : [element("span", { class: "mark" }, "?")]), name,
    ...(isNear ? [] : [element("small", {}, node.file.path)])));
}

function link(node) {
  return element("button", { style: "color: var(--accent)", onclick: () => choose(node) }, node.module || node.path);
}

function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

// ---- search

const searchable = nodes.map((node) => ({
  node,
  name: (node.file ? node.name.slice(node.name.lastIndexOf(".") + 1) : node.path.slice(node.path.lastIndexOf("/") + 1)).toLowerCase(),
  whole: (node.file ? node.name : `${node.path} ${node.module}`).toLowerCase(),
}));

function find(words) {
  const wanted = words.toLowerCase().trim();
  if (!wanted) return [];
  const found = [];
  for (const entry of searchable) {
    const at = entry.name.indexOf(wanted);
    const rank = entry.name === wanted ? 0 : at === 0 ? 1 : at > 0 ? 2 : entry.whole.includes(wanted) ? 3 : -1;
    if (rank >= 0) found.push([rank + (fileOf(entry.node).isTest ? 0.5 : 0), entry.whole.length, entry.node]);
  }
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2].id - b[2].id);
  return found.slice(0, MAX_RESULTS).map((entry) => entry[2]);
}

function showResults() {
  const found = find(search.value);
  results.replaceChildren(...found.map((node, n) => element(
    "li", { role: "option", id: `result-${n}`, "aria-selected": String(n === 0), onmousedown: (event) => {
      event.preventDefault();
      take(node);
    } },
    node.file ? node.name : node.module || node.path,
    element("small", {}, node.file ? `${node.kind} in ${node.file.path}` : node.path),
  )));
  results.nodes = found;
  mark(0);
  results.hidden = !search.value.trim();
  if (search.value.trim() && !found.length) results.append(element("li", {}, "Nothing has such a name."));
  search.setAttribute("aria-expanded", String(!results.hidden));
}

function mark(n) {
  results.at = n;
  [...results.children].forEach((child, k) => child.setAttribute("aria-selected", String(k === n)));
  search.setAttribute("aria-activedescendant", `result-${n}`);
  results.children[n]?.scrollIntoView({ block: "nearest" });
}

function take(node) {
  results.hidden = true;
  search.value = "";
  search.setAttribute("aria-expanded", "false");
  choose(node);
  map.focus();
}

search.addEventListener("input", showResults);
search.addEventListener("blur", () => { results.hidden = true; });
search.addEventListener("keydown", (event) => {
  const n = results.nodes?.length ?? 0;
  if (event.key === "ArrowDown" && n) mark((results.at + 1) % n);
  else if (event.key === "ArrowUp" && n) mark((results.at + n - 1) % n);
  else if (event.key === "Enter" && n) take(results.nodes[results.at]);
  else if (event.key === "Escape") { search.value = ""; results.hidden = true; map.focus(); }
  else return;
  event.preventDefault();
});

// ---- mouse and keys on the map

svg.addEventListener("click", (event) => {
  const tile = event.target.closest?.("rect")?.tile;
  if (tile?.node.file) choose(tile.node.file);
  else choose(null);
});
svg.addEventListener("dblclick", (event) => {
  const tile = event.target.closest?.("rect")?.tile;
  if (tile) enter(tile.node.file ? parentOf(tile.node.path) : tile.node.path);
});

/** Go one folder further towards *path*, past folders that hold but one folder. */
function enter(path) {
  if (path === shown.path || !path.startsWith(shown.path)) return;
  const rest = path.slice(shown.path ? shown.path.length + 1 : 0).split("/");
  let folder = shown.children.get(rest[0]);
  while (folder && folder.children.size === 1 && !childrenOf(folder)[0].file) [folder] = childrenOf(folder);
  if (folder?.children) show(folder);
}

function leave() {
  let path = parentOf(shown.path);
  while (path && folderAt(path).children.size === 1) path = parentOf(path);
  show(folderAt(path));
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

map.addEventListener("keydown", (event) => {
  const direction = DIRECTIONS[event.key];
  if (direction) move(direction);
  else if (event.key === "Enter" && chosen) enter(parentOf(fileOf(chosen).path));
  else if (event.key === "Backspace") leave();
  else if (event.key === "Escape") choose(null);
  else return;
  event.preventDefault();
});

/** Choose the nearest file that lies in a direction. */
function move([dx, dy]) {
  const places = tiles.filter((tile) => tile.node.file);
  const from = chosen && places.find((tile) => tile.node.file === fileOf(chosen));
  if (!from) {
    if (places.length) choose(places.reduce((a, b) => (b.node.lines > a.node.lines ? b : a)).node.file);
    return;
  }
  const [cx, cy] = [from.x + from.w / 2, from.y + from.h / 2];
  let best = null;
  let least = Infinity;
  for (const tile of places) {
    const [x, y] = [tile.x + tile.w / 2 - cx, tile.y + tile.h / 2 - cy];
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy) + Math.abs(y * dx);
    if (along > 1 && along + 2 * across < least) [best, least] = [tile, along + 2 * across];
  }
  if (best) choose(best.node.file);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});
document.getElementById("choices").addEventListener("change", (event) => {
  if (event.target.id === "tests") showTests(event.target.checked);
  else paint();
});
window.addEventListener("hashchange", follow);
new ResizeObserver(draw).observe(map);

document.querySelector("h1").textContent = graph.title;
drawCrumbs();
follow();
