import type { Configuration, NameReference } from './configuration.ts'
import type { FieldSpec } from './field-spec.ts'

/** Where the kinds with pods have the pod's spec. */
const podSpecs = {
  Pod: 'spec',
  PodTemplate: 'template/spec',
  Deployment: 'spec/template/spec',
  ReplicaSet: 'spec/template/spec',
  ReplicationController: 'spec/template/spec',
  DaemonSet: 'spec/template/spec',
  StatefulSet: 'spec/template/spec',
  Job: 'spec/template/spec',
  CronJob: 'spec/jobTemplate/spec/template/spec',
} as const

type PodKind = keyof typeof podSpecs

function inPods(kinds: readonly PodKind[], paths: readonly string[]): FieldSpec[] {
  return kinds.flatMap(kind => paths.map(path => ({ path: `${podSpecs[kind]}/${path}`, kind })))
}

const labeledTemplates: readonly FieldSpec[] = [
  { path: 'spec/template/metadata/labels', create: true, version: 'v1', kind: 'ReplicationController' },
  { path: 'spec/template/metadata/labels', create: true, kind: 'Deployment' },
  { path: 'spec/template/metadata/labels', create: true, kind: 'ReplicaSet' },
  { path: 'spec/template/metadata/labels', create: true, kind: 'DaemonSet' },
  { path: 'spec/template/metadata/labels', create: true, group: 'apps', kind: 'StatefulSet' },
  { path: 'spec/volumeClaimTemplates[]/metadata/labels', create: true, group: 'apps', kind: 'StatefulSet' },
  { path: 'spec/template/metadata/labels', create: true, group: 'batch', kind: 'Job' },
  { path: 'spec/jobTemplate/metadata/labels', create: true, group: 'batch', kind: 'CronJob' },
  { path: 'spec/jobTemplate/spec/template/metadata/labels', create: true, group: 'batch', kind: 'CronJob' },
]

const metadataLabels: readonly FieldSpec[] = [{ path: 'metadata/labels', create: true }, ...labeledTemplates]

/** Selectors of the pods of Deployments and StatefulSets in their own pods. */
const spreadSelectors: readonly FieldSpec[] = ['Deployment', 'StatefulSet'].flatMap(kind => {
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm'
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const terms = ['podAffinity', 'podAntiAffinity'].flatMap(affinity => [
    `affinity/${affinity}/${preferred}`,
    `affinity/${affinity}/${required}`,
  ])
  return [...terms, 'topologySpreadConstraints'].map(term => {
    return { path: `spec/template/spec/${term}/labelSelector/matchLabels`, group: 'apps', kind }
  })
})

const selectors: readonly FieldSpec[] = [
  { path: 'spec/selector', create: true, version: 'v1', kind: 'Service' },
  { path: 'spec/selector', create: true, version: 'v1', kind: 'ReplicationController' },
  { path: 'spec/selector/matchLabels', create: true, kind: 'Deployment' },
  { path: 'spec/selector/matchLabels', create: true, kind: 'ReplicaSet' },
  { path: 'spec/selector/matchLabels', create: true, kind: 'DaemonSet' },
  { path: 'spec/selector/matchLabels', create: true, group: 'apps', kind: 'StatefulSet' },
  ...spreadSelectors,
  { path: 'spec/selector/matchLabels', group: 'batch', kind: 'Job' },
  { path: 'spec/jobTemplate/spec/selector/matchLabels', group: 'batch', kind: 'CronJob' },
  { path: 'spec/selector/matchLabels', group: 'policy', kind: 'PodDisruptionBudget' },
  ...['spec/podSelector', 'spec/ingress/from/podSelector', 'spec/egress/to/podSelector'].map(selector => {
    return { path: `${selector}/matchLabels`, group: 'networking.k8s.io', kind: 'NetworkPolicy' }
  }),
]

const annotations: readonly FieldSpec[] = [
  { path: 'metadata/annotations', create: true },
  { path: 'spec/template/metadata/annotations', create: true, version: 'v1', kind: 'ReplicationController' },
  ...['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'].map(kind => {
    return { path: 'spec/template/metadata/annotations', create: true, kind }
  }),
  { path: 'spec/template/metadata/annotations', create: true, group: 'batch', kind: 'Job' },
  { path: 'spec/jobTemplate/metadata/annotations', create: true, group: 'batch', kind: 'CronJob' },
  {
    path: 'spec/jobTemplate/spec/template/metadata/annotations',
    create: true,
    group: 'batch',
    kind: 'CronJob',
  },
]

