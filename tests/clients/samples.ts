/**
 * A sample object of every kind that clients can store, small but not minimal: the required fields, and some
 * field of each type (lists, maps, quantities, IntOrString ports). Namespaced samples are meant for the
 * namespace `samples`, but do not set it.
 */
import { conditionOf, type Condition } from '#/api/conditions.ts'

export interface Sample {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly [field: string]: unknown
}

const container = {
  name: 'main',
  image: 'busybox:1.36',
  ports: [{ name: 'http', containerPort: 80 }],
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '1Gi' } },
  livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
}
const podSpec = { containers: [container], nodeSelector: { disk: 'fast' } }
const labels = { app: 'sample' }
const template = { metadata: { labels }, spec: podSpec }
const endingTemplate = { spec: { ...podSpec, restartPolicy: 'Never' } }
const selector = { matchLabels: labels }
const scaleTargetRef = { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }
const regarding = { kind: 'Pod', namespace: 'samples', name: 'x' }
const match = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
}
const webhook = {
  name: 'sample.example.com',
  clientConfig: { url: 'https://example.com/hook' },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  // Matches no object of other tests.
  namespaceSelector: { matchLabels: { sample: 'nowhere' } },
}
/** Created with openssl, for the common name `sample`. */
const certificateRequest = Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----
MIHKMHMCAQAwETEPMA0GA1UEAwwGc2FtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEthk9eOo7+IFoBJJLUP8sE1sRDLUKeX48ZDBmBhU+kbaPlhpxnJNXATfN
zO7p6u3KkmVa/8teECoxt3SaIzfXKaAAMAoGCCqGSM49BAMCA0cAMEQCIAhsCbK6
3uQgLz2VDZhSvjKDi0ZQplObwCDRKo+Cbs5UAiAS95KiEec+ChnIDeAbNSuXo32F
7PoXDhEH2HfeEUgAig==
-----END CERTIFICATE REQUEST-----
`).toString('base64')
const hostname = { key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }
const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } }

export const samples: readonly Sample[] = [
  sample('v1', 'ConfigMap', { data: { colour: 'blue' }, binaryData: { bytes: 'AAEC' } }),
  sample('v1', 'Endpoints', { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] }),
  sample('v1', 'Event', { involvedObject: regarding, reason: 'Seen', message: 'it was there', count: 2 }),
  sample('v1', 'LimitRange', {
    spec: { limits: [{ type: 'Container', default: { cpu: '1' }, max: { cpu: '2' } }] },
  }),
  sample('v1', 'Namespace', {}),
  sample('v1', 'Node', {
    spec: { podCIDR: '10.244.1.0/24', taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] },
  }),
  sample('v1', 'PersistentVolume', {
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path: '/mnt' },
      nodeAffinity,
    },
  }),
  sample('v1', 'PersistentVolumeClaim', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  sample('v1', 'Pod', { spec: { ...podSpec, schedulerName: 'none' } }),
  sample('v1', 'PodTemplate', { template }),
  sample('v1', 'ReplicationController', { spec: { replicas: 0, selector: labels, template } }),
  sample('v1', 'ResourceQuota', { spec: { hard: { 'pods': '100', 'requests.cpu': '400' } } }),
  sample('v1', 'Secret', { type: 'Opaque', data: { word: 'aHVzaA==' } }),
  sample('v1', 'Service', { spec: { selector: labels, ports: [{ port: 80, targetPort: 'http' }] } }),
  sample('v1', 'ServiceAccount', { imagePullSecrets: [{ name: 'registry' }] }),
  sample('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy', {
    spec: {
      matchConstraints: match,
      reinvocationPolicy: 'Never',
      mutations: [
        { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/x"}]' } },
      ],
    },
  }),
  sample('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicyBinding', {
    spec: { policyName: 'nowhere' },
  }),
  sample('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', { webhooks: [webhook] }),
  sample('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', {
    spec: { matchConstraints: match, validations: [{ expression: 'true', message: 'never' }] },
  }),
  sample('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding', {
    spec: { policyName: 'nowhere', validationActions: ['Deny'] },
  }),
  sample('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', { webhooks: [webhook] }),
  sample('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
    metadata: { name: 'samples.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'samples', kind: 'Sample' },
      scope: 'Namespaced',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  }),
  sample('apiregistration.k8s.io/v1', 'APIService', {
    metadata: { name: 'v1.sample.example.com' },
    spec: {
      group: 'sample.example.com',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { namespace: 'nowhere', name: 'sample' },
    },
  }),
  sample('apps/v1', 'ControllerRevision', { revision: 1, data: { any: ['thing'] } }),
  sample('apps/v1', 'DaemonSet', { spec: { selector, template } }),
  sample('apps/v1', 'Deployment', { spec: { replicas: 0, selector, template } }),
  sample('apps/v1', 'ReplicaSet', { spec: { replicas: 0, selector, template } }),
  sample('apps/v1', 'StatefulSet', { spec: { replicas: 0, serviceName: 'sample', selector, template } }),
  sample('autoscaling/v1', 'HorizontalPodAutoscaler', {
    metadata: { name: 'sample-v1' },
    spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 50, scaleTargetRef },
  }),
  sample('autoscaling/v2', 'HorizontalPodAutoscaler', {
    spec: {
      maxReplicas: 3,
      scaleTargetRef,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
        },
      ],
    },
  }),
  sample('batch/v1', 'CronJob', {
    spec: { schedule: '0 3 * * *', suspend: true, jobTemplate: { spec: { template: endingTemplate } } },
  }),
  sample('batch/v1', 'Job', { spec: { suspend: true, template: endingTemplate } }),
  sample('certificates.k8s.io/v1', 'CertificateSigningRequest', {
    spec: {
      request: certificateRequest,
      signerName: 'example.com/signer',
      usages: ['client auth'],
      expirationSeconds: 3_600,
    },
  }),
  sample('coordination.k8s.io/v1', 'Lease', {
    spec: { holderIdentity: 'me', leaseDurationSeconds: 15, leaseTransitions: 2 },
  }),
  sample('discovery.k8s.io/v1', 'EndpointSlice', {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  }),
  sample('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', {
    spec: {
      priorityLevelConfiguration: { name: 'workload-low' },
      matchingPrecedence: 9_000,
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'nobody' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] }],
        },
      ],
    },
  }),
  sample('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', {
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  }),
  sample('networking.k8s.io/v1', 'IngressClass', { spec: { controller: 'example.com/ingress' } }),
  sample('networking.k8s.io/v1', 'Ingress', {
    spec: {
      defaultBackend: { service: { name: 'x', port: { number: 80 } } },
      rules: [{ host: 'sample.example.com' }],
    },
  }),
  sample('networking.k8s.io/v1', 'IPAddress', {
    metadata: { name: '10.96.200.200' },
    spec: { parentRef: { group: '', resource: 'services', namespace: 'nowhere', name: 'sample' } },
  }),
  sample('networking.k8s.io/v1', 'NetworkPolicy', {
    spec: {
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 80 }, { port: 'http' }] }],
    },
  }),
  sample('networking.k8s.io/v1', 'ServiceCIDR', { spec: { cidrs: ['10.200.0.0/16'] } }),
  sample('node.k8s.io/v1', 'RuntimeClass', {
    handler: 'sandbox',
    overhead: { podFixed: { memory: '64Mi' } },
  }),
  sample('policy/v1', 'PodDisruptionBudget', {
    spec: { minAvailable: '50%', selector: { matchLabels: { app: 'none' } } },
  }),
  sample('rbac.authorization.k8s.io/v1', 'ClusterRole', {
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
  }),
  sample('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sample' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'nobody' }],
  }),
  sample('rbac.authorization.k8s.io/v1', 'Role', {
    rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['*'] }],
  }),
  sample('rbac.authorization.k8s.io/v1', 'RoleBinding', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'sample' },
    subjects: [{ kind: 'ServiceAccount', name: 'sample', namespace: 'nowhere' }],
  }),
  sample('resource.k8s.io/v1', 'DeviceClass', {
    spec: { selectors: [{ cel: { expression: 'device.driver == "x.example.com"' } }] },
  }),
  sample('resource.k8s.io/v1', 'ResourceClaim', {
    spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'sample' } }] } },
  }),
  sample('resource.k8s.io/v1', 'ResourceClaimTemplate', {
    spec: {
      spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'sample', count: 2 } }] } },
    },
  }),
  sample('resource.k8s.io/v1', 'ResourceSlice', {
    spec: {
      driver: 'x.example.com',
      nodeName: 'n1',
      pool: { name: 'pool', generation: 1, resourceSliceCount: 1 },
      devices: [
        {
          name: 'd1',
          attributes: { model: { string: 'a' }, fast: { bool: true } },
          capacity: { memory: { value: '1Gi' } },
        },
      ],
    },
  }),
  sample('scheduling.k8s.io/v1', 'PriorityClass', { value: 1_000, description: 'goes first' }),
  sample('storage.k8s.io/v1', 'CSIDriver', { spec: { attachRequired: false } }),
  sample('storage.k8s.io/v1', 'CSINode', {
    spec: { drivers: [{ name: 'd.example.com', nodeID: 'n1', topologyKeys: ['zone'] }] },
  }),
  sample('storage.k8s.io/v1', 'CSIStorageCapacity', { storageClassName: 'sample', capacity: '10Gi' }),
  sample('storage.k8s.io/v1', 'StorageClass', { provisioner: 'd.example.com', parameters: { type: 'fast' } }),
  sample('storage.k8s.io/v1', 'VolumeAttachment', {
    spec: { attacher: 'd.example.com', nodeName: 'n1', source: { persistentVolumeName: 'sample' } },
  }),
  sample('storage.k8s.io/v1', 'VolumeAttributesClass', {
    driverName: 'd.example.com',
    parameters: { iops: '100' },
  }),
  sample('events.k8s.io/v1', 'Event', {
    metadata: { name: 'sample-v1' },
    eventTime: '2026-01-01T00:00:00.000001Z',
    action: 'Looking',
    reason: 'Seen',
    reportingController: 'example.com/eyes',
    reportingInstance: 'e1',
    type: 'Normal',
    regarding,
  }),
]

function sample(apiVersion: string, kind: string, rest: Partial<Sample>): Sample {
  return { apiVersion, kind, metadata: { name: 'sample' }, ...rest }
}

/** Kinds whose status the API server itself writes, and the condition that it sets last in the samples. */
const statusConditions: ReadonlyMap<string, Condition> = new Map([
  ['APIService', { type: 'Available', status: 'False' }],
  ['FlowSchema', { type: 'Dangling', status: 'False' }],
  ['CustomResourceDefinition', { type: 'Established', status: 'True' }],
  ['FlowSchema', { type: 'Dangling', status: 'False' }],
])

export function hasStatusOfServer({ kind }: Sample): boolean {
  return statusConditions.has(kind)
}

/** True if the API server has written the status. */
export function isStatusWritten({ kind }: Sample, object: object): boolean {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } }
  const expected = statusConditions.get(kind)
  return conditionOf(status?.conditions, expected?.type ?? '')?.status === expected?.status
}
