/** Arguments that set and remove keys: `kubectl label pod web-0 app=web tier-`. */

export interface KeyValueArguments {
  readonly resources: readonly string[]
  /** `app=web`, `tier-`. */
  readonly pairs: readonly string[]
}

/** Splits arguments where the changes begin. `what` is named in the error: `label`. */
export function splitKeyValueArguments(args: readonly string[], what: string): KeyValueArguments {
  const isPair = (word: string): boolean => word.indexOf('=') > 0 || (word.endsWith('-') && word !== '-')
  const first = args.findIndex(isPair)
  if (first === -1) return { resources: args, pairs: [] }
  const pairs = args.slice(first)
  const misplaced = pairs.find(word => !isPair(word))
  if (misplaced !== undefined) {
    throw new Error(`all resources must be specified before ${what} changes: ${misplaced}`)
  }
  return { resources: args.slice(0, first), pairs }
}

/** Keys to set, with their values, and keys to remove. */
export interface KeyValueChanges {
  readonly set: ReadonlyMap<string, string>
  readonly removed: readonly string[]
}

/** Values may contain `=`. */
export function parseKeyValues(pairs: readonly string[], what: string): KeyValueChanges {
  const set = new Map<string, string>()
  const removed: string[] = []
  const invalid: string[] = []
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    if (equals > 0) set.set(pair.slice(0, equals), pair.slice(equals + 1))
    else if (pair.endsWith('-') && pair !== '-') removed.push(pair.slice(0, -1))
    else invalid.push(pair)
  }
  if (invalid.length > 0) throw new Error(`invalid ${what} format: ${invalid.join(', ')}`)
  return { set, removed }
}
