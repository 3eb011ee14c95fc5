/** Takes the texts of the editor's language, which the page brings along, before any other module asks for one. */

import { config } from "@vscode/l10n";

config({ contents: document.body.dataset["texts"] ?? "{}" });
