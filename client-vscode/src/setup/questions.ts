/** Questions of the team: each stays until it is answered, with one of its answers or in the developer's own words. */

import { commands, EventEmitter, window } from "vscode";
import type { Disposable, Event, QuickPickItem } from "vscode";

import { QuestionRequest } from "../protocol.ts";
import type { QuestionParams } from "../protocol.ts";
import type { Server } from "../server.ts";

interface Pending {
  readonly asked: QuestionParams;
  answer(text: string | null): void;
}

export interface Questions extends Disposable {
  readonly waiting: number;
  readonly onDidChange: Event<void>;
}

export function createQuestions(server: Server): Questions {
  const changed = new EventEmitter<void>();
  let pending: readonly Pending[] = [];

  function become(next: readonly Pending[]): void {
    pending = next;
    void commands.executeCommand("setContext", "rolecall.asked", next.length > 0);
    changed.fire();
  }

  const started = server.onDidStart((client) => {
    become([]);
    client.onRequest(QuestionRequest, (asked, token) =>
      new Promise<{ answer: string | null }>((resolve) => {
        const question: Pending = {
          asked,
          answer(text) {
            become(pending.filter((each) => each !== question));
            resolve({ answer: text });
          },
        };
        token.onCancellationRequested(() => question.answer(null));
        become([...pending, question]);
        void announce(asked);
      }),
    );
  });
  const command = commands.registerCommand("rolecall.question.answer", async () => {
    const [first] = pending;
    const answer = first === undefined ? undefined : await pick(first.asked);
    if (first !== undefined && answer !== undefined && pending.includes(first)) {
      first.answer(answer);
    }
  });
  return {
    get waiting() {
      return pending.length;
    },
    onDidChange: changed.event,
    dispose() {
      started.dispose();
      command.dispose();
      changed.dispose();
    },
  };
}

/** A notice that takes no focus: somebody may be typing. */
async function announce({ question }: QuestionParams): Promise<void> {
  if ((await window.showInformationMessage(`Rolecall asks: ${question}`, "Answer")) !== undefined) {
    await commands.executeCommand("rolecall.question.answer");
  }
}

/** What the developer chose or typed; undefined where the question was put aside. */
function pick({ question, answers, recommended }: QuestionParams): Promise<string | undefined> {
  const box = window.createQuickPick();
  const offered: QuickPickItem[] = answers.map((label) =>
    label === recommended ? { label, description: "recommended" } : { label },
  );
  box.title = question;
  box.placeholder = "Choose an answer, or type your own";
  box.ignoreFocusOut = true;
  box.items = offered;
  return new Promise((resolve) => {
    box.onDidChangeValue((typed) => {
      const own = { label: typed, description: "in your own words", alwaysShow: true };
      box.items = typed.trim() === "" ? offered : [...offered, own];
    });
    box.onDidAccept(() => {
      resolve((box.selectedItems[0]?.label ?? box.value).trim() || undefined);
      box.hide();
    });
    box.onDidHide(() => {
      resolve(undefined);
      box.dispose();
    });
    box.show();
  });
}
