import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { findInterpreter, launchServer } from "../src/interpreter.ts";

describe("the Python that starts the server", { skip: process.platform === "win32" }, () => {
  const path = process.env["PATH"];
  let bin = "";

  beforeEach(() => {
    bin = mkdtempSync(join(tmpdir(), "rolecall-interpreter-"));
    process.env["PATH"] = bin;
  });
  afterEach(() => {
    process.env["PATH"] = path;
    rmSync(bin, { recursive: true });
  });

  /** A program in the only folder on PATH that answers as a Python of *version* would. */
  function install(name: string, version: string): string {
    return program(name, `echo "${join(bin, "real", name)}"; echo "${version}"`);
  }

  function program(name: string, script: string): string {
    const location = join(bin, name);
    writeFileSync(location, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return location;
  }

  async function problem(setting = ""): Promise<string> {
    const found = await findInterpreter(setting);
    assert.ok("problem" in found, JSON.stringify(found));
    return found.problem;
  }

  it("is python3 on PATH, with shims resolved", async () => {
    install("python3", "3.11.7");
    install("python", "3.14.0");
    assert.deepEqual(await findInterpreter(""), { path: join(bin, "real", "python3"), version: "3.11.7" });
  });

  it("is python where python3 is too old", async () => {
    install("python3", "3.9.2");
    install("python", "3.12.1");
    assert.deepEqual(await findInterpreter(""), { path: join(bin, "real", "python"), version: "3.12.1" });
  });

  it("is the one that the setting names, and no other", async () => {
    install("python3", "3.12.0");
    const old = install("old", "3.10.4");
    assert.deepEqual(await findInterpreter(install("mine", "3.13.0")), {
      path: join(bin, "real", "mine"),
      version: "3.13.0",
    });
    assert.match(await problem(old), /old \(Python 3\.10\.4\)/);
  });

  it("may be named by a path that begins at home", async () => {
    const home = process.env["HOME"];
    process.env["HOME"] = bin;
    try {
      install("mine", "3.13.0");
      assert.deepEqual(await findInterpreter("~/mine"), { path: join(bin, "real", "mine"), version: "3.13.0" });
    } finally {
      process.env["HOME"] = home;
    }
  });

  it("is compared by number, not by letter: 3.9 is older than 3.11, and 4.0 younger", async () => {
    install("python3", "3.9.18");
    assert.match(await problem(), /Python 3\.9\.18/);
    install("python3", "4.0.0");
    assert.ok("path" in (await findInterpreter("")));
  });

  it("is missed with what was tried, why each did not do, and the next step", async () => {
    install("python3", "3.8.10");
    const message = await problem();
    assert.match(message, /Python 3\.11 or later/);
    assert.match(message, /python3 \(Python 3\.8\.10\), python \(not found\)/);
    assert.match(message, /rolecall\.server\.interpreter/);
  });

  it("is not just any program that runs", async () => {
    program("python3", "echo hello");
    program("python", "exit 3");
    assert.match(await problem(), /python3 \(not a Python\), python \(does not run\)/);
  });
});

describe("the command line of the server", () => {
  const python = { path: "/usr/bin/python3", version: "3.12.0" };

  it("is isolated from the opened folder in both strategies", () => {
    assert.deepEqual(launchServer(python, "fromEnvironment", "/ext").args, ["-I", "-m", "rolecall_server"]);
    assert.deepEqual(launchServer(python, "useBundled", "/ext").args, ["-I", join("/ext", "bundled", "launch.py")]);
  });
});
