/** The constant of a resource: the plural with the capitals of the kind: `networkPolicies`, `csiDrivers`. */
export function constantName(kind: string, plural: string): string {
  let shared = 0
  while (shared < plural.length && plural[shared] === kind[shared]?.toLowerCase()) shared++
  const cased = kind.slice(0, shared) + plural.slice(shared)
  const capitals = /^[A-Z]+(?=[A-Z][a-z])|^[A-Z]/.exec(cased)?.[0] ?? ''
  return capitals.toLowerCase() + cased.slice(capitals.length)
}
