/**
 * The NodeMetrics and PodMetrics resources:
 * https://kubernetes.io/docs/reference/external-api/metrics.v1beta1/
 */
import { nameColumn, nameOf } from '#/api/columns.ts'
import { structDefinition } from '#/api/definitions.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Field, Schema, StructSchema } from '#/api/schema.ts'
import type { Column, KindColumns } from '#/api/table-columns.ts'

export interface NodeMetrics extends KubernetesObject {
  readonly timestamp: string
  readonly window: string
  readonly usage: Usage
}

export interface PodMetrics extends KubernetesObject {
  readonly timestamp: string
  readonly window: string
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[]
}

export interface Usage {
  readonly cpu: string
  readonly memory: string
}

const group = { group: 'metrics.k8s.io', version: 'v1beta1' }

const text: Schema = { type: 'string' }
const usage: Schema = { type: 'map', values: { type: 'quantity' }, atomic: false }
const span = {
  timestamp: required({ type: 'string', format: 'date-time' }),
  window: required(text),
}

export const nodeMetrics: Resource<NodeMetrics> = {
  ...group,
  kind: 'NodeMetrics',
  listKind: 'NodeMetricsList',
  plural: 'nodes',
  singular: 'nodemetrics',
  scope: 'Cluster',
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  schema: objectSchema({ ...span, usage: required(usage) }),
  subresources: new Map(),
  storage: group,
  columns: columnsFor<NodeMetrics>(({ usage: used }) => [used]),
}

export const podMetrics: Resource<PodMetrics> = {
  ...group,
  kind: 'PodMetrics',
  listKind: 'PodMetricsList',
  plural: 'pods',
  singular: 'podmetrics',
  scope: 'Namespaced',
  shortNames: [],
  categories: [],
  verbs: ['get', 'list'],
  schema: objectSchema({
    ...span,
    containers: required({
      type: 'list',
      listType: 'atomic',
      keys: [],
      items: structOf({ name: required(text), usage: required(usage) }),
    }),
  }),
  subresources: new Map(),
  storage: group,
  columns: columnsFor<PodMetrics>(({ containers }) => containers.map(container => container.usage)),
}

function objectSchema(fields: Readonly<Record<string, Field>>): StructSchema {
  const metadata: Field = { schema: structDefinition('meta.v1.ObjectMeta'), required: false }
  const type: Field = { schema: text, required: false }
  return structOf({ apiVersion: type, kind: type, metadata, ...fields })
}

function structOf(fields: Readonly<Record<string, Field>>): StructSchema {
  return {
    type: 'struct',
    name: '',
    fields: new Map(Object.entries(fields)),
    atomic: false,
    preserveUnknownFields: false,
  }
}

function required(schema: Schema): Field {
  return { schema, required: true }
}

function columnsFor<T extends NodeMetrics | PodMetrics>(
  usages: (object: T) => readonly Usage[],
): KindColumns<T> {
  const sum = (object: T, pattern: RegExp, read: (used: Usage) => string): number =>
    usages(object).reduce((total, used) => total + Number(read(used).replace(pattern, '')), 0)
  return {
    columns: [nameColumn, column('cpu'), column('memory'), column('window')],
    cells: object => [
      nameOf(object),
      `${sum(object, /n$/, ({ cpu }) => cpu)}n`,
      `${sum(object, /Ki$/, ({ memory }) => memory)}Ki`,
      object.window,
    ],
  }
}

function column(name: string): Column {
  return { name, type: 'string', format: '', description: '', priority: 0 }
}
