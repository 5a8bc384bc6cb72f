/**
 * Compares resourceVersions, which are integers that grow within one resource (KEP-5504): negative when the
 * left one is older. Undefined when one of them is not an integer, as with other server implementations.
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (!isNumber(left) || !isNumber(right)) return undefined
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0)
}

/**
 * True if a version is later than another. Versions that cannot be compared count as later when they differ.
 */
export function isNewerResourceVersion(version: string, than: string): boolean {
  const order = compareResourceVersions(version, than)
  return order === undefined ? version !== than : order > 0
}

function isNumber(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,38})$/.test(text)
}
