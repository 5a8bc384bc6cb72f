/** Fields that several kinds of the Gateway API have: names, references, status. */
import * as s from '#/custom-resource/schema.ts'

export const gatewayGroup = 'gateway.networking.k8s.io'

/** The release of the API that the definitions implement. */
const bundleVersion = 'v1.6.1'

export const annotations = {
  'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/4530',
  'gateway.networking.k8s.io/bundle-version': bundleVersion,
  'gateway.networking.k8s.io/channel': 'standard',
} as const

export const categories = ['gateway-api'] as const

export const ageColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' } as const

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

/** A DNS subdomain (RFC 1123). */
export const subdomain = `${label}(\\.${label})*`

const kindPattern = '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$'

/** The name of an extension: a domain, a slash and a path. */
const domainPrefixedPath = `${subdomain}\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+`

const group = { maxLength: 253, pattern: `^$|^${subdomain}$` } as const

const kind = { minLength: 1, maxLength: 63, pattern: kindPattern } as const

export const groupName = s.string(group)

export const kindName = s.string(kind)

export const objectName = s.string({ minLength: 1, maxLength: 253 })

export const namespaceName = s.string({ minLength: 1, maxLength: 63, pattern: `^${label}$` })

export const sectionName = s.string({ minLength: 1, maxLength: 253, pattern: `^${subdomain}$` })

export const portNumber = s.integer({ minimum: 1, maximum: 65_535 })

/** May begin with a wildcard label: `*.example.com`. */
export const hostname = s.string({ minLength: 1, maxLength: 253, pattern: `^(\\*\\.)?${subdomain}$` })

export const preciseHostname = s.string({ minLength: 1, maxLength: 253, pattern: `^${subdomain}$` })

export const controllerName = { minLength: 1, maxLength: 253, pattern: `^${domainPrefixedPath}$` } as const

export const addressType = {
  minLength: 1,
  maxLength: 253,
  pattern: `^Hostname|IPAddress|NamedAddress|${domainPrefixedPath}$`,
  default: 'IPAddress',
} as const

/** Only an address of type IPAddress must be one. */
export const isAddressOfItsType = [
  {
    properties: {
      type: { enum: ['IPAddress'] },
      value: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
    },
  },
  { properties: { type: { not: { enum: ['IPAddress'] } } } },
] as const

export const groupWithDefault = { ...group, default: gatewayGroup } as const
export const kindOptions = kind
export const groupOptions = group

/** A Gateway, or a part of it, to which a route attaches. */
export const parentReference = s.object({
  group: s.string(groupWithDefault),
  kind: s.string({ ...kind, default: 'Gateway' }),
  namespace: s.optional(namespaceName),
  name: objectName,
  sectionName: s.optional(sectionName),
  port: s.optional(portNumber),
})

/** A Secret with a certificate. */
export const secretReference = s.object({
  group: s.string({ ...group, default: '' }),
  kind: s.string({ ...kind, default: 'Secret' }),
  name: objectName,
  namespace: s.optional(namespaceName),
})

const conditionType = `^(${subdomain}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`

const condition = s.object({
  type: s.string({ maxLength: 316, pattern: conditionType }),
  status: s.string({ enum: ['True', 'False', 'Unknown'] }),
  observedGeneration: s.optional(s.integer({ format: 'int64', minimum: 0 })),
  lastTransitionTime: s.string({ format: 'date-time' }),
  reason: s.string({ minLength: 1, maxLength: 1_024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
  message: s.string({ maxLength: 32_768 }),
})

const conditionList = { listType: 'map', listMapKeys: ['type'], maxItems: 8 } as const

export const conditions = s.array(condition, conditionList)

export const routeConditions = s.array(condition, { ...conditionList, minItems: 1 })

/** Conditions of an object that its controller has not seen yet. */
export function pendingConditions(...types: readonly string[]): readonly s.InputOf<typeof condition>[] {
  return types.map(type => ({
    type,
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  }))
}

export function initialConditions(pending: readonly s.InputOf<typeof condition>[]) {
  return s.array(condition, { ...conditionList, default: pending })
}

/** The status of every kind of route. */
export const routeStatus = s.optional(
  s.object({
    parents: s.array(
      s.object({
        parentRef: parentReference,
        controllerName: s.string(controllerName),
        conditions: routeConditions,
      }),
      { maxItems: 32, listType: 'atomic' },
    ),
  }),
)
