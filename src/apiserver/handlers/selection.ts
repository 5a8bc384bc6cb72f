/** Label and field selectors of a request. */
import { badRequest } from '#/api/errors.ts'
import { everyField, parseFieldSelector, type FieldSelector } from '#/api/selectors/field-selector.ts'
import { labelOf } from '#/api/labels.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { everything, type Requirement, type Selector } from '#/api/selectors/selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import { isConvertedOnRead } from '../registry/convert-objects.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import type { ResourceRequestInfo } from '../request-info.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import type { FieldCondition, FieldValue } from '../registry/object-index.ts'
import type { RequestScope } from './request-scope.ts'

export interface Selection {
  /** True if there are no selectors. */
  readonly isAll: boolean
  /** The metadata.name required by the field selector, if any. */
  readonly name: string | undefined
  readonly namespace: string | undefined
  /** Conditions for which indexes help; none for a lookup by name, or if objects are converted when read. */
  readonly conditions: readonly FieldCondition[]
  /** One of the conditions with a single value, for subscriptions. */
  readonly indexedField: FieldValue | undefined
  matches(object: StoredObject): boolean
}

export function readSelection({ context, resource, info }: RequestScope): Selection {
  const { query } = context.request
  const labels = parse(query.get('labelSelector') ?? '', parseSelector, everything)
  const fields = parse(query.get('fieldSelector') ?? '', parseFieldSelector, everyField)
  const { selectableFields = {} } = rulesOf(resource)
  const selectable = selectableFields as Readonly<Record<string, FieldGetter>>
  for (const { field } of fields.requirements) checkField(field, resource)
  const selectors: Selectors = { labels, fields: withName(fields, info), selectable }
  const name = selectors.fields.requiresExact('metadata.name')
  const namespace = fields.requiresExact('metadata.namespace')
  const isLookup = name !== undefined && (resource.scope === 'Cluster' || info.namespace || namespace)
  // Indexes have the stored objects.
  const conditions =
    isLookup || isConvertedOnRead(resource)
      ? []
      : [...fieldConditions(selectors), ...labels.requirements.flatMap(labelCondition)]
  return {
    isAll: labels.isEmpty && selectors.fields.isEmpty,
    name,
    namespace,
    conditions,
    indexedField: singleValue(conditions),
    matches: stored => matchesBoth(stored.object, selectors),
  }
}

type FieldGetter = (object: KubernetesObject) => string

function fieldConditions({ fields, selectable }: Selectors): readonly FieldCondition[] {
  return fields.requirements.flatMap(({ field, operator, value }) => {
    const valueOf = field === 'metadata.name' ? nameOf : selectable[field]
    return operator === '=' && valueOf ? [{ name: `field ${field}`, valueOf, values: [value] }] : []
  })
}

const nameOf = ({ metadata }: KubernetesObject): string => metadata.name ?? ''

function labelCondition({ key, operator, values }: Requirement): readonly FieldCondition[] {
  const condition = { name: `label ${key}`, valueOf: labelGetter(key) }
  if (operator === '=' || operator === '==' || operator === 'in') return [{ ...condition, values }]
  const needsLabel = operator === 'exists' || operator === 'gt' || operator === 'lt'
  return needsLabel ? [{ ...condition, values: undefined }] : []
}

function labelGetter(key: string): FieldCondition['valueOf'] {
  return ({ metadata }) => labelOf(metadata.labels, key)
}

function singleValue(conditions: readonly FieldCondition[]): FieldValue | undefined {
  for (const { name, valueOf, values = [] } of conditions) {
    if (values.length === 1) return { name, valueOf, value: values[0]! }
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

/** The name in the path of a watch selects like a field selector. */
function withName(fields: FieldSelector, { name }: ResourceRequestInfo): FieldSelector {
  if (name === '') return fields
  if (fields.isEmpty) return parseFieldSelector(`metadata.name=${name}`)
  if (fields.requiresExact('metadata.name') === name) return fields
  throw badRequest("fieldSelector metadata.name doesn't match requested name")
}

function checkField(field: string, resource: Resource): void {
  const { selectableFields, unsupportedFieldLabel } = rulesOf(resource)
  const hasOwnFields = selectableFields !== undefined
  const hasNamespace = resource.scope === 'Namespaced' || !hasOwnFields
  if (field === 'metadata.name' || (field === 'metadata.namespace' && hasNamespace)) return
  if (hasOwnFields && Object.hasOwn(selectableFields, field)) return
  const shown = field.slice(0, shownCharactersMax)
  if (unsupportedFieldLabel) throw badRequest(unsupportedFieldLabel(shown))
  throw badRequest(
    hasOwnFields
      ? `field label not supported: ${shown}`
      : `${quote(shown)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  )
}

const shownCharactersMax = 200

function parse<T>(text: string, parser: (text: string) => T, empty: T): T {
  if (text === '') return empty
  try {
    return parser(text)
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    throw badRequest(error.message)
  }
}
