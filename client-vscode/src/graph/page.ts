/** The HTML of the graph: nothing in it is loaded from a network, and no script runs but its own. */

import { randomBytes } from "node:crypto";

import { Uri } from "vscode";
import type { Webview } from "vscode";

export function pageOf(webview: Webview, extension: Uri): string {
  const nonce = randomBytes(16).toString("base64url");
  const script = String(webview.asWebviewUri(Uri.joinPath(extension, "dist", "graph.js")));
  const style = String(webview.asWebviewUri(Uri.joinPath(extension, "media", "graph.css")));
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link nonce="${nonce}" rel="stylesheet" href="${style}">
<title>Rolecall: Graph</title>
</head>
<body>
<div id="bar" role="toolbar" aria-label="Graph">
<button id="back" title="Back to the graph before (Backspace)">Back</button>
<label>Show <select id="kind">
<option value="calls">callers and callees</option>
<option value="impact">what a change touches</option>
<option value="modules">modules by imports</option>
</select></label>
<label>Steps <select id="steps"></select></label>
<label title="Also what is connected perhaps: found by a name alone, or one of several"><input id="possible" type="checkbox"> possible</label>
<label><input id="tests" type="checkbox"> tests</label>
<label>Filter <input id="filter" type="search" placeholder="name or path"></label>
<button id="again" title="Ask again for the code as it is now">Refresh</button>
</div>
<p id="said" role="status"></p>
<div id="scroll"><div id="graph"><svg id="lines" aria-hidden="true"></svg></div></div>
<p id="keys">Enter opens a place or a group · Space puts a place at the centre · arrows walk · dashed: possible, not certain</p>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
