/** Keys that are slash-separated paths: the key range of a prefix, and the prefixes of a key. */

/** The exclusive end of the key range of a prefix, which ends with a slash. */
export function prefixEnd(prefix: string): string {
  return `${prefix.slice(0, -1)}0`
}

/** Visits every prefix of a key, each up to and including a slash, shortest first. */
export function forEachPrefix(key: string, visit: (prefix: string) => void): void {
  for (let slash = key.indexOf('/'); slash !== -1; slash = key.indexOf('/', slash + 1)) {
    visit(key.slice(0, slash + 1))
  }
}
