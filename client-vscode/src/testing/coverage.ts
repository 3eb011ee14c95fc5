/** What tests reach, as VS Code draws it; it may lack the API for that. */

import * as vscode from "vscode";
import type { FileCoverage, StatementCoverage, TestRun, TestRunProfile } from "vscode";

import type { CoveredFile, CoveredLines } from "../protocol.ts";
import { BEFORE } from "../review/files.ts";
import { placeOf } from "./items.ts";

/** Whether this editor shows coverage; older ones, and others that take its extensions, may not. */
export function showsCoverage(): boolean {
  const known = vscode as Partial<Pick<typeof vscode, "FileCoverage" | "StatementCoverage">>;
  return known.FileCoverage !== undefined && known.StatementCoverage !== undefined;
}

const details = new WeakMap<FileCoverage, CoveredLines>();

/** Gives *profile* what it shows line by line. */
export function detailIn(profile: TestRunProfile): void {
  profile.loadDetailedCoverage = (_run, file) => Promise.resolve(statements(details.get(file)));
}

function statements(lines: CoveredLines | undefined): StatementCoverage[] {
  const at = (line: number, reached: boolean): StatementCoverage =>
    new vscode.StatementCoverage(reached, new vscode.Range(line, 0, line, Number.MAX_SAFE_INTEGER));
  const { reached = [], missed = [] } = lines ?? {};
  return [...reached.map((line) => at(line, true)), ...missed.map((line) => at(line, false))];
}

/** Adds to *run* what the tests of a proposal reach of *files*, with it or without it. */
export function addCoverage(run: TestRun, proposalId: string, files: readonly CoveredFile[], side: "before" | "after"): void {
  for (const file of files) {
    const lines = file[side];
    if (lines !== null) {
      const uri = side === "before" && file.isOpen ? beforeOf(proposalId, file) : placeOf(proposalId, file);
      const { reached, missed, branches } = lines;
      const counted = new vscode.FileCoverage(
        uri,
        new vscode.TestCoverageCount(reached.length, reached.length + missed.length),
        branches.total > 0 ? new vscode.TestCoverageCount(branches.reached, branches.total) : undefined,
      );
      details.set(counted, lines);
      run.addCoverage(counted);
    }
  }
}

function beforeOf(proposalId: string, file: CoveredFile): vscode.Uri {
  return vscode.Uri.from({ scheme: BEFORE, path: `/${proposalId}/${file.path}` });
}
