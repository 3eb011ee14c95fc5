/** The HTML of the graph: nothing in it is loaded from a network, and no script runs but its own. */

import { randomBytes } from "node:crypto";

import { t } from "@vscode/l10n";
import { env, l10n, Uri } from "vscode";
import type { Webview } from "vscode";

const escaped = (words: string): string =>
  words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

export function pageOf(webview: Webview, extension: Uri): string {
  const nonce = randomBytes(16).toString("base64url");
  const script = String(webview.asWebviewUri(Uri.joinPath(extension, "dist", "graph.js")));
  const style = String(webview.asWebviewUri(Uri.joinPath(extension, "media", "graph.css")));
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="${env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link nonce="${nonce}" rel="stylesheet" href="${style}">
<title>${escaped(t("Rolecall: Graph"))}</title>
</head>
<body data-texts="${escaped(JSON.stringify(l10n.bundle ?? {}))}">
<div id="bar" role="toolbar" aria-label="${escaped(t("Graph"))}">
<button id="back" title="${escaped(t("Back to the graph before (Backspace)"))}">${escaped(t("Back"))}</button>
<label>${escaped(t("Show"))} <select id="kind">
<option value="calls">${escaped(t("callers and callees"))}</option>
<option value="impact">${escaped(t("what a change touches"))}</option>
<option value="modules">${escaped(t("modules by imports"))}</option>
</select></label>
<label>${escaped(t("Steps"))} <select id="steps"></select></label>
<label title="${escaped(t("Also what is connected perhaps: found by a name alone, or one of several"))}"><input id="possible" type="checkbox"> ${escaped(t("possible"))}</label>
<label><input id="tests" type="checkbox"> ${escaped(t("tests"))}</label>
<label>${escaped(t("Filter"))} <input id="filter" type="search" placeholder="${escaped(t("name or path"))}"></label>
<button id="again" title="${escaped(t("Ask again for the code as it is now"))}">${escaped(t("Refresh"))}</button>
</div>
<p id="said" role="status"></p>
<div id="scroll"><div id="graph"><svg id="lines" aria-hidden="true"></svg></div></div>
<p id="keys">${escaped(t("Enter opens a place or a group · Space puts a place at the centre · arrows walk · dashed: possible, not certain"))}</p>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
