/** Keys that are paths: what is below a prefix, and which prefixes a key is below. */

/** The first string after every key below a prefix, which ends with a slash. */
export function prefixEnd(prefix: string): string {
  return `${prefix.slice(0, -1)}0`
}

/** Calls back with every prefix that a key is below, each up to and including a slash, the shortest first. */
export function forEachPrefix(key: string, visit: (prefix: string) => void): void {
  for (let slash = key.indexOf('/'); slash !== -1; slash = key.indexOf('/', slash + 1)) {
    visit(key.slice(0, slash + 1))
  }
}
