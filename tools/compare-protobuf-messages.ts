/** Compares field numbers and types. Names are equal if they differ only in case and punctuation. */
import { definition, definitionNames } from '#/api/definitions.ts'
import { definitionName } from '#/api/kinds/groups.ts'
import { numberedFields, type NumberedField } from '#/api/protobuf/field-numbers.ts'
import type { Schema, StructSchema } from '#/api/schema.ts'

/** By full name, `k8s.io.api.core.v1.Pod`. */
export type Messages = Readonly<Record<string, MessageFacts>>

export type MessageFacts = Readonly<Record<string, FieldFacts>>

type FieldFacts = readonly [number: number, type: string, label?: string]

/** Definitions without a protobuf message. */
const withoutMessage: ReadonlySet<string> = new Set(['version.Info'])

export function compareMessages(reference: Messages): readonly string[] {
  const differences = definitionNames().flatMap(name => {
    const schema = definition(name)
    if (schema.type !== 'struct' || withoutMessage.has(name)) return []
    return compareMessage({ name, schema, reference })
  })
  return [...new Set(differences)].sort()
}

interface Subject {
  /** The short name of the message. */
  readonly name: string
  /** The schema of the objects that contain its fields. */
  readonly schema: StructSchema
  readonly reference: Messages
}

function compareMessage({ name, schema, reference }: Subject): readonly string[] {
  const ours = numberedFields(name)
  const theirs = reference[messageName(definitionName(name))]
  if (!ours || !theirs) return [`${name}: ${ours ? 'should not exist' : 'is missing'}`]
  const known = new Map(Object.entries(theirs).map(([field, facts]) => [facts[0], { field, facts }]))
  const missing = [...known.values()].filter(({ facts }) => !ours.some(each => each.number === facts[0]))
  return [
    ...missing.map(({ field, facts }) => `${name}.${field}: is missing, number ${facts[0]}`),
    ...ours.flatMap(field => {
      const their = known.get(field.number)
      if (!their) return [`${name}.${field.name}: should not have number ${field.number}`]
      if (field.shape === 'embedded') return compareEmbedded({ name, schema, reference }, field, their.facts)
      if (plain(their.field) !== plain(field.name)) {
        return [`${name}.${field.name}: number ${field.number} should be ${their.field}`]
      }
      return compareType({ name, schema, reference }, field, their.facts)
    }),
  ]
}

/**
 * Compares a message with fields that are inlined into its owner's objects; its version may differ from the
 * owner's.
 */
function compareEmbedded(subject: Subject, field: NumberedField, facts: FieldFacts): readonly string[] {
  const [, type] = facts
  const shown = type.slice(type.lastIndexOf('.') + 1)
  if (shown !== field.name) return [`${subject.name}.${field.name}: should be ${shown}`]
  const [group = '', version = ''] = type.split('.').slice(-3)
  const name = `${group}.${version}.${field.name}`
  return compareMessage({ ...subject, name })
}

function compareType(subject: Subject, field: NumberedField, facts: FieldFacts): readonly string[] {
  const { name, schema, reference } = subject
  const found = schema.fields.get(field.name)?.schema
  if (!found) return [`${name}.${field.name}: is not in the schema`]
  const ours = describeType(found, field.shape === 'list-message')
  const theirs = describeFacts(facts, reference)
  return ours === theirs ? [] : [`${name}.${field.name}: is ${ours}, should be ${theirs}`]
}

function describeType(schema: Schema, isMessage = false): string {
  switch (schema.type) {
    case 'struct':
      return messageName(schema.name)
    case 'any':
      return messageName(schema.name ?? '')
    case 'list':
      return `${isMessage ? 'list of' : 'repeated'} ${describeType(schema.items)}`
    case 'map':
      return `map of ${describeType(schema.values, true)}`
    case 'boolean':
      return 'bool'
    case 'integer':
      return schema.format ?? 'int64'
    case 'number':
      return 'double'
    case 'quantity':
      return 'k8s.io.apimachinery.pkg.api.resource.Quantity'
    case 'int-or-string':
      return 'k8s.io.apimachinery.pkg.util.intstr.IntOrString'
    case 'string':
      return stringTypes[schema.format ?? ''] ?? 'string'
  }
}

const stringTypes: Readonly<Record<string, string>> = {
  'byte': 'bytes',
  'date-time': messageName(definitionName('meta.v1.Time')),
  'date-time-micro': messageName(definitionName('meta.v1.MicroTime')),
}

function describeFacts([, type, label]: FieldFacts, reference: Messages): string {
  const values = /^map<string,\.?(.*)>$/.exec(type)?.[1]
  const described = `${values === undefined ? '' : 'map of '}${describeMessage(values ?? type, reference)}`
  return label === 'repeated' ? `repeated ${described}` : described
}

/** A message with only string items represents a list. */
function describeMessage(type: string, reference: Messages): string {
  const { items, ...others } = reference[type] ?? {}
  const isList = items?.[0] === 1 && items[1] === 'string' && Object.keys(others).length === 0
  return isList ? 'list of string' : type
}

/** `k8s.io.api.core.v1.Pod` for `io.k8s.api.core.v1.Pod`. */
function messageName(name: string): string {
  return name.replace(/^io\.k8s\./, 'k8s.io.').replaceAll('-', '_')
}

function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()
}
