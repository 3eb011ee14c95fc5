/** The Python that starts the server: where to look for one, and what to tell the developer when none fits. */

import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";

import { t } from "@vscode/l10n";

export const MINIMUM_VERSION = [3, 11] as const;
const ANSWER_TIMEOUT_MS = 10_000;

export interface Interpreter {
  /** The program's absolute path, with shims resolved. */
  readonly path: string;
  readonly version: string;
}

export interface NoInterpreter {
  /** A sentence for the developer: what was tried, and what to do next. */
  readonly problem: string;
}

/** How the server is started, after the interpreter's path. */
export interface Launch {
  readonly path: string;
  readonly args: readonly string[];
}

/** The first Python of at least `MINIMUM_VERSION`: the chosen one if *setting* names one, else `python3` or `python`. */
export async function findInterpreter(setting: string): Promise<Interpreter | NoInterpreter> {
  const candidates = setting === "" ? ["python3", "python"] : [expandHome(setting)];
  const rejected: string[] = [];
  for (const candidate of candidates) {
    const answer = await askVersion(candidate);
    if (typeof answer === "string") {
      rejected.push(`${candidate} (${answer})`);
    } else if (isRecentEnough(answer.version)) {
      return answer;
    } else {
      rejected.push(`${answer.path} (Python ${answer.version})`);
    }
  }
  const minimum = MINIMUM_VERSION.join(".");
  return {
    problem:
      t("Rolecall needs Python {0} or later. Tried: {1}.", minimum, rejected.join(", ")) +
      ` ${t("Install one, or name it in the setting rolecall.server.interpreter.")}`,
  };
}

/**
 * The command line that starts the server.
 *
 * `-I` keeps the opened folder's own modules, and every `PYTHON*` variable, out of the server.
 */
export function launchServer(interpreter: Interpreter, importStrategy: string, extensionPath: string): Launch {
  const program =
    importStrategy === "fromEnvironment"
      ? ["-m", "rolecall_server"]
      : [join(extensionPath, "bundled", "launch.py")];
  return { path: interpreter.path, args: ["-I", ...program] };
}

function expandHome(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
}

/** The interpreter that *candidate* is, or why it is none. */
function askVersion(candidate: string): Promise<Interpreter | string> {
  const question = "import platform, sys; print(sys.executable); print(platform.python_version())";
  // The home folder, because a version manager's shim would let the opened folder choose the Python.
  const options = { cwd: homedir(), timeout: ANSWER_TIMEOUT_MS };
  return new Promise((resolve) => {
    execFile(candidate, ["-I", "-c", question], options, (error, stdout) => {
      const [path = "", version = ""] = stdout.split(/\r?\n/);
      if (error !== null) {
        resolve(error.code === "ENOENT" ? t("not found") : error.killed === true ? t("no answer") : t("does not run"));
      } else if (/^\d+\.\d+/.test(version)) {
        // A Python that cannot find its own program leaves `sys.executable` empty.
        resolve({ path: path === "" ? candidate : path, version });
      } else {
        resolve(t("not a Python"));
      }
    });
  });
}
