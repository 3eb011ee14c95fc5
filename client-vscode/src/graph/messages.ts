/** What the page of the graph and the extension say to each other. */

import type { GraphKind, GraphResult } from "../protocol.ts";

/** What the page shows, and asks for anew. */
export interface Question {
  readonly uri: string;
  /** A dotted name in the file; empty: the module. */
  readonly symbol: string;
  readonly kind: GraphKind;
  readonly steps: number;
  readonly possible: boolean;
  readonly tests: boolean;
}

export const FIRST_STEPS: Readonly<Record<GraphKind, number>> = { calls: 2, impact: 4, modules: 1 };
export const MOST_STEPS = 6;

export type ToPage =
  | { readonly type: "asking" }
  | { readonly type: "failed"; readonly why: string }
  | { readonly type: "show"; readonly question: Question; readonly answer: GraphResult; readonly canGoBack: boolean };

export type FromPage =
  | { readonly type: "ready" | "back" | "again" }
  | { readonly type: "ask"; readonly question: Question }
  | { readonly type: "go"; readonly node: number };
