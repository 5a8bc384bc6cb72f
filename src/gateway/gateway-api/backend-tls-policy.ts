import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  ageColumn,
  annotations,
  categories,
  controllerName,
  gatewayGroup,
  groupName,
  hostname,
  kindName,
  objectName,
  parentReference,
  preciseHostname,
  routeConditions,
  sectionName,
} from './fields.ts'

const sameTarget = 'a.group == b.group && a.kind == b.kind && a.name == b.name'

const noSection = (name: string) => `(!has(${name}.sectionName) || ${name}.sectionName == '')`

const sameSection =
  `(${noSection('a')} && ${noSection('b')} ` +
  '|| has(a.sectionName) && has(b.sectionName) && a.sectionName == b.sectionName)'

const targetRefs = s.array(
  s.object({
    group: groupName,
    kind: kindName,
    name: objectName,
    sectionName: s.optional(sectionName),
  }),
  {
    minItems: 1,
    maxItems: 16,
    listType: 'atomic',
    description: 'The Services of the namespace; the section is the name of a port.',
    validations: [
      {
        rule: `self.all(a, self.all(b, !(${sameTarget}) || ${noSection('a')} == ${noSection('b')}))`,
        message: 'several references to one target must all have a sectionName',
      },
      {
        rule: `self.all(a, self.exists_one(b, ${sameTarget} && ${sameSection}))`,
        message: 'several references to one target must have different sectionNames',
      },
    ],
  },
)

const uriPattern = '^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\\?([^#]*))?(#(.*))?'

const subjectAltName = s.object(
  {
    type: s.string({ enum: ['Hostname', 'URI'] }),
    hostname: s.optional(hostname),
    uri: s.optional(s.string({ minLength: 1, maxLength: 253, pattern: uriPattern })),
  },
  {
    validations: [
      { type: 'Hostname', field: 'hostname' },
      { type: 'URI', field: 'uri' },
    ].map(({ type, field }) => ({
      rule: `(has(self.${field}) && self.${field} != '') == (self.type == '${type}')`,
      message: `${field} must be set for type ${type}, and only for it`,
    })),
  },
)

const hasReferences = 'has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0'
const hasWellKnown = "has(self.wellKnownCACertificates) && self.wellKnownCACertificates != ''"

const validation = s.object(
  {
    hostname: preciseHostname,
    caCertificateRefs: s.optional(
      s.array(s.object({ group: groupName, kind: kindName, name: objectName }), {
        maxItems: 8,
        listType: 'atomic',
      }),
    ),
    wellKnownCACertificates: s.optional(
      s.string({
        minLength: 1,
        maxLength: 253,
        pattern:
          '^(System|([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/' +
          '([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]))$',
      }),
    ),
    subjectAltNames: s.optional(s.array(subjectAltName, { maxItems: 5, listType: 'atomic' })),
  },
  {
    validations: [
      {
        rule: `(${hasReferences}) != (${hasWellKnown})`,
        message: 'either caCertificateRefs or wellKnownCACertificates must be set',
      },
    ],
  },
)

export const backendTlsPolicies = defineCustomResource({
  group: gatewayGroup,
  names: {
    kind: 'BackendTLSPolicy',
    plural: 'backendtlspolicies',
    shortNames: ['btlspolicy'],
    categories: [...categories],
  },
  scope: 'Namespaced',
  annotations,
  versions: {
    v1: {
      subresources: { status: {} },
      additionalPrinterColumns: [ageColumn],
      schema: s.object(
        {
          spec: s.object({
            targetRefs,
            validation,
            options: s.optional(s.map(s.string({ minLength: 0, maxLength: 4_096 }), { maxProperties: 16 })),
          }),
          status: s.optional(
            s.object({
              ancestors: s.array(
                s.object({
                  ancestorRef: parentReference,
                  controllerName: s.string(controllerName),
                  conditions: routeConditions,
                }),
                { maxItems: 16, listType: 'atomic' },
              ),
            }),
          ),
        },
        { description: 'How Gateways connect to the backends of a Service with TLS.' },
      ),
    },
  },
})

export type BackendTLSPolicy = InferDefaulted<typeof backendTlsPolicies>
