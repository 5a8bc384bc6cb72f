import type { Examples } from './example.ts'

const operations = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
const nowhere = { matchLabels: { compare: 'nowhere' } }
const webhook = {
  name: 'compare.example.com',
  clientConfig: { url: 'https://example.com/hook' },
  rules: [{ ...operations, scope: 'Namespaced' }],
  failurePolicy: 'Ignore',
  matchPolicy: 'Equivalent',
  // Matches no object.
  namespaceSelector: nowhere,
  objectSelector: nowhere,
  sideEffects: 'None',
  timeoutSeconds: 5,
  admissionReviewVersions: ['v1'],
  matchConditions: [{ name: 'never', expression: 'false' }],
}
const matchConstraints = { resourceRules: [operations], namespaceSelector: nowhere }
const jsonPatch = {
  patchType: 'JSONPatch',
  jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/x"}]' },
}
const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
const paramRef = { name: 'one', namespace: 'nowhere', parameterNotFoundAction: 'Deny' }
const service = { namespace: 'nowhere', name: 'none', port: 443 }

const bindingSpec = { policyName: 'nowhere', paramRef, matchResources: { namespaceSelector: nowhere } }

export const extensionExamples: Examples = {
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': {
    minimal: { spec: { matchConstraints, reinvocationPolicy: 'Never', mutations: [jsonPatch] } },
    rich: {
      spec: {
        paramKind,
        matchConstraints,
        failurePolicy: 'Ignore',
        variables: [{ name: 'one', expression: '1' }],
        matchConditions: [{ name: 'never', expression: 'false' }],
        reinvocationPolicy: 'IfNeeded',
        mutations: [
          { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } },
          jsonPatch,
        ],
      },
    },
  },
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': {
    minimal: { spec: { policyName: 'nowhere' } },
    rich: { spec: bindingSpec },
  },
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': {
    minimal: {},
    rich: { webhooks: [{ ...webhook, reinvocationPolicy: 'IfNeeded' }] },
  },
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': {
    minimal: { spec: { matchConstraints, validations: [{ expression: 'true' }] } },
    rich: {
      spec: {
        paramKind,
        matchConstraints,
        failurePolicy: 'Fail',
        variables: [{ name: 'one', expression: '1' }],
        matchConditions: [{ name: 'never', expression: 'false' }],
        validations: [
          { expression: 'variables.one == 1', message: 'never', reason: 'Invalid', messageExpression: '"x"' },
        ],
        auditAnnotations: [{ key: 'one', valueExpression: '"x"' }],
      },
    },
  },
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': {
    minimal: { spec: { policyName: 'nowhere', validationActions: ['Deny'] } },
    rich: { spec: { ...bindingSpec, validationActions: ['Warn', 'Audit'] } },
  },
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': {
    minimal: {},
    rich: { webhooks: [webhook, { ...webhook, name: 'other.example.com', clientConfig: { service } }] },
  },
  'apiextensions.k8s.io/CustomResourceDefinition': {
    minimal: {
      spec: {
        group: 'example.com',
        names: { plural: 'minimals', kind: 'Minimal' },
        scope: 'Cluster',
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    },
    rich: widgetDefinition('riches', 'Rich'),
    nameOf: name => `${pluralOf(name)}.example.com`,
    specOf: name => ({
      names: { plural: pluralOf(name), kind: `Kind${pluralOf(name)}`, shortNames: [`${pluralOf(name)}x`] },
    }),
  },
  'apiregistration.k8s.io/APIService': {
    minimal: {
      spec: {
        group: 'minimal.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service,
      },
    },
    rich: {
      spec: {
        group: 'rich.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service,
      },
    },
    nameOf: name => `v1.${name}.example.com`,
    specOf: name => ({ group: `${name}.example.com` }),
  },
  'flowcontrol.apiserver.k8s.io/FlowSchema': {
    minimal: { spec: { priorityLevelConfiguration: { name: 'workload-low' } } },
    rich: {
      spec: {
        priorityLevelConfiguration: { name: 'workload-low' },
        matchingPrecedence: 9000,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [
              { kind: 'User', user: { name: 'nowhere' } },
              { kind: 'ServiceAccount', serviceAccount: { namespace: 'nowhere', name: 'one' } },
            ],
            resourceRules: [
              { verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'], clusterScope: true },
            ],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
          },
        ],
      },
    },
  },
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': {
    minimal: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
    rich: {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 5,
          lendablePercent: 10,
          borrowingLimitPercent: 50,
          limitResponse: { type: 'Queue', queuing: { queues: 16, handSize: 4, queueLengthLimit: 10 } },
        },
      },
    },
  },
  'compare-servers.example.com/Widget': {
    minimal: {},
    rich: { spec: { size: 'large', count: 3, parts: [{ name: 'a', weight: 1.5 }], settings: { a: 'b' } } },
  },
}

function pluralOf(name: string): string {
  return name.replaceAll('-', '')
}

/** A definition with a structural schema, defaults, rules, columns and both subresources. */
export function widgetDefinition(
  plural: string,
  kind: string,
  group = 'example.com',
): Readonly<Record<string, unknown>> {
  const properties = {
    size: { type: 'string', enum: ['small', 'large'], default: 'small' },
    count: { type: 'integer', minimum: 0, maximum: 10 },
    settings: { type: 'object', additionalProperties: { type: 'string' } },
    parts: {
      'type': 'array',
      'maxItems': 5,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'items': {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', pattern: '^[a-z]+$', maxLength: 9 },
          weight: { type: 'number' },
        },
      },
    },
  }
  const rule = {
    rule: '!has(self.count) || self.count != 7',
    message: 'seven is not allowed',
    fieldPath: '.count',
  }
  const spec = { 'type': 'object', properties, 'x-kubernetes-validations': [rule] }
  const status = { type: 'object', properties: { replicas: { type: 'integer' }, phase: { type: 'string' } } }
  return {
    spec: {
      group,
      names: {
        plural,
        kind,
        singular: kind.toLowerCase(),
        shortNames: [`${kind.toLowerCase().slice(0, 3)}x`],
        categories: ['compare'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.replicas' },
          },
          additionalPrinterColumns: [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }],
          selectableFields: [{ jsonPath: '.spec.size' }],
        },
        {
          name: 'v1beta1',
          served: true,
          storage: false,
          deprecated: true,
          deprecationWarning: 'use v1',
          schema: { openAPIV3Schema: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }
}
