/** The objects of the benchmark: definitions, custom objects and ConfigMaps of the same size. */

const text = { type: 'string' }

function object(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more }
}

/** A schema as operators have it: limits, patterns, defaults, lists with keys and a rule. */
const certificateSchema = object({
  spec: object(
    {
      commonName: { ...text, maxLength: 64, pattern: '^[a-z0-9.-]+$' },
      dnsNames: { 'type': 'array', 'items': { ...text, maxLength: 253 }, 'x-kubernetes-list-type': 'set' },
      durationHours: { type: 'integer', minimum: 1, maximum: 100_000, default: 2160 },
      isCA: { type: 'boolean', default: false },
      issuerRef: object(
        { name: text, kind: { ...text, enum: ['Issuer', 'ClusterIssuer'] } },
        { required: ['name'] },
      ),
      usages: { type: 'array', maxItems: 20, items: text },
      outputs: {
        'type': 'array',
        'items': object(
          { name: text, format: { ...text, default: 'PEM' }, secretName: text },
          { required: ['name'] },
        ),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    },
    {
      'required': ['commonName', 'issuerRef'],
      'x-kubernetes-validations': [{ rule: '!self.isCA || self.durationHours > 24' }],
    },
  ),
  status: object({ phase: text }),
})

export const certificateDefinition: object = definition('certificates', {
  group: 'certificates.example.com',
  kind: 'Certificate',
  scope: 'Namespaced',
  schema: certificateSchema,
})

/** A definition of its own group. */
export function definitionOf(number: number): object {
  const options = {
    group: `group${number}.example.com`,
    kind: 'Widget',
    scope: 'Cluster',
    schema: widgetSchema,
  }
  return definition('widgets', options)
}

/** About 200 fields with descriptions. */
const widgetSchema = object({
  spec: object(
    Object.fromEntries(
      Array.from({ length: 20 }, (_, section) => [
        `section${section}`,
        object(
          Object.fromEntries(
            Array.from({ length: 10 }, (_each, field) => [
              `field${field}`,
              {
                ...text,
                maxLength: 100,
                description: `Field ${field} of section ${section}, as documented.`,
              },
            ]),
          ),
          { 'x-kubernetes-validations': [{ rule: 'has(self.field0) || !has(self.field1)' }] },
        ),
      ]),
    ),
  ),
  status: object({ phase: text }),
})

interface DefinitionOptions {
  readonly group: string
  readonly kind: string
  readonly scope: string
  readonly schema: object
}

function definition(plural: string, { group, kind, scope, schema }: DefinitionOptions): object {
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: 'Phase', type: 'string', jsonPath: '.status.phase' }],
        },
      ],
    },
  }
}

export function certificateJson(number: number): string {
  return JSON.stringify({
    kind: 'Certificate',
    apiVersion: 'certificates.example.com/v1',
    metadata: { name: `object-${number}`, labels },
    spec: certificateSpec(number),
  })
}

/** With as many fields as a certificate, and with `padding` to make it as large. */
export function configMapJson(number: number, padding: number): string {
  const data = Object.fromEntries(
    Array.from({ length: leavesOf(certificateSpec(number)) }, (_, index) => [`setting${index}`, `v${index}`]),
  )
  return JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: `object-${number}`, labels },
    data: { ...data, padding: 'x'.repeat(padding) },
  })
}

function leavesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + leavesOf(each), 0)
}

const labels = { app: 'web', team: 'platform' }

function certificateSpec(number: number): object {
  return {
    commonName: `service-${number}.example.com`,
    dnsNames: Array.from({ length: 4 }, (_, index) => `name-${index}.service-${number}.example.com`),
    durationHours: 720,
    isCA: false,
    issuerRef: { name: 'internal', kind: 'ClusterIssuer' },
    usages: ['digital signature', 'key encipherment', 'server auth'],
    outputs: [
      { name: 'tls', format: 'PEM', secretName: `service-${number}-tls` },
      { name: 'keystore', format: 'PKCS12', secretName: `service-${number}-keystore` },
    ],
  }
}
