/** Small schemas with the structures of real kinds, for the tests of server-side apply. */
import type { Field, ListSchema, MapSchema, ScalarSchema, Schema, StructSchema } from '../../schema.ts'
import { anySchema } from '../structure.ts'

export const string: ScalarSchema = { type: 'string' }
const integer: ScalarSchema = { type: 'integer', format: 'int32' }
const boolean: ScalarSchema = { type: 'boolean' }

export function struct(
  fields: Readonly<Record<string, Schema | Field>>,
  options?: Partial<StructSchema>,
): StructSchema {
  const entries = Object.entries(fields).map(([name, each]): [string, Field] => {
    return [name, 'schema' in each ? each : { schema: each, required: false }]
  })
  const plain = { type: 'struct', name: '', atomic: false, preserveUnknownFields: false } as const
  return { ...plain, fields: new Map(entries), ...options }
}

/** A struct field that is present even if empty. */
function always(schema: StructSchema): Field {
  return { schema, required: false, default: {} }
}

export function mapOf(values: Schema, atomic = false): MapSchema {
  return { type: 'map', values, atomic }
}

function atomicList(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

export function setOf(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'set', keys: [] }
}

function keyedList(keys: readonly string[], items: Schema): ListSchema {
  return { type: 'list', items, listType: 'map', keys }
}

const metadata = struct({
  name: string,
  namespace: string,
  uid: string,
  resourceVersion: string,
  generation: integer,
  labels: mapOf(string),
  annotations: mapOf(string),
  finalizers: setOf(string),
  managedFields: atomicList(anySchema),
})

const protocol = { schema: string, required: false, default: 'TCP' }
const port = struct({ containerPort: integer, protocol, name: string })
const container = struct({
  name: string,
  image: string,
  args: atomicList(string),
  env: keyedList(['name'], struct({ name: string, value: string })),
  ports: keyedList(['containerPort', 'protocol'], port),
})
const podSpec = struct({
  containers: { schema: keyedList(['name'], container), required: true },
  nodeSelector: mapOf(string, true),
  hostNetwork: boolean,
})

const typeFields = { apiVersion: string, kind: string, metadata: always(metadata) }

/** Like a Deployment: nested structs, an atomic selector, nested keyed lists, a status. */
export const deploymentSchema = struct({
  ...typeFields,
  spec: always(
    struct({
      replicas: integer,
      paused: boolean,
      selector: struct({ matchLabels: mapOf(string) }, { atomic: true }),
      template: always(struct({ metadata: always(metadata), spec: always(podSpec) })),
    }),
  ),
  status: always(
    struct({
      replicas: integer,
      conditions: keyedList(['type'], struct({ type: string, status: string, reason: string })),
    }),
  ),
})

export const configMapSchema = struct({ ...typeFields, data: mapOf(string), immutable: boolean })

/** A custom resource that preserves unknown fields. */
export const customSchema = struct({
  apiVersion: string,
  kind: string,
  metadata: always(metadata),
  spec: struct({ known: string }, { preserveUnknownFields: true }),
  raw: { type: 'any', name: 'io.k8s.apimachinery.pkg.runtime.RawExtension' },
  anything: anySchema,
})
