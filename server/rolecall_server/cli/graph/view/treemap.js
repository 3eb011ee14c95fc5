// Rectangles in rectangles: each folder gets a share of its parent's area by the lines in it.

const LABEL_HEIGHT = 17;
const GAP = 2;

/** The folders and files below a folder as a tree; a folder with a single folder in it is one with that. */
function folderTree(files) {
  const root = { name: "", path: "", children: new Map(), lines: 0 };
  for (const file of files) {
    const parts = file.path.split("/");
    let folder = root;
    folder.lines += file.weight;
    for (let n = 0; n < parts.length - 1; n += 1) {
      const path = parts.slice(0, n + 1).join("/");
      if (!folder.children.has(parts[n])) {
        folder.children.set(parts[n], { name: parts[n], path, children: new Map(), lines: 0 });
      }
      folder = folder.children.get(parts[n]);
      folder.lines += file.weight;
    }
    folder.children.set(`/${parts.at(-1)}`, { name: parts.at(-1), path: file.path, file, lines: file.weight });
  }
  return root;
}

function childrenOf(folder) {
  return [...folder.children.values()].sort((a, b) => b.lines - a.lines || (a.path < b.path ? -1 : 1));
}

/** The tiles of *folder* in a rectangle, outer ones first. */
function layOut(folder, width, height) {
  const tiles = [];
  const waiting = [{ node: folder, x: 0, y: 0, w: width, h: height, depth: 0, hue: 0 }];
  while (waiting.length) {
    const tile = waiting.pop();
    if (tile.depth || tile.node.file) tiles.push(tile);
    if (tile.node.file) continue;
    let { node } = tile;
    let label = node.name;
    while (node.children.size === 1 && !childrenOf(node)[0].file) {
      [node] = childrenOf(node);
      label = label ? `${label}/${node.name}` : node.name;
    }
    tile.label = label;
    const top = tile.depth && tile.h > 34 && tile.w > 40 ? LABEL_HEIGHT : GAP;
    tile.hasLabel = top === LABEL_HEIGHT;
    const inner = {
      x: tile.x + (tile.depth ? GAP : 0),
      y: tile.y + (tile.depth ? top : 0),
      w: tile.w - (tile.depth ? 2 * GAP : 0),
      h: tile.h - (tile.depth ? top + GAP : 0),
    };
    if (inner.w < 2 || inner.h < 2) continue;
    const children = childrenOf(node);
    squarify(children, inner).forEach((place, n) => {
      const hue = tile.depth ? tile.hue : (n * 47 + 205) % 360;
      waiting.push({ node: children[n], ...place, depth: tile.depth + 1, hue });
    });
  }
  return tiles;
}

/** A place for each node, with areas in proportion and sides as equal as may be (Bruls, Huizing, van Wijk 2000). */
function squarify(nodes, { x, y, w, h }) {
  const total = nodes.reduce((sum, node) => sum + node.lines, 0) || 1;
  const scale = (w * h) / total;
  const places = [];
  let start = 0;
  while (start < nodes.length) {
    const side = Math.min(w, h);
    let end = start;
    let area = 0;
    let worst = Infinity;
    while (end < nodes.length) {
      const grown = area + nodes[end].lines * scale;
      const ratio = worstRatio(nodes[start].lines * scale, nodes[end].lines * scale, grown, side);
      if (ratio > worst) break;
      [area, worst] = [grown, ratio];
      end += 1;
    }
    const thickness = side > 0 ? area / side : 0;
    let along = 0;
    for (let n = start; n < end; n += 1) {
      const length = thickness > 0 ? (nodes[n].lines * scale) / thickness : 0;
      places.push(
        w >= h
          ? { x, y: y + along, w: thickness, h: length }
          : { x: x + along, y, w: length, h: thickness },
      );
      along += length;
    }
    if (w >= h) [x, w] = [x + thickness, Math.max(0, w - thickness)];
    else [y, h] = [y + thickness, Math.max(0, h - thickness)];
    start = end;
  }
  return places;
}

function worstRatio(largest, smallest, area, side) {
  const square = area * area;
  return Math.max((side * side * largest) / square, square / (side * side * smallest));
}
