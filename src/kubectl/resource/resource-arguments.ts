/**
 * What the arguments of a command select: `pods,services`, `pods web-0 web-1`, `pod/web-0 service/web`. The types are
 * as they were typed.
 */
export type ResourceArguments =
  /** All objects of these types, or those that a selector matches. */
  | { readonly type: 'types'; readonly types: readonly string[] }
  | { readonly type: 'names'; readonly names: readonly TypedName[] }
  | { readonly type: 'nothing' }

export interface TypedName {
  readonly resource: string
  readonly name: string
}

/** Throws Error. */
export function parseResourceArguments(given: readonly string[]): ResourceArguments {
  const words = given.map(word => word.trim())
  if (words.length === 0) return { type: 'nothing' }
  const slashed = words.filter(word => word.includes('/'))
  if (slashed.length > 0) {
    if (slashed.length < words.length) throw new Error(mixedForms)
    return { type: 'names', names: words.map(parseTypedName) }
  }
  const [types = '', ...names] = words
  const resources = types.split(',')
  if (names.length === 0) return { type: 'types', types: resources }
  return { type: 'names', names: resources.flatMap(resource => names.map(name => ({ resource, name }))) }
}

const mixedForms =
  'there is no need to specify a resource type as a separate argument when passing arguments in ' +
  "resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource " +
  "resource/<resource_name>'"

function parseTypedName(word: string): TypedName {
  const [resource = '', name = '', ...more] = word.split('/')
  if (more.length > 0) throw new Error('arguments in resource/name form may not have more than one slash')
  if (resource === '' || name === '' || resource.includes(',')) {
    throw new Error('arguments in resource/name form must have a single resource and name')
  }
  return { resource, name }
}
