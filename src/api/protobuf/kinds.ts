/** Looks up the message codec of a kind. Custom kinds have none, since their fields have no numbers. */
import { definitionNames, kindsOf, structDefinition } from '../definitions.ts'
import { parseGroupVersion } from '../group-version.ts'
import { definitionName, groups } from '../kinds/groups.ts'
import type { GroupVersionKind } from '../resource.ts'
import type { Schema, StructSchema } from '../schema.ts'
import type { TypeMeta } from '../decoding/type-meta.ts'
import { structCodec } from './codecs.ts'
import { numberedFields } from './field-numbers.ts'
import type { StructCodec } from './struct-codec.ts'

export function codecOfKind({ apiVersion, kind }: TypeMeta): StructCodec | undefined {
  const key = `${apiVersion}/${kind}`
  const known = codecs.get(key)
  if (known) return known
  const groupVersion = parseGroupVersion(apiVersion)
  const codec = groupVersion && findCodec({ ...groupVersion, kind })
  // Only hits are cached, so that clients cannot fill the memory with unknown names.
  if (codec) codecs.set(key, codec)
  return codec
}

/** Keyed by API version and kind. */
const codecs = new Map<string, StructCodec>()

function findCodec(kind: GroupVersionKind): StructCodec | undefined {
  if (kind.group === 'meta.k8s.io' && partialSchemas.has(kind.kind)) return findPartialCodec(kind)
  const owner = groups.find(group => group.name === kind.group)?.package
  const name = [`${owner}.${kind.version}.${kind.kind}`, `meta.v1.${kind.kind}`].find(
    name => definitions.has(name) && kindsOf(name).some(each => isSame(each, kind)),
  )
  return name === undefined ? undefined : structCodec(name, structDefinition(name))
}

const definitions: ReadonlySet<string> = new Set(definitionNames())

function isSame(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.kind === b.kind && a.version === b.version && a.group === b.group
}

/** PartialObjectMetadata, which is missing from OpenAPI. */
function findPartialCodec({ version, kind }: GroupVersionKind): StructCodec | undefined {
  const schema = partialSchemas.get(kind)
  const name = `meta.${version}.${kind}`
  const isServed = version === 'v1' || version === 'v1beta1'
  return schema && isServed && numberedFields(name) ? structCodec(name, schema) : undefined
}

const partialObject = struct('PartialObjectMetadata', { metadata: structDefinition('meta.v1.ObjectMeta') })
const partialSchemas: ReadonlyMap<string, StructSchema> = new Map([
  ['PartialObjectMetadata', partialObject],
  [
    'PartialObjectMetadataList',
    struct('PartialObjectMetadataList', {
      metadata: structDefinition('meta.v1.ListMeta'),
      items: { type: 'list', items: partialObject, listType: 'atomic', keys: [] },
    }),
  ],
])

function struct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  return {
    type: 'struct',
    name: definitionName(`meta.v1.${name}`),
    fields: new Map(
      Object.entries(fields).map(([field, schema]) => [field, { schema, required: field === 'items' }]),
    ),
    atomic: false,
    preserveUnknownFields: false,
  }
}
