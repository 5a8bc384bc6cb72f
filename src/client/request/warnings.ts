/** Maximum number of warnings parsed of one response. */
const warningsMax = 100

/** A warning of RFC 7234: code, agent and quoted text. */
const warning = /\s*(\d{3}) (?:[^\s"]+|"(?:\\.|[^"\\])*") "((?:\\.|[^"\\])*)"(?: "[^"]*")?\s*(?:,|$)/y

/** The texts of a `Warning` header with code 299, which API servers use. Parsing stops at malformed input. */
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
