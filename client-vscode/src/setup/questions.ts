/** Questions of the team: each stays until it is answered, with one of its answers or in the developer's own words. */

import { t } from "@vscode/l10n";
import { commands, EventEmitter, ProgressLocation, window } from "vscode";
import type { Disposable, Event, QuickPickItem } from "vscode";

import { QuestionRequest } from "../protocol.ts";
import type { QuestionParams } from "../protocol.ts";
import type { Server } from "../server.ts";
import { asNotice } from "./plainText.ts";

interface Pending {
  readonly asked: QuestionParams;
  /** It was answered, or nobody waits for the answer any more. */
  readonly gone: Promise<void>;
  answer(text: string | null): void;
}

export interface Questions extends Disposable {
  readonly waiting: number;
  /** Those that wait, as they are asked. */
  asked(): readonly string[];
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
    pending.forEach((question) => question.answer(null));
    become([]);
    client.onRequest(QuestionRequest, (asked, token) =>
      new Promise<{ answer: string | null }>((resolve) => {
        let forget = (): void => undefined;
        const question: Pending = {
          asked,
          gone: new Promise((done) => (forget = done)),
          answer(text) {
            become(pending.filter((each) => each !== question));
            forget();
            resolve({ answer: text });
          },
        };
        token.onCancellationRequested(() => question.answer(null));
        become([...pending, question]);
        announce(question);
      }),
    );
  });
  const command = commands.registerCommand("rolecall.question.answer", async () => {
    const [first] = pending;
    const answer = first === undefined ? undefined : await pick(first);
    if (first !== undefined && answer !== undefined && pending.includes(first)) {
      first.answer(answer);
    }
  });
  return {
    get waiting() {
      return pending.length;
    },
    asked: () => pending.map((question) => question.asked.question),
    onDidChange: changed.event,
    dispose() {
      started.dispose();
      command.dispose();
      changed.dispose();
    },
  };
}

/** A notice that takes no focus, since somebody may be typing, and that stays while the question does. */
function announce({ asked, gone }: Pending): void {
  const title = `${t("Rolecall asks: {0}", asNotice(asked.question))} [${t("Answer")}](command:rolecall.question.answer)`;
  void window.withProgress({ location: ProgressLocation.Notification, title }, () => gone);
}

/** What the developer chose or typed; undefined where the question was put aside. */
function pick({ asked: { question, answers, recommended }, gone }: Pending): Promise<string | undefined> {
  const box = window.createQuickPick();
  const offered: QuickPickItem[] = answers.map((label) =>
    label === recommended ? { label, description: t("recommended") } : { label },
  );
  box.title = question;
  box.placeholder = t("Choose an answer, or type your own");
  box.ignoreFocusOut = true;
  box.items = offered;
  void gone.then(() => box.hide());
  return new Promise((resolve) => {
    box.onDidChangeValue((typed) => {
      const own = { label: typed, description: t("in your own words"), alwaysShow: true };
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
