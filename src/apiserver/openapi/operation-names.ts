/** Names and words of operations, from which client generators make names of classes and functions. */

/** The group as part of a name: `Core`, `RbacAuthorization`, `StableExampleCom`. */
export function groupIdentifier(group: string): string {
  if (group === '') return 'Core'
  return group
    .replace(/\.k8s\.io$/, '')
    .split(/[^A-Za-z0-9]+/)
    .map(capitalize)
    .join('')
}

/** What groups operations of a group, or of one of its versions: `rbacAuthorization_v1`. */
export function tagOf(group: string, version?: string): string {
  const identifier = groupIdentifier(group)
  const tag = `${identifier.slice(0, 1).toLowerCase()}${identifier.slice(1)}`
  return version === undefined ? tag : `${tag}_${version}`
}

export function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** A kind with its article; one that is a plural (`Endpoints`) has none. */
export function withArticle(kind: string): string {
  if (/[^s]s$/.test(kind)) return kind
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`
}
