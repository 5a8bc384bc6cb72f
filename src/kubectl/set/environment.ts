import { checkEnvVarName } from '#/api/names.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { objectOf, textOf } from './pod-spec.ts'

/** A variable of a container: `{ name, value }` or `{ name, valueFrom }`. */
export type EnvironmentVariable = JsonObject

export interface EnvironmentArguments {
  readonly resources: readonly string[]
  /** `KEY=value`, `KEY-`, or `-` for lines on stdin. */
  readonly words: readonly string[]
}

/** Splits arguments where the variables begin. */
export function splitEnvironmentArguments(args: readonly string[]): EnvironmentArguments {
  const isVariable = (word: string): boolean => /^.+=/s.test(word) || word.endsWith('-')
  const first = args.findIndex(isVariable)
  if (first === -1) return { resources: args, words: [] }
  const words = args.slice(first)
  if (words.every(isVariable)) return { resources: args.slice(0, first), words }
  throw new Error(`all resources must be specified before environment changes: ${args.join(' ')}`)
}

export interface EnvironmentChanges {
  readonly set: readonly EnvironmentVariable[]
  readonly removed: readonly string[]
}

/** `input` is the text on stdin, for a word `-`. */
export function parseEnvironment(words: readonly string[], input: string): EnvironmentChanges {
  const set: EnvironmentVariable[] = []
  const removed: string[] = []
  const given = new Set<string>()
  for (const word of words) {
    const equals = word.indexOf('=')
    if (word === '-') set.push(...parseLines(input))
    else if (equals !== -1) {
      const name = word.slice(0, equals)
      const problems = checkEnvVarName(name)
      if (problems.length > 0)
        throw new Error(`${quote(name)} is not a valid key name: ${problems.join(';')}`)
      given.add(name)
      set.push({ name, value: word.slice(equals + 1) })
    } else if (word.endsWith('-')) removed.push(word.slice(0, -1))
    else throw new Error(`unknown environment variable: ${word}`)
  }
  if (removed.some(name => given.has(name))) {
    throw new Error('can not both modify and remove the same environment variable in the same command')
  }
  return { set, removed }
}

/** Text after `#` and lines without `=` are ignored. */
function parseLines(text: string): readonly EnvironmentVariable[] {
  return text.split('\n').flatMap(line => {
    const [content = ''] = line.replace(/\r$/, '').split('#')
    const equals = content.indexOf('=')
    return equals === -1 ? [] : [{ name: content.slice(0, equals), value: content.slice(equals + 1) }]
  })
}

/** Variables with the values of a ConfigMap or Secret. Undefined for other objects. */
export function environmentFrom(
  source: JsonObject,
  keys: readonly string[],
): readonly (EnvironmentVariable & { readonly key: string })[] | undefined {
  const reference = { ConfigMap: 'configMapKeyRef', Secret: 'secretKeyRef' }[textOf(source['kind'])]
  if (reference === undefined) return undefined
  const name = textOf(objectOf(source['metadata'])['name'])
  return Object.keys(objectOf(source['data']))
    .sort()
    .filter(key => keys.length === 0 || keys.includes(key))
    .map(key => ({ key, name: environmentName(key), valueFrom: { [reference]: { name, key } } }))
}

function environmentName(key: string): string {
  return key.replaceAll(/[^a-zA-Z0-9_]/g, '_').toUpperCase()
}

/** Variables keep their place; new ones are appended. */
export function updateEnvironment(
  existing: readonly EnvironmentVariable[],
  { set, removed }: EnvironmentChanges,
): EnvironmentVariable[] {
  const wanted = new Map<string, EnvironmentVariable>()
  for (const variable of set) {
    const name = nameOf(variable)
    if (!wanted.has(name) && !removed.includes(name)) wanted.set(name, variable)
  }
  const replaced = new Set<string>()
  const kept = existing.flatMap(variable => {
    const name = nameOf(variable)
    if (removed.includes(name) || replaced.has(name)) return []
    const newer = wanted.get(name)
    if (newer === undefined) return [variable]
    replaced.add(name)
    return [newer]
  })
  return [...kept, ...[...wanted].flatMap(([name, variable]) => (replaced.has(name) ? [] : [variable]))]
}

/** Throws Error if a variable would get another value. */
export function requireNoOverwrites(
  existing: readonly EnvironmentVariable[],
  { set }: EnvironmentChanges,
): void {
  for (const variable of set) {
    const current = existing.find(each => nameOf(each) === nameOf(variable))
    if (current === undefined || textOf(current['value']) === textOf(variable['value'])) continue
    throw new Error(
      `'${nameOf(current)}' already has a value (${textOf(current['value'])}), and --overwrite is false`,
    )
  }
}

export function nameOf(variable: EnvironmentVariable): string {
  return textOf(variable['name'])
}

/** `configmap web, key PORT`. */
export function describeReference(valueFrom: JsonObject): string {
  const configMap = objectOf(valueFrom['configMapKeyRef'])
  if ('configMapKeyRef' in valueFrom)
    return `configmap ${textOf(configMap['name'])}, key ${textOf(configMap['key'])}`
  const secret = objectOf(valueFrom['secretKeyRef'])
  if ('secretKeyRef' in valueFrom) return `secret ${textOf(secret['name'])}, key ${textOf(secret['key'])}`
  if ('fieldRef' in valueFrom) return `field path ${textOf(objectOf(valueFrom['fieldRef'])['fieldPath'])}`
  const field = objectOf(valueFrom['resourceFieldRef'])
  if (!('resourceFieldRef' in valueFrom)) return 'invalid valueFrom'
  const container = textOf(field['containerName'])
  return `resource field ${container === '' ? '' : `${container}/`}${textOf(field['resource'])}`
}
