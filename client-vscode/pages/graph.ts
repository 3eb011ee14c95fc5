/** The page of the graph: draws what the extension sends, and says what the reader wants. */

import "./texts.ts";

import { t } from "@vscode/l10n";

import { BOX_HEIGHT, layOut } from "../src/graph/layout.ts";
import type { Box, Layout } from "../src/graph/layout.ts";
import { FIRST_STEPS, MOST_STEPS } from "../src/graph/messages.ts";
import type { FromPage, Question, ToPage } from "../src/graph/messages.ts";
import type { GraphKind, GraphNode, GraphResult } from "../src/protocol.ts";
import { heading, readOut, summary } from "../src/graph/words.ts";

interface Host {
  postMessage(message: FromPage): void;
  setState(question: Question): void;
}
declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();
const SVG = "http://www.w3.org/2000/svg";

let question: Question | undefined;
let answer: GraphResult | undefined;
let layout: Layout | undefined;
let opened = new Set<string>();
let closed = new Set<string>();
let focused = "";

const graph = byId("graph", HTMLElement);
const lines = document.getElementById("lines") as unknown as SVGSVGElement;
const kind = byId("kind", HTMLSelectElement);
const steps = byId("steps", HTMLSelectElement);
const possible = byId("possible", HTMLInputElement);
const tests = byId("tests", HTMLInputElement);
const filter = byId("filter", HTMLInputElement);
const back = byId("back", HTMLButtonElement);
const said = byId("said", HTMLElement);

function byId<Kind extends HTMLElement>(id: string, type: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof type)) {
    throw new Error(`#${id} is missing`);
  }
  return found;
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  graph.setAttribute("aria-busy", String(data.type === "asking"));
  if (data.type === "asking") {
    said.textContent = t("Asking the graph…");
  } else if (data.type === "failed") {
    said.textContent = `${data.why} ${t("Try Refresh.")}`;
  } else {
    show(data.question, data.answer, data.canGoBack);
  }
});

function show(asked: Question, found: GraphResult, canGoBack: boolean): void {
  const isOther = question?.uri !== asked.uri || question.symbol !== asked.symbol || question.kind !== asked.kind;
  if (isOther) {
    [opened, closed, focused] = [new Set(), new Set(), ""];
    filter.value = "";
  }
  [question, answer] = [asked, found];
  host.setState(asked);
  kind.value = asked.kind;
  steps.value = String(asked.steps);
  possible.checked = asked.possible;
  tests.checked = asked.tests;
  back.disabled = !canGoBack;
  said.textContent = summary(found, asked);
  draw();
  if (isOther) {
    boxElement(focused)?.scrollIntoView({ block: "center", inline: "center" });
  }
}

function draw(hadFocus = graph.contains(document.activeElement)): void {
  if (answer === undefined || question === undefined) {
    return;
  }
  const words = filter.value.trim().toLowerCase();
  const isShown = (node: GraphNode): boolean => `${node.path} ${node.name}`.toLowerCase().includes(words);
  layout = layOut(answer, { opened, closed }, isShown);
  const { boxes, width, height } = layout;
  if (!boxes.some((box) => box.id === focused)) {
    focused = boxes.find((box) => box.column === 0 && box.group === undefined)?.id ?? boxes[0]?.id ?? "";
  }
  graph.style.width = `${width}px`;
  graph.style.height = `${height}px`;
  lines.setAttribute("width", String(width));
  lines.setAttribute("height", String(height));
  graph.replaceChildren(lines, ...headings(boxes, question.kind), ...columns(boxes, question.kind, answer.nodes));
  drawLines();
  if (hadFocus) {
    boxElement(focused)?.focus();
  }
}

function headings(boxes: readonly Box[], shown: GraphKind): HTMLElement[] {
  const left = new Map<number, number>();
  for (const { column, x } of boxes) {
    left.set(column, Math.min(x, left.get(column) ?? x));
  }
  return [...left].map(([column, x]) => {
    const made = document.createElement("div");
    made.className = "heading";
    made.textContent = heading(column, shown);
    made.style.left = `${x}px`;
    return made;
  });
}

