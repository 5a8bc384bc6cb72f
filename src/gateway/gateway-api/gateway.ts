import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  addressType,
  ageColumn,
  annotations,
  categories,
  conditions,
  gatewayGroup,
  groupName,
  groupWithDefault,
  hostname,
  initialConditions,
  isAddressOfItsType,
  kindName,
  namespaceName,
  objectName,
  pendingConditions,
  portNumber,
  secretReference,
  sectionName,
  subdomain,
} from './fields.ts'

const namespaceSelector = s.optional(
  s.object(
    {
      matchLabels: s.optional(s.map(s.string())),
      matchExpressions: s.optional(
        s.array(
          s.object({
            key: s.string(),
            operator: s.string(),
            values: s.optional(s.array(s.string(), { listType: 'atomic' })),
          }),
          { listType: 'atomic' },
        ),
      ),
    },
    { mapType: 'atomic' },
  ),
)

const routeKind = s.object({ group: s.string(groupWithDefault), kind: kindName })

const routeKinds = s.optional(s.array(routeKind, { maxItems: 8, listType: 'atomic' }))

const allowedRoutes = s.object(
  {
    namespaces: s.object(
      {
        from: s.string({ enum: ['All', 'Selector', 'Same'], default: 'Same' }),
        selector: namespaceSelector,
      },
      { default: { from: 'Same' } },
    ),
    kinds: routeKinds,
  },
  { default: { namespaces: { from: 'Same' } } },
)

const protocol = s.string({
  minLength: 1,
  maxLength: 255,
  pattern: `^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|${subdomain}\\/[A-Za-z0-9]+$`,
})

const optionMap = s.optional(s.map(s.string({ minLength: 0, maxLength: 4_096 }), { maxProperties: 16 }))

const listenerTls = s.object(
  {
    mode: s.string({ enum: ['Terminate', 'Passthrough'], default: 'Terminate' }),
    certificateRefs: s.optional(s.array(secretReference, { maxItems: 64, listType: 'atomic' })),
    options: optionMap,
  },
  {
    validations: [
      {
        rule: "self.mode != 'Terminate' || size(self.certificateRefs) > 0 || size(self.options) > 0",
        message: 'mode Terminate needs certificateRefs or options',
      },
    ],
  },
)

const listener = s.object({
  name: sectionName,
  hostname: s.optional(hostname),
  port: portNumber,
  protocol,
  tls: s.optional(listenerTls),
  allowedRoutes,
})

const sameHostname =
  '(has(a.hostname) && has(b.hostname) ? a.hostname == b.hostname : !has(a.hostname) && !has(b.hostname))'

const sameSocket = 'a.port == b.port && a.protocol == b.protocol'

const listeners = s.array(listener, {
  minItems: 1,
  maxItems: 64,
  listType: 'map',
  listMapKeys: ['name'],
  validations: [
    {
      rule: "self.all(l, !(l.protocol in ['HTTP', 'TCP', 'UDP']) || !has(l.tls))",
      message: 'listeners of protocol HTTP, TCP or UDP cannot have tls',
    },
    {
      rule: "self.all(l, l.protocol != 'HTTPS' || !has(l.tls) || l.tls.mode in ['', 'Terminate'])",
      message: 'the tls mode of listeners of protocol HTTPS must be Terminate',
    },
    {
      rule: "self.all(l, l.protocol != 'TLS' || (has(l.tls) && has(l.tls.mode) && l.tls.mode != ''))",
      message: 'listeners of protocol TLS must have a tls mode',
    },
    {
      rule: "self.all(l, !(l.protocol in ['TCP', 'UDP']) || !has(l.hostname) || l.hostname == '')",
      message: 'listeners of protocol TCP or UDP cannot have a hostname',
    },
    {
      rule: 'self.all(a, self.exists_one(b, a.name == b.name))',
      message: 'names of listeners must be unique within the Gateway',
    },
    {
      rule: `self.all(a, self.exists_one(b, ${sameSocket} && ${sameHostname}))`,
      message: 'port, protocol and hostname together must be unique for each listener',
    },
  ],
})

