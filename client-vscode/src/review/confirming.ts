/** Questions about a decision before it is carried out: in a dialog, with nothing chosen for the developer. */

import { window } from "vscode";
import type { MessageItem } from "vscode";

import type { ConfirmParams } from "../protocol.ts";

/** What was chosen of the answers; null for none. */
export async function confirm({ question, answers }: ConfirmParams): Promise<{ answer: string | null }> {
  const { message, detail } = parts(question);
  // VS Code adds a *Cancel* of its own to a modal dialog where no item is marked to close it.
  const items = answers.map((title): MessageItem => ({ title, isCloseAffordance: title === "Cancel" }));
  const chosen = await window.showWarningMessage(message, { modal: true, detail }, ...items);
  return { answer: chosen?.title ?? null };
}

/** A question as a headline and what is below it: `p7 would break` and `main reads args.dialect, which h4 adds.` */
export function parts(question: string): { message: string; detail: string } {
  const at = question.indexOf(": ");
  const head = at < 0 ? question : question.slice(0, at);
  // An id such as `p7` is no word, and stays as it is.
  const message = /^[a-z]+ /.test(head) ? head.charAt(0).toUpperCase() + head.slice(1) : head;
  return { message, detail: at < 0 ? "" : question.slice(at + 2) };
}