function columns(boxes: readonly Box[], shown: GraphKind, nodes: readonly GraphNode[]): HTMLElement[] {
  const made = new Map<number, HTMLElement>();
  for (const box of boxes) {
    const column = made.get(box.column) ?? document.createElement("div");
    column.setAttribute("role", "group");
    column.setAttribute("aria-label", heading(box.column, shown));
    column.append(drawBox(box, shown, nodes));
    made.set(box.column, column);
  }
  return [...made.values()];
}

function drawBox(box: Box, shown: GraphKind, nodes: readonly GraphNode[]): HTMLElement {
  const made = document.createElement("button");
  const node = box.group === undefined ? nodes[box.nodes[0] ?? -1] : undefined;
  made.className = ["box", box.group ?? "leaf", box.column === 0 && node ? "center" : "", node?.test ? "test" : ""].join(" ");
  made.dataset["id"] = box.id;
  made.tabIndex = box.id === focused ? 0 : -1;
  made.setAttribute("aria-label", readOut(box, nodes, shown));
  made.title = node === undefined ? readOut(box, nodes, shown) : `${node.kind} ${node.name}\n${node.path}:${node.range.start.line + 1}`;
  if (box.group !== undefined) {
    made.setAttribute("aria-expanded", String(box.group === "open"));
  }
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = `${box.group === "open" ? "▾ " : box.group === "closed" ? "▸ " : ""}${box.label}`;
  made.append(name);
  if (box.group === "closed") {
    const number = document.createElement("span");
    number.className = "count";
    number.textContent = box.nodes.length.toLocaleString("en-US");
    made.append(number);
  }
  Object.assign(made.style, { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${BOX_HEIGHT}px` });
  return made;
}

function drawLines(): void {
  const boxes = new Map(layout?.boxes.map((box) => [box.id, box]));
  const drawn = (layout?.lines ?? []).map((line) => {
    const [from, to] = [boxes.get(line.from), boxes.get(line.to)];
    const path = document.createElementNS(SVG, "path");
    if (from !== undefined && to !== undefined) {
      path.setAttribute("d", curve(from, to));
      path.setAttribute("stroke-width", String(Math.min(4, 1 + Math.log10(line.count))));
      const isNear = line.from === focused || line.to === focused;
      path.setAttribute("class", `${line.certain ? "" : "possible "}${isNear ? "near" : ""}`);
      path.setAttribute("marker-end", `url(#${isNear ? "arrow-near" : "arrow"})`);
    }
    return path;
  });
  drawn.sort((one, other) => Number(one.classList.contains("near")) - Number(other.classList.contains("near")));
  lines.replaceChildren(arrow("arrow"), arrow("arrow-near"), ...drawn);
}

