/** The tests of proposals as items of the Testing view: proposal, file, test, case. */

import { Range, Uri } from "vscode";
import type { TestController, TestItem } from "vscode";

import type { ProposalTests, ProposedTest } from "../protocol.ts";
import { AFTER } from "../review/files.ts";
import { caseLabel, filesOf, isShown, labelOf, shownCases, titleOf } from "./words.ts";
import type { FileOfTests } from "./words.ts";

/** What an item stands for: `testId` is empty for a proposal, a path for a file, else that of a test or a case. */
export interface Meant {
  readonly proposalId: string;
  readonly testId: string;
}

/** Where a file is read: on the right side of the proposal's diff as long as it is on offer. */
export function placeOf(proposalId: string, file: { path: string; uri: string; isOpen: boolean }): Uri {
  return file.isOpen ? Uri.from({ scheme: AFTER, path: `/${proposalId}/${file.path}` }) : Uri.parse(file.uri);
}

/** The item of that id below *parent*, made where there is none, or another where it lies elsewhere by now. */
function itemAt(controller: TestController, parent: TestItem | undefined, id: string, label: string, uri?: Uri): TestItem {
  const siblings = parent?.children ?? controller.items;
  const known = siblings.get(id);
  // The address of an item cannot be changed: another one means another item.
  if (known !== undefined && known.uri?.toString() === uri?.toString()) {
    known.label = label;
    return known;
  }
  const made = controller.createTestItem(id, label, uri);
  siblings.add(made);
  return made;
}

function keepOnly(item: TestItem, ids: ReadonlySet<string>): void {
  const gone: string[] = [];
  item.children.forEach(({ id }) => {
    if (!ids.has(id)) {
      gone.push(id);
    }
  });
  for (const id of gone) {
    item.children.delete(id);
  }
}

export interface Items {
  /** Shows the tests of a proposal as they are now; the item of the proposal, undefined where there are none. */
  show(proposal: ProposalTests): TestItem | undefined;
  meant(item: TestItem): Meant | undefined;
  /** The item of a test or a file; of a case, which is made where it is not there yet. */
  find(proposalId: string, testId: string): TestItem | undefined;
}

export function createItems(controller: TestController): Items {
  const meanings = new WeakMap<TestItem, Meant>();
  const order = (item: TestItem, at: number): void => {
    item.sortText = String(at).padStart(6, "0");
  };

  function showTest(proposalId: string, holder: TestItem, test: ProposedTest, at: number): string {
    const item = itemAt(controller, holder, `${proposalId}/${test.testId}`, labelOf(test.testId), holder.uri);
    order(item, at);
    item.range = test.lines === null ? undefined : new Range(test.lines.start, 0, test.lines.end, 0);
    meanings.set(item, { proposalId, testId: test.testId });
    const cases = shownCases(test);
    keepOnly(item, new Set(cases.map(({ testId }) => `${proposalId}/${testId}`)));
    cases.forEach(({ testId }, n) => order(showCase(proposalId, item, testId), n));
    return item.id;
  }

  function showCase(proposalId: string, test: TestItem, caseId: string): TestItem {
    const item = itemAt(controller, test, `${proposalId}/${caseId}`, caseLabel(caseId), test.uri);
    item.range = test.range;
    meanings.set(item, { proposalId, testId: caseId });
    return item;
  }

  function showFile(proposalId: string, root: TestItem, file: FileOfTests, at: number): string {
    const item = itemAt(controller, root, `${proposalId}/${file.path}`, file.path, placeOf(proposalId, file));
    order(item, at);
    meanings.set(item, { proposalId, testId: file.path });
    const tests = file.tests.filter(({ testId }) => testId !== file.path);
    keepOnly(item, new Set(tests.map((test, n) => showTest(proposalId, item, test, n))));
    return item.id;
  }

  return {
    show(proposal) {
      const { proposalId } = proposal;
      if (!isShown(proposal)) {
        controller.items.delete(proposalId);
        return undefined;
      }
      const root = itemAt(controller, undefined, proposalId, titleOf(proposal));
      order(root, 1_000_000 - Number(proposalId.slice(1)));
      const didRun = proposal.tests.some(({ cases }) => cases.length > 0);
      root.error = didRun || proposal.notRun.length === 0 ? undefined : proposal.notRun.join("\n");
      meanings.set(root, { proposalId, testId: "" });
      keepOnly(root, new Set(filesOf(proposal).map((file, n) => showFile(proposalId, root, file, n))));
      return root;
    },
    meant: (item) => meanings.get(item),
    find(proposalId, testId) {
      const [path = "", name] = testId.split("::", 2);
      const file = controller.items.get(proposalId)?.children.get(`${proposalId}/${path}`);
      if (name === undefined) {
        return file;
      }
      const [test = testId] = testId.split("[", 1);
      const item = file?.children.get(`${proposalId}/${test}`);
      return item === undefined || test === testId ? item : showCase(proposalId, item, testId);
    },
  };
}

/** The items below *item* that have none below them; itself where it has none. */
export function leavesOf(item: TestItem): TestItem[] {
  if (item.children.size === 0) {
    return [item];
  }
  const found: TestItem[] = [];
  item.children.forEach((child) => found.push(...leavesOf(child)));
  return found;
}
