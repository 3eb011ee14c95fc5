// Lends VS Code language models whose words come from a test's own endpoints: LENDER_ENDPOINTS has their addresses by
// vendor. Every vendor's model goes by the same id. That VS Code asks the developer for consent before another extension
// may use one (`requiresAuthorization`) takes the proposed API chatProvider; all the rest is in the stable one.

const { LanguageModelTextPart, lm } = require("vscode");

exports.activate = ({ subscriptions }) => {
  for (const [vendor, address] of Object.entries(JSON.parse(process.env.LENDER_ENDPOINTS))) {
    subscriptions.push(lm.registerLanguageModelChatProvider(vendor, provider(vendor, address)));
  }
};

const provider = (vendor, address) => ({
  provideLanguageModelChatInformation: () => [
    {
      id: "lent-1",
      name: `Lent by ${vendor}`,
      family: "lent",
      version: "1",
      maxInputTokens: 64_000,
      maxOutputTokens: 8_000,
      capabilities: {},
      requiresAuthorization: true,
    },
  ],
  // An estimate, as many providers have it: no whole number.
  provideTokenCount: async (_model, said) => textOf(said).length / 3.7,
  async provideLanguageModelChatResponse(_model, messages, _options, progress, token) {
    const told = messages.map((said) => ({ role: "user", content: textOf(said) }));
    for await (const line of linesOf(`${address}/chat/completions`, { model: vendor, stream: true, messages: told }, token)) {
      const piece = line.startsWith("data: {") && JSON.parse(line.slice("data: ".length)).choices[0]?.delta.content;
      if (piece) {
        progress.report(new LanguageModelTextPart(piece));
      }
    }
  },
});

const textOf = (said) => (typeof said === "string" ? said : said.content.map((part) => part.value ?? "").join(""));

/** The lines of the reply to a POST of *body*; a cancelled *token* hangs up. */
async function* linesOf(url, body, token) {
  const connection = new AbortController();
  token.onCancellationRequested(() => connection.abort());
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal: connection.signal });
  if (!response.ok) {
    throw new Error(`The endpoint said ${response.status} ${response.statusText}.`);
  }
  let begun = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (begun + text).split("\n");
    begun = lines.pop();
    yield* lines;
  }
}
