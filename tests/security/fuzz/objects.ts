/** The stored objects. Each contains the mark, so that a response with the mark discloses an object. */
import { configMap, pod, secret } from '../users.ts'

export const mark = 'Marked-4711'

/** A secret that only administrators may read. */
export const marked = '/api/v1/namespaces/default/secrets/marked'

function withMark(object: object): object {
  const { metadata = {} } = object as { readonly metadata?: object }
  return { ...object, metadata: { ...metadata, annotations: { mark } } }
}

const named = { metadata: { name: 'marked' } }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } }

/** By collection path. */
export const objects: readonly (readonly [string, object])[] = (
  [
    ['/api/v1/namespaces/default/secrets', secret('marked')],
    ['/api/v1/namespaces/default/configmaps', { ...configMap('marked'), data: { a: 'b' } }],
    ['/api/v1/namespaces/default/serviceaccounts', named],
    ['/api/v1/nodes', named],
    [
      '/api/v1/namespaces/default/pods',
      pod('marked', {
        serviceAccountName: 'marked',
        volumes: [{ name: 'v', emptyDir: {} }],
        tolerations: [{ operator: 'Exists' }],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
            },
          },
        },
      }),
    ],
    [
      '/api/v1/namespaces/default/services',
      { ...named, spec: { selector: { a: 'b' }, ports: [{ port: 80, targetPort: 'http' }] } },
    ],
    [
      '/api/v1/namespaces/default/resourcequotas',
      { ...named, spec: { hard: { 'limits.cpu': '10' }, scopes: ['NotBestEffort'] } },
    ],
    [
      '/api/v1/namespaces/default/limitranges',
      { ...named, spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } },
    ],
    [
      '/api/v1/persistentvolumes',
      {
        ...named,
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
      },
    ],
    [
      '/apis/apps/v1/namespaces/default/deployments',
      { ...named, spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template } },
    ],
    [
      '/apis/batch/v1/namespaces/default/cronjobs',
      {
        ...named,
        spec: {
          schedule: '* * * * *',
          jobTemplate: {
            spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
          },
        },
      },
    ],
    [
      '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
      {
        ...named,
        spec: {
          podSelector: {},
          ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] }],
        },
      },
    ],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      { ...named, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    ],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      {
        ...named,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'marked' },
        subjects: [],
      },
    ],
    [
      '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      { ...named, spec: { holderIdentity: 'x', leaseDurationSeconds: 5 } },
    ],
    [
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
      {
        ...named,
        spec: {
          failurePolicy: 'Ignore',
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: ['example.com'],
                apiVersions: ['v1'],
                operations: ['CREATE'],
                resources: ['widgets'],
              },
            ],
          },
          validations: [{ expression: 'true' }],
        },
      },
    ],
    [
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      {
        metadata: { name: 'widgets.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'widgets', kind: 'Widget' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: {
                    spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } },
                  },
                },
              },
            },
          ],
        },
      },
    ],
  ] as const
).map(([folder, object]) => [folder, withMark(object)])