const podsWithData: readonly PodKind[] = [
  'Pod',
  'PodTemplate',
  'Deployment',
  'ReplicaSet',
  'DaemonSet',
  'StatefulSet',
  'Job',
  'CronJob',
]

const podsWithAccounts: readonly PodKind[] = [
  'Pod',
  'StatefulSet',
  'Deployment',
  'ReplicationController',
  'CronJob',
  'Job',
  'DaemonSet',
]

/** As fields of `podsWithData`; those of a Pod only in version v1. */
function dataReferences(paths: readonly string[]): FieldSpec[] {
  return inPods(podsWithData, paths).map(spec => (spec.kind === 'Pod' ? { ...spec, version: 'v1' } : spec))
}

const scaledKinds = ['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet']

const configMapReferences: NameReference = {
  kind: 'ConfigMap',
  version: 'v1',
  fieldSpecs: [
    ...dataReferences([
      'volumes/configMap/name',
      'containers/env/valueFrom/configMapKeyRef/name',
      'initContainers/env/valueFrom/configMapKeyRef/name',
      'containers/envFrom/configMapRef/name',
      'initContainers/envFrom/configMapRef/name',
      'volumes/projected/sources/configMap/name',
    ]),
    { path: 'spec/configSource/configMap', kind: 'Node' },
    { path: 'rules/resourceNames', kind: 'Role' },
    { path: 'rules/resourceNames', kind: 'ClusterRole' },
    {
      path: 'metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap',
      kind: 'Ingress',
    },
  ],
}

const secretReferences: NameReference = {
  kind: 'Secret',
  version: 'v1',
  fieldSpecs: [
    ...dataReferences([
      'volumes/secret/secretName',
      'containers/env/valueFrom/secretKeyRef/name',
      'initContainers/env/valueFrom/secretKeyRef/name',
      'containers/envFrom/secretRef/name',
      'initContainers/envFrom/secretRef/name',
      'imagePullSecrets/name',
      'volumes/projected/sources/secret/name',
    ]),
    { path: 'spec/tls/secretName', kind: 'Ingress' },
    { path: 'metadata/annotations/ingress.kubernetes.io\\/auth-secret', kind: 'Ingress' },
    { path: 'metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret', kind: 'Ingress' },
    { path: 'metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret', kind: 'Ingress' },
    { path: 'imagePullSecrets/name', kind: 'ServiceAccount' },
    ...['secretName', 'adminSecretName', 'userSecretName', 'secretRef'].map(parameter => {
      return { path: `parameters/${parameter}`, kind: 'StorageClass' }
    }),
    { path: 'rules/resourceNames', kind: 'Role' },
    { path: 'rules/resourceNames', kind: 'ClusterRole' },
    {
      path: 'spec/template/spec/containers/env/valueFrom/secretKeyRef/name',
      kind: 'Service',
      group: 'serving.knative.dev',
      version: 'v1',
    },
    { path: 'spec/azureFile/secretName', kind: 'PersistentVolume' },
  ],
}

const serviceReferences: NameReference = {
  kind: 'Service',
  version: 'v1',
  fieldSpecs: [
    { path: 'spec/serviceName', kind: 'StatefulSet', group: 'apps' },
    { path: 'spec/rules/http/paths/backend/serviceName', kind: 'Ingress' },
    { path: 'spec/backend/serviceName', kind: 'Ingress' },
    { path: 'spec/rules/http/paths/backend/service/name', kind: 'Ingress' },
    { path: 'spec/defaultBackend/service/name', kind: 'Ingress' },
    { path: 'spec/service/name', kind: 'APIService', group: 'apiregistration.k8s.io' },
    ...['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].map(kind => {
      return { path: 'webhooks/clientConfig/service', kind, group: 'admissionregistration.k8s.io' }
    }),
  ],
}

const rbac = 'rbac.authorization.k8s.io'