/** Go's raw strings of CEL keep backslashes. */
const wildcardSubdomain = String.raw`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

const isHostname = `self.value.matches(r"""${wildcardSubdomain}""")`

const specAddress = s.object(
  { type: s.string(addressType), value: s.optional(s.string({ maxLength: 253 })) },
  {
    oneOf: isAddressOfItsType,
    validations: [
      {
        rule: `self.type != 'Hostname' || !has(self.value) || ${isHostname}`,
        message: 'the value of a Hostname must be empty or a DNS name',
      },
    ],
  },
)

const addresses = s.optional(
  s.array(specAddress, {
    maxItems: 16,
    listType: 'atomic',
    validations: ['IPAddress', 'Hostname'].map(type => ({
      rule:
        `self.all(a, a.type != '${type}' || !has(a.value) || ` +
        'self.exists_one(b, b.type == a.type && has(b.value) && b.value == a.value))',
      message: `values of type ${type} must be unique`,
    })),
  }),
)

/** Keys of labels and annotations that the generated objects get. */
function isQualifiedKey(kind: string) {
  const name = String.raw`([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]`
  const prefix = String.raw`([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?`
  return [
    {
      rule: `self.all(key, key.matches(r"""^${prefix}${name}$"""))`,
      message: `keys of ${kind}s must be qualified names: an optional DNS subdomain, and up to 63 characters`,
    },
    {
      rule: 'self.all(key, key.split("/")[0].size() < 253)',
      message: `the prefix of a ${kind} key can have up to 253 characters`,
    },
  ]
}

const infrastructure = s.object({
  labels: s.optional(
    s.map(
      s.string({
        minLength: 0,
        maxLength: 63,
        pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
      }),
      { maxProperties: 8, validations: isQualifiedKey('label') },
    ),
  ),
  annotations: s.optional(
    s.map(s.string({ minLength: 0, maxLength: 4_096 }), {
      maxProperties: 16,
      validations: isQualifiedKey('annotation'),
    }),
  ),
  parametersRef: s.optional(s.object({ group: groupName, kind: kindName, name: objectName })),
})

const clientValidation = s.optional(
  s.object({
    caCertificateRefs: s.array(
      s.object({
        group: groupName,
        kind: kindName,
        name: objectName,
        namespace: s.optional(namespaceName),
      }),
      { minItems: 1, maxItems: 16, listType: 'atomic' },
    ),
    mode: s.string({ enum: ['AllowValidOnly', 'AllowInsecureFallback'], default: 'AllowValidOnly' }),
  }),
)

const gatewayTls = s.object({
  backend: s.optional(s.object({ clientCertificateRef: s.optional(secretReference) })),
  frontend: s.optional(
    s.object({
      default: s.object({ validation: clientValidation }),
      perPort: s.optional(
        s.array(s.object({ port: portNumber, tls: s.object({ validation: clientValidation }) }), {
          maxItems: 64,
          listType: 'map',
          listMapKeys: ['port'],
          validations: [
            {
              rule: 'self.all(a, self.exists_one(b, a.port == b.port))',
              message: 'each port can have one TLS configuration',
            },
          ],
        }),
      ),
    }),
  ),
})

const allowedListeners = s.object({
  namespaces: s.object(
    {
      from: s.string({ enum: ['All', 'Selector', 'Same', 'None'], default: 'None' }),
      selector: namespaceSelector,
    },
    { default: { from: 'None' } },
  ),
})

const statusAddress = s.object(
  { type: s.string(addressType), value: s.string({ minLength: 1, maxLength: 253 }) },
  {
    oneOf: isAddressOfItsType,
    validations: [
      {
        rule: `self.type != 'Hostname' || ${isHostname}`,
        message: 'the value of a Hostname must be a DNS name',
      },
    ],
  },
)

const pending = pendingConditions('Accepted', 'Programmed')

const version = {
  subresources: { status: {} },
  additionalPrinterColumns: [
    { name: 'Class', type: 'string', jsonPath: '.spec.gatewayClassName' },
    { name: 'Address', type: 'string', jsonPath: '.status.addresses[*].value' },
    { name: 'Programmed', type: 'string', jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
    ageColumn,
  ],
  schema: s.object(
    {
      spec: s.object({
        gatewayClassName: objectName,
        listeners,
        addresses,
        infrastructure: s.optional(infrastructure),
        tls: s.optional(gatewayTls),
        allowedListeners: s.optional(allowedListeners),
      }),
      status: s.object(
        {
          addresses: s.optional(s.array(statusAddress, { maxItems: 16, listType: 'atomic' })),
          conditions: initialConditions(pending),
          listeners: s.optional(
            s.array(
              s.object({
                name: sectionName,
                supportedKinds: s.optional(s.array(routeKind, { maxItems: 8, listType: 'atomic' })),
                attachedRoutes: s.integer(),
                conditions,
              }),
              { maxItems: 64, listType: 'map', listMapKeys: ['name'] },
            ),
          ),
          attachedListenerSets: s.optional(s.integer()),
        },
        { default: { conditions: pending } },
      ),
    },
    { description: 'An address with listeners, to which routes attach.' },
  ),
} as const

export const gateways = defineCustomResource({
  group: gatewayGroup,
  names: { kind: 'Gateway', plural: 'gateways', shortNames: ['gtw'], categories: [...categories] },
  scope: 'Namespaced',
  annotations,
  versions: { v1: { ...version, storage: true }, v1beta1: { ...version } },
})

export type Gateway = InferDefaulted<typeof gateways>
