// A reporter for Node's test runner: a line of JSON for each test, whatever the tests print.
// Suites and files are told only where they failed by themselves.

import { resolve } from "node:path";

const names = new Map(); // of the tests and suites that have begun in each file, by their depth

function whole(data, kept) {
  const above = names.get(data.file) ?? [];
  above.length = data.nesting;
  const path = [...above, data.name];
  if (kept) names.set(data.file, path);
  return path;
}

const printed = new Map(); // the end of what each file said of its troubles
const KEPT = 4000;

function told(kind, data) {
  const { duration_ms: duration, error, type } = data.details ?? {};
  const cause = error?.cause ?? error;
  return {
    kind,
    file: data.file ?? "",
    names: whole(data, false),
    suite: type === "suite",
    skipped: data.skip ?? false,
    todo: data.todo ?? false,
    duration_s: (duration ?? 0) / 1000,
    failure: error?.failureType ?? "",
    name: cause?.name ?? "",
    message: String(cause?.message ?? cause ?? ""),
    detail: String(error?.cause?.stack ?? ""),
    printed: kind === "fail" ? (printed.get(resolve(data.file ?? "")) ?? "") : "",
  };
}

export default async function* report(source) {
  for await (const { type, data } of source) {
    if (type === "test:start") {
      yield JSON.stringify({ kind: "start", file: data.file ?? "", names: whole(data, true) }) + "\n";
    } else if (type === "test:stderr") {
      const file = resolve(data.file); // from Node 24 on, what a file printed has its name as it was given
      printed.set(file, ((printed.get(file) ?? "") + data.message).slice(-KEPT));
    } else if (type === "test:pass" || type === "test:fail") {
      yield JSON.stringify(told(type.slice(5), data)) + "\n";
    }
  }
  yield JSON.stringify({ kind: "end" }) + "\n";
}