const nameReference: readonly NameReference[] = [
  ...scaledKinds.map(kind => {
    return { kind, fieldSpecs: [{ path: 'spec/scaleTargetRef/name', kind: 'HorizontalPodAutoscaler' }] }
  }),
  configMapReferences,
  secretReferences,
  serviceReferences,
  { kind: 'Role', group: rbac, fieldSpecs: [{ path: 'roleRef/name', kind: 'RoleBinding', group: rbac }] },
  {
    kind: 'ClusterRole',
    group: rbac,
    fieldSpecs: ['RoleBinding', 'ClusterRoleBinding'].map(kind => {
      return { path: 'roleRef/name', kind, group: rbac }
    }),
  },
  {
    kind: 'ServiceAccount',
    version: 'v1',
    fieldSpecs: [
      { path: 'subjects', kind: 'RoleBinding', group: rbac },
      { path: 'subjects', kind: 'ClusterRoleBinding', group: rbac },
      ...inPods(podsWithAccounts, ['serviceAccountName']),
    ],
  },
  {
    kind: 'PersistentVolumeClaim',
    version: 'v1',
    fieldSpecs: inPods(podsWithAccounts, ['volumes/persistentVolumeClaim/claimName']),
  },
  {
    kind: 'PersistentVolume',
    version: 'v1',
    fieldSpecs: [
      { path: 'spec/volumeName', kind: 'PersistentVolumeClaim' },
      { path: 'rules/resourceNames', kind: 'ClusterRole' },
    ],
  },
  {
    kind: 'StorageClass',
    version: 'v1',
    group: 'storage.k8s.io',
    fieldSpecs: [
      { path: 'spec/storageClassName', kind: 'PersistentVolume' },
      { path: 'spec/storageClassName', kind: 'PersistentVolumeClaim' },
      { path: 'spec/volumeClaimTemplates/spec/storageClassName', kind: 'StatefulSet' },
    ],
  },
  {
    kind: 'PriorityClass',
    version: 'v1',
    group: 'scheduling.k8s.io',
    fieldSpecs: inPods(podsWithAccounts, ['priorityClassName']),
  },
  // The group contains a version and selects nothing, as in kustomize: references to IngressClasses stay.
  {
    kind: 'IngressClass',
    version: 'v1',
    group: 'networking.k8s.io/v1',
    fieldSpecs: [{ path: 'spec/ingressClassName', kind: 'Ingress' }],
  },
  {
    kind: 'ValidatingAdmissionPolicy',
    group: 'admissionregistration.k8s.io',
    fieldSpecs: [
      {
        path: 'spec/policyName',
        kind: 'ValidatingAdmissionPolicyBinding',
        group: 'admissionregistration.k8s.io',
      },
    ],
  },
]

const podsWithVars: readonly PodKind[] = [
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Job',
  'Pod',
  'ReplicaSet',
  'StatefulSet',
]

const varReference: readonly FieldSpec[] = [
  ...inPods(
    podsWithVars,
    ['containers', 'initContainers'].flatMap(list => {
      return ['args', 'command', 'env/value', 'volumeMounts/mountPath'].map(field => `${list}/${field}`)
    }),
  ),
  ...inPods(['DaemonSet', 'Deployment', 'Job', 'Pod', 'ReplicaSet'], ['volumes/nfs/server']),
  { path: 'spec/jobTemplate/spec/template/volumes/nfs/server', kind: 'CronJob' },
  { path: 'spec/template/metadata/annotations', kind: 'Deployment' },
  { path: 'spec/rules/host', kind: 'Ingress' },
  { path: 'spec/tls/hosts', kind: 'Ingress' },
  { path: 'spec/tls/secretName', kind: 'Ingress' },
  { path: 'spec/ports/port', kind: 'Service' },
  { path: 'spec/ports/targetPort', kind: 'Service' },
  { path: 'spec/volumeClaimTemplates/spec/nfs/server', kind: 'StatefulSet' },
  { path: 'spec/nfs/server', kind: 'PersistentVolume' },
  { path: 'metadata/labels' },
  { path: 'metadata/annotations' },
]

const namespace: readonly FieldSpec[] = [
  { path: 'metadata/name', kind: 'Namespace', create: true },
  { path: 'spec/service/namespace', group: 'apiregistration.k8s.io', kind: 'APIService', create: true },
  {
    path: 'spec/conversion/webhook/clientConfig/service/namespace',
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
  },
]

const images: readonly FieldSpec[] = ['spec', 'spec/template/spec'].flatMap(spec =>
  ['containers[]/image', 'initContainers[]/image', 'volumes[]/image/reference'].map(path => {
    return { path: `${spec}/${path}`, create: true }
  }),
)

/** The fields of Kubernetes' kinds. Fields of other kinds come from `configurations` and `crds`. */
export const defaultConfiguration: Configuration = {
  namePrefix: [{ path: 'metadata/name' }],
  nameSuffix: [{ path: 'metadata/name' }],
  namespace,
  commonLabels: [...selectors, ...metadataLabels],
  labels: [],
  templateLabels: metadataLabels,
  commonAnnotations: annotations,
  nameReference,
  varReference,
  images,
  replicas: scaledKinds.map(kind => ({ path: 'spec/replicas', create: true, kind })),
}
