/** Warnings that are looked at; a server sends few. */
const warningsMax = 100

/** A warning of RFC 7234: a code, the agent and the text in quotes. */
const warning = /\s*(\d{3}) (?:[^\s"]+|"(?:\\.|[^"\\])*") "((?:\\.|[^"\\])*)"(?: "[^"]*")?\s*(?:,|$)/y

/**
 * The texts of a `Warning` header; 299 is the code that API servers use. What is malformed ends the reading.
 */
export function parseWarnings(header: string | undefined): readonly string[] {
  if (header === undefined) return []
  const texts: string[] = []
  warning.lastIndex = 0
  while (texts.length < warningsMax && warning.lastIndex < header.length) {
    const match = warning.exec(header)
    if (match === null) break
    if (match[1] === '299') texts.push(match[2]!.replaceAll(/\\(.)/g, '$1'))
  }
  return texts
}
