/** Operation ids and tags, from which client generators derive class and function names. */

/** The group in an operation id: `Core`, `RbacAuthorization`, `StableExampleCom`. */
export function groupIdentifier(group: string): string {
  if (group === '') return 'Core'
  return group
    .replace(/\.k8s\.io$/, '')
    .split(/[^A-Za-z0-9]+/)
    .map(capitalize)
    .join('')
}

/** Tag of the operations of a group or group version: `rbacAuthorization_v1`. */
export function tagOf(group: string, version?: string): string {
  const identifier = groupIdentifier(group)
  const tag = `${identifier.slice(0, 1).toLowerCase()}${identifier.slice(1)}`
  return version === undefined ? tag : `${tag}_${version}`
}

export function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** The kind with its article; plural kinds (`Endpoints`) have none. */
export function withArticle(kind: string): string {
  if (/[^s]s$/.test(kind)) return kind
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`
}