function arrow(id: string): SVGElement {
  const marker = document.createElementNS(SVG, "marker");
  const attributes = { id, viewBox: "0 0 8 8", refX: "8", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto" };
  for (const [name, value] of Object.entries({ ...attributes, markerUnits: "userSpaceOnUse" })) {
    marker.setAttribute(name, value);
  }
  const head = document.createElementNS(SVG, "path");
  head.setAttribute("d", "M0 0L8 4L0 8Z");
  head.setAttribute("class", `head ${id}`);
  marker.append(head);
  return marker;
}

/** From the right side of what depends to the left side of what it depends on; around the side where that is behind it. */
function curve(from: Box, to: Box): string {
  const [y1, y2] = [from.y + BOX_HEIGHT / 2, to.y + BOX_HEIGHT / 2];
  if (from.column < to.column) {
    const [x1, x2] = [from.x + from.width, to.x];
    const bend = Math.max(30, (x2 - x1) / 2);
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 1} ${y2}`;
  }
  const [x1, x2] = [from.x + from.width, to.x + to.width];
  const far = Math.max(x1, x2) + 40;
  return `M${x1} ${y1}C${far} ${y1} ${far} ${y2} ${x2 + 1} ${y2}`;
}

function boxElement(id: string): HTMLElement | undefined {
  return [...graph.querySelectorAll<HTMLElement>(".box")].find((each) => each.dataset["id"] === id);
}

function boxOf(target: EventTarget | null): Box | undefined {
  const id = target instanceof Element ? target.closest<HTMLElement>(".box")?.dataset["id"] : undefined;
  return layout?.boxes.find((box) => box.id === id);
}

function focus(box: Box | undefined): void {
  if (box !== undefined) {
    boxElement(focused)?.setAttribute("tabindex", "-1");
    focused = box.id;
    const element = boxElement(box.id);
    element?.setAttribute("tabindex", "0");
    element?.focus();
    element?.scrollIntoView({ block: "nearest", inline: "nearest" });
    drawLines();
  }
}

/** Opens a group or closes it; goes to a place. */
function enter(box: Box): void {
  const [node] = box.nodes;
  if (box.group === "open") {
    opened.delete(box.id);
    closed.add(box.id);
    draw(true);
  } else if (box.group === "closed") {
    closed.delete(box.id);
    opened.add(box.id);
    draw(true);
  } else if (node !== undefined) {
    host.postMessage({ type: "go", node });
  }
}

function center(box: Box): void {
  const node = answer?.nodes[box.nodes[0] ?? -1];
  if (box.group !== undefined) {
    enter(box);
  } else if (node !== undefined) {
    ask({ uri: node.uri, symbol: node.symbol });
  }
}

function ask(change: Partial<Question>): void {
  if (question !== undefined) {
    host.postMessage({ type: "ask", question: { ...question, ...change } });
  }
}

/** The box above, below, or in the next column: there one that is connected, else the nearest. */
function towards(key: string): Box | undefined {
  const boxes = layout?.boxes ?? [];
  const at = boxes.find((box) => box.id === focused);
  if (at === undefined) {
    return undefined;
  }
  if (key === "Home" || key === "End") {
    return boxes.filter((box) => box.column === at.column).at(key === "Home" ? 0 : -1);
  }
  if (key === "ArrowUp" || key === "ArrowDown") {
    const column = boxes.filter((box) => box.column === at.column);
    return column[column.indexOf(at) + (key === "ArrowUp" ? -1 : 1)];
  }
  const step = key === "ArrowLeft" ? -1 : 1;
  const next = boxes.filter((box) => Math.sign(box.column - at.column) === step);
  const nearest = Math.min(...next.map((box) => Math.abs(box.column - at.column)));
  const isLinked = (box: Box): boolean =>
    (layout?.lines ?? []).some(({ from, to }) => (from === at.id && to === box.id) || (to === at.id && from === box.id));
  const inColumn = next.filter((box) => Math.abs(box.column - at.column) === nearest);
  const linked = inColumn.filter(isLinked);
  return (linked.length > 0 ? linked : inColumn).sort((one, other) => Math.abs(one.y - at.y) - Math.abs(other.y - at.y))[0];
}

graph.addEventListener("click", ({ target }) => {
  const box = boxOf(target);
  if (box !== undefined) {
    focus(box);
    enter(box);
  }
});
graph.addEventListener("focusin", ({ target }) => {
  const box = boxOf(target);
  if (box !== undefined && box.id !== focused) {
    focus(box);
  }
});
graph.addEventListener("keydown", (event) => {
  const box = boxOf(event.target);
  const isWalk = /^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key);
  if (box === undefined || event.ctrlKey || event.altKey || event.metaKey) {
    return;
  }
  if (isWalk) {
    focus(towards(event.key));
  } else if (event.key === "Enter") {
    enter(box);
  } else if (event.key === " ") {
    center(box);
  } else if (event.key === "Backspace") {
    host.postMessage({ type: "back" });
  } else {
    return;
  }
  event.preventDefault();
});

kind.addEventListener("change", () => {
  const wanted = kind.value as GraphKind;
  ask({ kind: wanted, steps: FIRST_STEPS[wanted] });
});
steps.addEventListener("change", () => ask({ steps: Number(steps.value) }));
possible.addEventListener("change", () => ask({ possible: possible.checked }));
tests.addEventListener("change", () => ask({ tests: tests.checked }));
filter.addEventListener("input", () => draw(false));
back.addEventListener("click", () => host.postMessage({ type: "back" }));
byId("again", HTMLButtonElement).addEventListener("click", () => host.postMessage({ type: "again" }));
steps.append(...Array.from({ length: MOST_STEPS }, (_, n) => new Option(String(n + 1), String(n + 1))));
host.postMessage({ type: "ready" });
