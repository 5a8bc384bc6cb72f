import { get, isObject, put } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compareText, textOf } from '../documents/value.ts'
import { changeFields, type FieldSpec } from '../fields/field-spec.ts'
import { lookUp } from '../fields/field-path.ts'
import { splitFieldPath } from '../fields/split-path.ts'
import { KustomizeError } from '../kustomize-error.ts'
import type { Var } from '../load/kustomization.ts'
import {
  equalGvkName,
  equalIds,
  formatGvk,
  gvkOf,
  isClusterScoped,
  type ResourceId,
} from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'

export type Vars = ReadonlyMap<string, Var>

/** Adds variables whose names must be new, and marks the resources that have their values. */
export function mergeVars(vars: Vars, added: Iterable<Var>, resources: ResourceList): Vars {
  const merged = new Map(vars)
  for (const each of added) {
    const name = each.name ?? ''
    const id = objectOf(each)
    const isExact = id.namespace !== '' || isClusterScoped(id)
    const matches = resources.havingId(other => (isExact ? equalIds(id, other) : equalGvkName(id, other)))
    if (matches.length > 1) {
      const problem = `found ${matches.length} resId matches for var ${showVar(each, each.fieldref?.fieldPath ?? '')}`
      throw new KustomizeError(`${problem} (unable to disambiguate)`)
    }
    for (const resource of matches) resource.varNames = [...resource.varNames, name]
    if (merged.has(name)) throw new KustomizeError(`var '${name}' already encountered`)
    merged.set(name, each)
  }
  return merged
}

export function uniteVars(left: Vars, right: Vars): Vars {
  for (const name of right.keys()) {
    if (left.has(name)) throw new KustomizeError(`var '${name}' already encountered`)
  }
  return new Map([...left, ...right])
}

function objectOf({ objref = {} }: Var): ResourceId {
  const { apiVersion = '', group = '', version = '', kind = '', name = '', namespace = '' } = objref
  return { ...(apiVersion === '' ? { group, version, kind } : gvkOf(apiVersion, kind)), name, namespace }
}

function fieldOf({ fieldref }: Var): string {
  return fieldref?.fieldPath || 'metadata.name'
}

/** As Go prints it. */
function showVar(variable: Var, field: string): string {
  return `{${variable.name ?? ''} ${formatGvk(objectOf(variable))} {${field}}}`
}

/** As Go prints a list of them before their defaults are set. */
export function showVars(vars: readonly Var[]): string {
  const shown = vars.map(({ name = '', objref = {}, fieldref = {} }) => {
    return `{${name} ${formatGvk(objref)} {${fieldref.fieldPath ?? ''}}}`
  })
  return `[${shown.join(' ')}]`
}

/** Maximum length of a text with the values of its variables. */
const expandedCharactersMax = 16 * 1024 * 1024

/** Replaces `$(NAME)` in the given fields. */
export function resolveVars(
  resources: ResourceList,
  vars: Vars,
  options: { readonly specs: readonly FieldSpec[]; readonly warn: (message: string) => void },
): void {
  if (vars.size === 0) return
  const values = new Map([...vars].map(([name, each]) => [name, valueOf(resources, each)]))
  const unused = new Set(values.keys())
  const expand = (value: JsonValue): JsonValue => {
    return typeof value === 'string' ? expandText(value, values, unused) : value
  }
  const change = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) {
      if (!value.every(item => typeof item === 'string')) {
        throw new KustomizeError('invalid value type expect a string')
      }
      return value.map(item => expand(item))
    }
    if (!isObject(value)) return expand(value)
    for (const key of Object.keys(value)) put(value, key, expand(get(value, key) ?? null))
    return value
  }
  for (const resource of resources) changeFields(resource, options.specs, { change })
  if (unused.size > 0)
    options.warn(`well-defined vars that were never replaced: ${[...unused].sort(compareText).join(',')}`)
}

function valueOf(resources: ResourceList, variable: Var): JsonValue {
  const name = variable.name ?? ''
  for (const resource of resources) {
    if (!resource.varNames.includes(name)) continue
    const path = splitFieldPath(fieldOf(variable)).flatMap(part => splitIndexes(part))
    const value = lookUp(resource.object, path)
    if (value !== undefined) return value
    const problem = 'not found in corresponding resource'
    throw new KustomizeError(`field specified in var '${showVar(variable, fieldOf(variable))}' ${problem}`)
  }
  const problem = 'cannot be mapped to a field in the set of known resources'
  throw new KustomizeError(`var '${showVar(variable, fieldOf(variable))}' ${problem}`)
}

/** `items[0]` is the first of the items. */
function splitIndexes(part: string): string[] {
  const match = /^([^[\]]+)\[(\d+)\]$/.exec(part)
  return match === null ? [part] : match.slice(1)
}

/** A text that is nothing but a variable becomes its value, of whatever type; `$$` is a dollar sign. */
function expandText(text: string, values: ReadonlyMap<string, JsonValue>, unused: Set<string>): JsonValue {
  let whole: JsonValue | undefined
  let addedCharacters = 0
  const expanded = text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) => {
    if (name === undefined) return '$'
    const value = values.get(name)
    // Lists and maps are no values of variables.
    if (value === undefined || value === null || typeof value === 'object') return match
    unused.delete(name)
    if (match === text) whole = value
    const shown = textOf(value)
    addedCharacters += shown.length
    if (addedCharacters > expandedCharactersMax) {
      throw new KustomizeError(
        `the values of variables in a text have more than ${expandedCharactersMax} characters`,
      )
    }
    return shown
  })
  return whole ?? expanded
}
