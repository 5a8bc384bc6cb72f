/** Label and field selectors of a request. */
import { badRequest } from '#/api/errors.ts'
import { everyField, parseFieldSelector, type FieldSelector } from '#/api/selectors/field-selector.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { everything, type Selector } from '#/api/selectors/selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import { isConvertedOnRead } from '../registry/convert-objects.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import type { FieldValue } from '../registry/subscribers.ts'
import type { RequestScope } from './request-scope.ts'

export interface Selection {
  /** True if there are no selectors. */
  readonly isAll: boolean
  /** The metadata.name required by the field selector, if any. */
  readonly name: string | undefined
  readonly namespace: string | undefined
  /** A required value of a kind-specific field, for subscription by index. */
  readonly indexedField: FieldValue | undefined
  matches(object: StoredObject): boolean
}

export function readSelection({ context, resource }: RequestScope): Selection {
  const { query } = context.request
  const labels = parse(query.get('labelSelector') ?? '', parseSelector, everything)
  const fields = parse(query.get('fieldSelector') ?? '', parseFieldSelector, everyField)
  const selectable = (resource.rules?.selectableFields ?? {}) as Readonly<Record<string, FieldGetter>>
  for (const { field } of fields.requirements) checkField(field, selectable, resource.scope === 'Namespaced')
  const selectors: Selectors = { labels, fields, selectable }
  return {
    isAll: labels.isEmpty && fields.isEmpty,
    name: fields.requiresExact('metadata.name'),
    namespace: fields.requiresExact('metadata.namespace'),
    // The index is over stored objects.
    indexedField: isConvertedOnRead(resource) ? undefined : fieldValue(fields, selectable),
    matches: stored => matchesBoth(stored.object, selectors),
  }
}

type FieldGetter = FieldValue['field']

function fieldValue(
  fields: FieldSelector,
  selectable: Readonly<Record<string, FieldGetter>>,
): FieldValue | undefined {
  for (const { field: name } of fields.requirements) {
    const field = selectable[name]
    const value = fields.requiresExact(name)
    if (field !== undefined && value !== undefined) return { field, value }
  }
  return undefined
}

interface Selectors {
  readonly labels: Selector
  readonly fields: FieldSelector
  readonly selectable: Readonly<Record<string, FieldGetter>>
}

function matchesBoth(object: KubernetesObject, { labels, fields, selectable }: Selectors): boolean {
  if (!labels.matches(object.metadata.labels)) return false
  return (
    fields.isEmpty ||
    fields.matches(field => {
      if (field === 'metadata.name') return object.metadata.name
      if (field === 'metadata.namespace') return object.metadata.namespace
      return selectable[field]?.(object)
    })
  )
}

function checkField(
  field: string,
  selectable: Readonly<Record<string, FieldGetter>>,
  isNamespaced: boolean,
): void {
  if (field === 'metadata.name' || (field === 'metadata.namespace' && isNamespaced)) return
  if (Object.hasOwn(selectable, field)) return
  throw badRequest(`field label not supported: ${field.slice(0, 200)}`)
}

function parse<T>(text: string, parser: (text: string) => T, empty: T): T {
  if (text === '') return empty
  try {
    return parser(text)
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    throw badRequest(error.message)
  }
}
