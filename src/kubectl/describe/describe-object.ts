import type { KubernetesObject } from '#/api/metadata.ts'
import { groupVersionKindOf } from '#/api/group-version.ts'
import { TabWriter } from '../printers/tab-writer.ts'
import type { DescribeOptions, Describer } from './describer.ts'
import { DescribeWriter } from './describe-writer.ts'
import { withoutNulls } from './without-nulls.ts'

/** The description of a stored object, with its related objects and events. */
export async function describeObject(object: KubernetesObject, options: DescribeOptions): Promise<string> {
  let text = ''
  const writer = new DescribeWriter(new TabWriter({ minWidth: 0, padding: 2, write: more => (text += more) }))
  const describe = await describerOf(object)
  await describe(object, { ...options, writer })
  writer.flush()
  return text
}

async function describerOf(object: KubernetesObject): Promise<Describer> {
  const { kind, group } = groupVersionKindOf(object) ?? { kind: '', group: '' }
  const load = describers.get(group === '' ? kind : `${kind}.${group}`)
  return load === undefined ? (await import('./generic.ts')).describeGeneric : load()
}

/** The object is of the kind for which the describer is registered. */
function typed<T extends KubernetesObject>(describe: Describer<T>): Describer {
  return (object, context) => describe(withoutNulls(object) as T, context)
}

const configuration = () => import('./core/configuration.ts')
const quotas = () => import('./core/quotas.ts')
const volumes = () => import('./core/volumes.ts')
const endpoints = () => import('./endpoints.ts')
const replicaSets = () => import('./apps/replica-sets.ts')
const batch = () => import('./batch.ts')
const networking = () => import('./networking/cluster-kinds.ts')
const scheduling = () => import('./scheduling.ts')
const storage = () => import('./storage.ts')
const rbac = () => import('./rbac.ts')

/** By kind and group. Each module is loaded when an object of its kinds is described. */
const describers: ReadonlyMap<string, () => Promise<Describer>> = new Map([
  ['ConfigMap', async () => typed((await configuration()).describeConfigMap)],
  ['Endpoints', async () => typed((await endpoints()).describeEndpoints)],
  ['LimitRange', async () => typed((await quotas()).describeLimitRange)],
  ['Namespace', async () => typed((await quotas()).describeNamespace)],
  ['Node', async () => typed((await import('./core/node.ts')).describeNode)],
  ['PersistentVolume', async () => typed((await volumes()).describePersistentVolume)],
  ['PersistentVolumeClaim', async () => typed((await volumes()).describePersistentVolumeClaim)],
  ['Pod', async () => typed((await import('./core/pod.ts')).describePod)],
  ['ReplicationController', async () => typed((await replicaSets()).describeReplicationController)],
  ['ResourceQuota', async () => typed((await quotas()).describeResourceQuota)],
  ['Secret', async () => typed((await configuration()).describeSecret)],
  ['Service', async () => typed((await import('./core/service.ts')).describeService)],
  ['ServiceAccount', async () => typed((await configuration()).describeServiceAccount)],
  ['DaemonSet.apps', async () => typed((await replicaSets()).describeDaemonSet)],
  ['Deployment.apps', async () => typed((await import('./apps/deployment.ts')).describeDeployment)],
  ['ReplicaSet.apps', async () => typed((await replicaSets()).describeReplicaSet)],
  ['StatefulSet.apps', async () => typed((await import('./apps/stateful-set.ts')).describeStatefulSet)],
  [
    'HorizontalPodAutoscaler.autoscaling',
    async () => typed((await import('./horizontal-pod-autoscaler.ts')).describeHorizontalPodAutoscaler),
  ],
  ['CronJob.batch', async () => typed((await batch()).describeCronJob)],
  ['Job.batch', async () => typed((await batch()).describeJob)],
  [
    'CertificateSigningRequest.certificates.k8s.io',
    async () => typed((await import('./certificate-signing-request.ts')).describeCertificateSigningRequest),
  ],
  ['EndpointSlice.discovery.k8s.io', async () => typed((await endpoints()).describeEndpointSlice)],
  ['Ingress.networking.k8s.io', async () => typed((await import('./networking/ingress.ts')).describeIngress)],
  ['IngressClass.networking.k8s.io', async () => typed((await networking()).describeIngressClass)],
  ['IPAddress.networking.k8s.io', async () => typed((await networking()).describeIpAddress)],
  [
    'NetworkPolicy.networking.k8s.io',
    async () => typed((await import('./networking/network-policy.ts')).describeNetworkPolicy),
  ],
  ['ServiceCIDR.networking.k8s.io', async () => typed((await networking()).describeServiceCidr)],
  ['PodDisruptionBudget.policy', async () => typed((await scheduling()).describePodDisruptionBudget)],
  ['ClusterRole.rbac.authorization.k8s.io', async () => typed((await rbac()).describeRole)],
  ['ClusterRoleBinding.rbac.authorization.k8s.io', async () => typed((await rbac()).describeRoleBinding)],
  ['Role.rbac.authorization.k8s.io', async () => typed((await rbac()).describeRole)],
  ['RoleBinding.rbac.authorization.k8s.io', async () => typed((await rbac()).describeRoleBinding)],
  ['PriorityClass.scheduling.k8s.io', async () => typed((await scheduling()).describePriorityClass)],
  ['CSINode.storage.k8s.io', async () => typed((await storage()).describeCsiNode)],
  ['StorageClass.storage.k8s.io', async () => typed((await storage()).describeStorageClass)],
  [
    'VolumeAttributesClass.storage.k8s.io',
    async () => typed((await storage()).describeVolumeAttributesClass),
  ],
])
