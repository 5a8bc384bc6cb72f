import type { Field, ListSchema, PatchStrategy, Schema, StructSchema } from '../../schema.ts'

/** Minimal hand-written schemas for patch tests, with the merge keys of the real kinds. */
export const text: Schema = { type: 'string' }
export const integer: Schema = { type: 'integer' }
export const any: Schema = { type: 'any' }

export function struct(fields: Record<string, Field | Schema>): StructSchema {
  const entries = Object.entries(fields).map(([name, field]): [string, Field] => {
    return [name, 'schema' in field ? field : { schema: field, required: false }]
  })
  const fieldMap = new Map(entries)
  return { type: 'struct', name: 'Example', fields: fieldMap, atomic: false, preserveUnknownFields: false }
}

export function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

export function map(values: Schema): Schema {
  return { type: 'map', values, atomic: false }
}

export function mergedBy(mergeKey: string, items: Schema, strategy: Partial<PatchStrategy> = {}): Field {
  return field(list(items), { merge: true, mergeKey, ...strategy })
}

export function mergedSet(items: Schema): Field {
  return field(list(items), { merge: true })
}

export function replaced(schema: Schema): Field {
  return field(schema, { replace: true })
}

export function retaining(schema: Schema): Field {
  return field(schema, { retainKeys: true })
}

function field(schema: Schema, strategy: Partial<PatchStrategy>): Field {
  return { schema, required: false, patch: { merge: false, replace: false, retainKeys: false, ...strategy } }
}

const container = struct({
  name: text,
  image: text,
  args: list(text),
  env: mergedBy('name', struct({ name: text, value: text, valueFrom: any })),
  ports: mergedBy('containerPort', struct({ containerPort: integer, name: text, protocol: text })),
  volumeMounts: mergedBy('mountPath', struct({ name: text, mountPath: text, readOnly: { type: 'boolean' } })),
  resources: struct({ limits: map(text), requests: map(text) }),
})

const volume = struct({ name: text, emptyDir: any, configMap: any, secret: any })

const podSpec = struct({
  containers: mergedBy('name', container),
  volumes: mergedBy('name', volume, { retainKeys: true }),
  tolerations: list(struct({ key: text, operator: text, effect: text })),
  imagePullSecrets: mergedBy('name', struct({ name: text })),
  hostAliases: mergedBy('ip', struct({ ip: text, hostnames: list(text) })),
  nodeSelector: map(text),
  securityContext: struct({ runAsUser: integer, sysctls: list(any) }),
})

const metadata = struct({
  name: text,
  labels: map(text),
  annotations: map(text),
  finalizers: mergedSet(text),
  ownerReferences: mergedBy('uid', struct({ uid: text, name: text, controller: { type: 'boolean' } })),
})

const spec = struct({
  replicas: integer,
  paused: { type: 'boolean' },
  strategy: retaining(struct({ type: text, rollingUpdate: struct({ maxSurge: { type: 'int-or-string' } }) })),
  selector: struct({ matchLabels: map(text) }),
  template: struct({ metadata, spec: podSpec }),
  raw: any,
  whole: replaced(struct({ a: integer, b: integer })),
})

/** A simplified deployment. */
export const deployment = struct({ apiVersion: text, kind: text, metadata, spec })

/** The pod of the deployment's template. */
export const pod = struct({ metadata, spec: podSpec })
