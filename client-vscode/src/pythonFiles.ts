/** What the paths of Python files say about them. */

/** Whether tests may be written for the file *path*: it is none itself, and no set-up of tests or of an installation. */
export function mayNeedTests(path: string): boolean {
  const folders = path.split("/");
  const name = folders.pop() ?? "";
  const isTest = /^test_.*\.py$|_test\.py$|^tests?\.py$/.test(name) || folders.some((folder) => /^tests?$/.test(folder));
  return name.endsWith(".py") && !isTest && name !== "conftest.py" && name !== "setup.py";
}
