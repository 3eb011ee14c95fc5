/** Takes the texts of the editor's language, before any other module asks for one. */

import { config } from "@vscode/l10n";
import { l10n } from "vscode";

if (l10n.bundle !== undefined) {
  config({ contents: l10n.bundle });
}
