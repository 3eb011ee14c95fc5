/** The graph around the symbol under the cursor, drawn in a page beside the editor. */

import { t } from "@vscode/l10n";
import { CancellationTokenSource, commands, Range, Uri, ViewColumn, window } from "vscode";
import type { Disposable, ExtensionContext, LogOutputChannel, WebviewPanel } from "vscode";

import { GraphRequest } from "../protocol.ts";
import type { GraphKind, GraphParams, GraphResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import { FIRST_STEPS } from "./messages.ts";
import type { FromPage, Question, ToPage } from "./messages.ts";
import { pageOf } from "./page.ts";

const VIEW = "rolecall.graph";
const LIMIT = 1_000;

/** Where a graph is asked for first: a place in an editor, a symbol, or a whole file. */
type Start = Pick<GraphParams, "uri" | "position" | "symbol">;

interface Shown {
  readonly panel: WebviewPanel;
  /** What was shown, the latest last. */
  readonly history: Question[];
  answer: GraphResult | undefined;
  asking: CancellationTokenSource | undefined;
}

export function createGraph(context: ExtensionContext, server: Server, log: LogOutputChannel): Disposable[] {
  let shown: Shown | undefined;

  function adopt(panel: WebviewPanel): Shown {
    const adopted: Shown = { panel, history: [], answer: undefined, asking: undefined };
    shown = adopted;
    const localResourceRoots = ["dist", "media"].map((folder) => Uri.joinPath(context.extensionUri, folder));
    panel.webview.options = { enableScripts: true, localResourceRoots };
    panel.iconPath = Uri.joinPath(context.extensionUri, "media", "icon.png");
    panel.webview.onDidReceiveMessage((message: FromPage) => void take(adopted, message));
    panel.onDidDispose(() => {
      adopted.asking?.cancel();
      shown = shown === adopted ? undefined : shown;
    });
    panel.webview.html = pageOf(panel.webview, context.extensionUri);
    return adopted;
  }

  async function take(view: Shown, message: FromPage): Promise<void> {
    const last = view.history.at(-1);
    if (message.type === "ask") {
      await ask(view, message.question, true);
    } else if (message.type === "go") {
      await go(view, message.node);
    } else if (message.type === "back" && view.history.length > 1) {
      view.history.pop();
      await ask(view, view.history.at(-1) as Question, false);
    } else if (message.type === "again" && last !== undefined) {
      await ask(view, last, false);
    } else if (message.type === "ready" && last !== undefined) {
      draw(view);
    }
  }

  async function ask(view: Shown, question: Question, isNew: boolean, start?: Start): Promise<void> {
    view.asking?.cancel();
    const asking = new CancellationTokenSource();
    view.asking = asking;
    tell(view, { type: "asking" });
    try {
      const client = await server.ready();
      const { symbol, ...rest } = question;
      const place = start?.position === undefined ? { symbol } : { position: start.position };
      const answer = await client.sendRequest(GraphRequest, { ...rest, ...place, limit: LIMIT }, asking.token);
      if (view.asking === asking) {
        const center = answer.center === null ? undefined : answer.nodes[answer.center];
        // By its name from now on: the cursor may be elsewhere when this is asked again.
        const found = center === undefined ? question : { ...question, uri: center.uri, symbol: center.symbol };
        view.answer = answer;
        view.history.splice(isNew ? view.history.length : -1, isNew ? 0 : 1, found);
        view.panel.title = `Graph: ${center?.name ?? ""}`;
        draw(view);
      }
    } catch (error) {
      if (!asking.token.isCancellationRequested) {
        log.error(`rolecall/graph: ${String(error)}`);
        tell(view, { type: "failed", why: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  function draw(view: Shown): void {
    const question = view.history.at(-1);
    if (question !== undefined && view.answer !== undefined) {
      tell(view, { type: "show", question, answer: view.answer, canGoBack: view.history.length > 1 });
    }
  }

  async function go(view: Shown, number: number): Promise<void> {
    const node = view.answer?.nodes[number];
    if (node !== undefined) {
      const { protocol2CodeConverter: convert } = await server.ready();
      const beside = view.panel.viewColumn === ViewColumn.One ? ViewColumn.Beside : ViewColumn.One;
      const { start } = convert.asRange(node.range);
      const options = { selection: new Range(start, start), viewColumn: beside };
      await window.showTextDocument(convert.asUri(node.uri), options);
    }
  }

  async function show(kind: GraphKind, given: unknown): Promise<void> {
    const start = await startOf(server, given);
    if (start === undefined) {
      void window.showInformationMessage(t("Rolecall draws the graph around the symbol in the active editor. Open a source file first."));
      return;
    }
    const view = shown ?? adopt(window.createWebviewPanel(VIEW, t("Graph"), ViewColumn.Beside));
    view.panel.reveal();
    const question = { uri: start.uri, symbol: start.symbol ?? "", kind, steps: FIRST_STEPS[kind], possible: false, tests: true };
    await ask(view, question, true, start);
  }

  return [
    commands.registerCommand("rolecall.graph.calls", (given: unknown) => show("calls", given)),
    commands.registerCommand("rolecall.graph.impact", (given: unknown) => show("impact", given)),
    commands.registerCommand("rolecall.graph.modules", (given: unknown) => show("modules", given)),
    window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel(panel: WebviewPanel, state: Question | undefined) {
        if (state === undefined) {
          panel.dispose();
        } else {
          // The page is loaded once this returns; until then no message reaches it.
          void ask(adopt(panel), state, true);
        }
        return Promise.resolve();
      },
    }),
    { dispose: () => void shown?.panel.dispose() },
  ];
}

/** A file of the explorer, a symbol that a lens names, or the cursor; undefined where there is none of these. */
async function startOf(server: Server, given: unknown): Promise<Start | undefined> {
  const editor = window.activeTextEditor;
  if (typeof given === "object" && given !== null && "symbol" in given) {
    return given as Start;
  }
  const uri = given instanceof Uri ? given : editor?.document.uri;
  if (uri?.scheme !== "file") {
    return undefined;
  }
  const { code2ProtocolConverter: convert } = await server.ready();
  const isInEditor = editor !== undefined && editor.document.uri.toString() === uri.toString();
  return {
    uri: convert.asUri(uri),
    ...(isInEditor ? { position: convert.asPosition(editor.selection.active) } : {}),
  };
}

/** Sends *message* to the page; one that is not loaded yet asks for it itself. */
function tell(view: Shown, message: ToPage): void {
  void view.panel.webview.postMessage(message);
}
