/** Plain text as Markdown: VS Code's own way of escaping makes its backslashes a part of the addresses in it. */

const ADDRESS = /(https?:\/\/[^\s<>()[\]"'`\\]*[^\s<>()[\]"'`\\.,;:!?])/;
const SPECIAL = /[\\`*_{}[\]()#+\-.!~|<>&]/g;

/** *text*, line for line and letter for letter; an address in it is a link that ends where the address does. */
export function asMarkdown(text: string): string {
  return text.split("\n").map(line).join("  \n");
}

function line(text: string): string {
  return text
    .split(ADDRESS)
    // What the group of the pattern matches is at the odd places.
    .map((part, index) => (index % 2 === 1 ? `<${part}>` : part.replace(SPECIAL, "\\$&").replace(/ {2}/g, "&nbsp; ")))
    .join("");
}

/** *text* for a notification, which would make links, of commands too, of what others wrote. */
export function asNotice(text: string): string {
  return text.replace(/\](?=\()/g, "] ");
}
