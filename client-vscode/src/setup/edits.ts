/** What is done with what the server sends before VS Code takes it: edits that make files, hovers in plain text. */

import { CancellationTokenSource, Hover, MarkdownString, WorkspaceEdit, workspace } from "vscode";
import type { CancellationToken, Position, TextDocument } from "vscode";
import { HoverRequest, ResponseError } from "vscode-languageclient/node";
import type {
  ApplyWorkspaceEditParams,
  ApplyWorkspaceEditRequest,
  ApplyWorkspaceEditResult,
  LanguageClient,
  Middleware,
} from "vscode-languageclient/node";

import { partNewFiles } from "./newFiles.ts";
import { asMarkdown } from "./plainText.ts";

/** *client* gives the client once it is made: the middleware is a part of what it is made from. */
export function middleware(client: () => LanguageClient): Middleware {
  return {
    provideHover: (document, position, token) => hover(client(), document, position, token),
    workspace: { handleApplyEdit: (params, next) => applyEdit(client(), params, next) },
  };
}

async function hover(
  client: LanguageClient,
  document: TextDocument,
  position: Position,
  token: CancellationToken,
): Promise<Hover | null | undefined> {
  const params = client.code2ProtocolConverter.asTextDocumentPositionParams(document, position);
  const told = await client.sendRequest(HoverRequest.type, params, token);
  const contents = told?.contents;
  if (typeof contents === "object" && "kind" in contents && contents.kind === "plaintext") {
    return new Hover(new MarkdownString(asMarkdown(contents.value)), client.protocol2CodeConverter.asRange(told?.range));
  }
  return client.protocol2CodeConverter.asHover(told);
}

/** Files that are made are made with their texts; everything else is VS Code's own business. */
async function applyEdit(
  client: LanguageClient,
  params: ApplyWorkspaceEditParams,
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult | ResponseError> {
  const { rest, files } = partNewFiles(params.edit);
  if (files.length === 0 || (rest.documentChanges ?? []).length > 0) {
    // The other changes first: where they are refused, no file is made.
    const answer = await next({ ...params, edit: rest }, new CancellationTokenSource().token);
    if (answer instanceof ResponseError || !answer.applied || files.length === 0) {
      return answer;
    }
  }
  const making = new WorkspaceEdit();
  for (const { uri, text } of files) {
    const contents = new TextEncoder().encode(text);
    making.createFile(client.protocol2CodeConverter.asUri(uri), { contents, ignoreIfExists: true });
  }
  return { applied: await workspace.applyEdit(making) };
}
