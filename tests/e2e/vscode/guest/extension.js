// Calls Rolecall's tools as an agent in the editor does: GUEST_CALLS has their names and inputs, one after the other. What
// they answer is written to GUEST_ANSWERS once all did.

const { writeFileSync } = require("node:fs");

const { commands, lm } = require("vscode");

exports.activate = ({ subscriptions }) => {
  subscriptions.push(
    commands.registerCommand("guest.call", async () => {
      const answers = [];
      for (const { name, input } of JSON.parse(process.env.GUEST_CALLS)) {
        const { content } = await lm.invokeTool(name, { input, toolInvocationToken: undefined });
        answers.push(content.map((part) => part.value).join(""));
      }
      writeFileSync(process.env.GUEST_ANSWERS, JSON.stringify(answers));
    }),
  );
};
