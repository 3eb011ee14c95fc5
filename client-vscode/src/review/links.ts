/** Links in Markdown that run a command. */

/** Return a link with a title that runs a command with one argument; a bracket in it would end the link. */
export function commandLink(title: string, command: string, argument: object): string {
  const encoded = encodeURIComponent(JSON.stringify([argument])).replaceAll("(", "%28").replaceAll(")", "%29");
  return `[${title}](command:${command}?${encoded})`;
}
