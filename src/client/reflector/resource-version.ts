/**
 * Versions are whole numbers that grow with time within one resource, and so can be compared (KEP-5504): less
 * than zero when the left one is older. Undefined when one of them is not such a number, as a server of
 * another make may have them.
 */
export function compareVersions(left: string, right: string): number | undefined {
  if (!isNumber(left) || !isNumber(right)) return undefined
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0)
}

/** Whether a version came after another. Where that cannot be known, a different one did. */
export function isNewer(version: string, than: string): boolean {
  const order = compareVersions(version, than)
  return order === undefined ? version !== than : order > 0
}

function isNumber(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,38})$/.test(text)
}
