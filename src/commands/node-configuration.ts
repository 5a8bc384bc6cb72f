/**
 * Reads the configuration files of kubelet and kube-proxy. A table gives each field of the API type its meaning here;
 * a field that the type does not have is an error with its path.
 */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { quantityToNumber, tryParseQuantity } from '#/api/text/quantity.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Platform } from '#/platform/platform.ts'
import { readFlagFile } from './component-flags.ts'

/** What a field sets; a text is a warning about a field without effect. */
type FieldResult<S> = Partial<S> | string

/** Throws UsageError without the path. */
type Field<S> = (value: JsonValue) => FieldResult<S>

export interface Fields<S> {
  readonly [name: string]: Field<S> | Fields<S>
}

export interface NodeConfigurationType<S> {
  readonly apiVersion: string
  readonly kind: string
  readonly fields: Fields<S>
}

export interface NodeConfiguration<S> {
  readonly settings: Partial<S>
  readonly warnings: readonly string[]
}

/** Throws UsageError. */
export function readNodeConfiguration<S extends object>(
  text: string,
  { apiVersion, kind, fields }: NodeConfigurationType<S>,
): NodeConfiguration<S> {
  const { apiVersion: givenVersion, kind: givenKind, ...given } = parsed(text)
  if (givenVersion !== apiVersion || givenKind !== kind)
    throw new UsageError(`must have apiVersion ${apiVersion} and kind ${kind}`)
  const results = resultsOf(given, fields, '')
  return {
    settings: results.reduce<Partial<S>>((all, { result }) => {
      return typeof result === 'string' ? all : merged(all, result)
    }, {}),
    warnings: results.flatMap(({ path, result }) => (typeof result === 'string' ? `${path} ${result}` : [])),
  }
}

function parsed(text: string): JsonObject {
  let value: JsonValue
  try {
    value = parseYaml(text)
  } catch (cause) {
    const lines = messageOf(cause).trim()
    throw new UsageError(lines.replaceAll(/\s*\n\s*/g, '; '), { cause })
  }
  if (!isObject(value)) throw new UsageError('must be an object')
  return value
}

interface PathResult<S> {
  readonly path: string
  readonly result: FieldResult<S>
}

function resultsOf<S>(given: JsonObject, fields: Fields<S>, prefix: string): readonly PathResult<S>[] {
  return Object.entries(given).flatMap(([name, value]): readonly PathResult<S>[] => {
    const path = `${prefix}${name}`
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) throw new UsageError(`unknown field ${path}`)
    // As in Kubernetes, null is the same as absent.
    if (value === null || value === undefined) return []
    if (typeof field === 'function') return [{ path, result: readField(field, value, path) }]
    if (!isObject(value)) throw new UsageError(`${path}: must be an object`)
    return resultsOf(value, field, `${path}.`)
  })
}

function readField<S>(field: Field<S>, value: JsonValue, path: string): FieldResult<S> {
  try {
    return field(value)
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    throw new UsageError(`${path}: ${cause.message}`, { cause })
  }
}

/** Settings that are objects are set by several fields. */
function merged<S extends object>(all: Partial<S>, next: Partial<S>): Partial<S> {
  const entries = Object.entries(next).map(([name, value]: [string, unknown]) => {
    const before: unknown = (all as Readonly<Record<string, unknown>>)[name]
    return [name, isPlain(before) && isPlain(value) ? merged<object>(before, value) : value]
  })
  return { ...all, ...(Object.fromEntries(entries) as Partial<S>) }
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads the file of `--config`; fields without effect are logged. Throws UsageError. */
export async function readConfigurationFlag<S extends object>(
  { files, log }: Platform,
  path: string | undefined,
  read: (content: string) => NodeConfiguration<S>,
): Promise<Partial<S>> {
  if (path === undefined) return {}
  const content = await readFlagFile(files, 'config', path)
  try {
    const { settings, warnings } = read(content)
    for (const warning of warnings) log.warn(`Configuration file: ${warning}`, { file: path })
    return settings
  } catch (cause) {
    throw new UsageError(`--config ${path}: ${messageOf(cause)}`, { cause })
  }
}

type Set<T, S> = (value: T) => Partial<S>

export function text<S>(set: Set<string, S>): Field<S> {
  return value => {
    if (typeof value !== 'string') throw new UsageError('must be a string')
    return value === '' ? {} : set(value)
  }
}

export function boolean<S>(set: Set<boolean, S>): Field<S> {
  return value => {
    if (typeof value !== 'boolean') throw new UsageError('must be true or false')
    return set(value)
  }
}

export function integer<S>(
  set: Set<number, S>,
  { min = 0, max = 2 ** 31 - 1 }: { readonly min?: number; readonly max?: number } = {},
): Field<S> {
  return value => {
    const number = typeof value === 'bigint' ? Number(value) : value
    if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max)
      throw new UsageError(`must be an integer from ${min} to ${max}`)
    return set(number)
  }
}

/** In milliseconds. Zero means the default, as in Kubernetes. */
export function duration<S>(set: Set<number, S>): Field<S> {
  return value => {
    const ms = typeof value === 'string' ? tryParseDurationMs(value) : undefined
    if (ms === undefined || ms < 0) throw new UsageError('must be a duration, such as 30s')
    return ms === 0 ? {} : set(ms)
  }
}

/** In bytes. */
export function bytes<S>(set: Set<number, S>): Field<S> {
  return text(given => {
    const quantity = tryParseQuantity(given)
    if (quantity === undefined) throw new UsageError('must be a quantity, such as 10Mi')
    return set(quantityToNumber(quantity))
  })
}

export function texts<S>(set: Set<readonly string[], S>): Field<S> {
  return value => {
    if (!Array.isArray(value) || !value.every(each => typeof each === 'string'))
      throw new UsageError('must be a list of strings')
    return set(value)
  }
}

export function textMap<S>(set: Set<Readonly<Record<string, string>>, S>): Field<S> {
  return value => {
    if (!isObject(value) || !Object.values(value).every(each => typeof each === 'string'))
      throw new UsageError('must be an object with strings')
    return set(value as Readonly<Record<string, string>>)
  }
}

/** A duration as a text. Zero means the default. */
export function durationText<S>(set: Set<string, S>): Field<S> {
  return value => duration<S>(() => set(value as string))(value)
}

/** Only these values are supported; empty ones mean the default. */
export function only<S>(supported: readonly JsonValue[], reason: string): Field<S> {
  return value => {
    if (isEmpty(value) || supported.some(each => equalJson(each, value))) return {}
    const choices = supported.map(each => JSON.stringify(each)).join(' or ')
    throw new UsageError(`must be ${choices}: ${reason}`)
  }
}

export function unsupported<S>(reason: string): Field<S> {
  return value => {
    if (isEmpty(value)) return {}
    throw new UsageError(`is not supported: ${reason}`)
  }
}

/** Has no effect here; another value than the defaults is reported. */
export function unused<S>(...defaults: readonly JsonValue[]): Field<S> {
  return value => {
    if (isEmpty(value) || defaults.some(each => equalJson(each, value))) return {}
    return 'has no effect here'
  }
}

/** As Kubernetes writes fields that are not set. `false` is a value. */
function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isObject(value)) return Object.values(value).every(isEmpty)
  return value === null || value === '' || /^0(s|m|h)?$/.test(String(value))
}
