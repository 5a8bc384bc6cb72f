/**
 * Objects that every cluster has from the start. Existing objects are not changed, except for the address of
 * the API server and its certificate authorities; deleted ones are recreated at the next start.
 */
import { isApiError } from '#/api/errors.ts'
import { groupVersionKindOf } from '#/api/group-version.ts'
import type { ServiceCIDR } from '#/api/generated/networking/v1.ts'
import { serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Resource } from '#/api/resource.ts'
import { systemWriteRequest } from './registry/system-write-request.ts'
import type { AuthenticationSettings } from './authn.ts'
import { publishAuthenticationTrust } from './bootstrap/cluster-authentication-trust.ts'
import { flowControlObjects } from './bootstrap/flow-control.ts'
import { kubernetesService, withOwnAddress, type ServiceOptions } from './bootstrap/kubernetes-service.ts'
import type { PostStartHook, PostStartHooks } from './post-start-hooks.ts'
import type { Registry } from './registry/registry.ts'
import { applyStatus } from './registry/apply-status.ts'
import { getStoredObject } from './registry/get-stored-object.ts'
import { keyOf } from './registry/store-keys.ts'
import { createObject } from './registry/create-object.ts'
import { updateObject } from './registry/update-object.ts'

export { ApiServerPeers } from './bootstrap/api-server-peers.ts'
export { keepAuthenticationTrust } from './bootstrap/cluster-authentication-trust.ts'

export interface BootstrapOptions extends ServiceOptions {
  readonly authentication: AuthenticationSettings
  readonly startHooks?: PostStartHooks | undefined
  /** The endpoints of the API server are then shared with others, see `ApiServerPeers`. */
  readonly isStoreShared?: boolean
}

export async function bootstrap(registry: Registry, options: BootstrapOptions): Promise<void> {
  const { startHooks } = options
  const today = new Date(registry.platform.clock.now()).toISOString().slice(0, 10)
  const steps: readonly (readonly [PostStartHook | undefined, readonly KubernetesObject[]])[] = [
    ['start-system-namespaces-controller', namespaces.map(namespace)],
    ['start-kubernetes-service-cidr-controller', [serviceCidr(options.serviceCidrs)]],
    [undefined, kubernetesService(options)],
    ['scheduling/bootstrap-system-priority-classes', priorityClasses()],
    ['priority-and-fairness-config-producer', flowControlObjects()],
    ['start-legacy-token-tracking-controller', [tokenTracking(today)]],
  ]
  for (const [hook, objects] of steps) {
    for (const object of objects) await ensure(registry, object, managers[hook ?? ''])
    if (hook) startHooks?.finish(hook)
  }
  await setReady(registry)
  for (const object of kubernetesService(options)) {
    if (object.kind === 'Service' || !options.isStoreShared) await renew(registry, object)
  }
  startHooks?.finish('bootstrap-controller')
  await publishAuthenticationTrust(registry, options.authentication)
}

/** Managers of the objects of a hook; `kube-apiserver` if absent. */
const managers: Readonly<Record<string, string>> = {
  'priority-and-fairness-config-producer': 'api-priority-and-fairness-config-producer-v1',
}

const namespaces = ['kube-system', 'kube-public', 'kube-node-lease', 'default']

function priorityClasses(): readonly KubernetesObject[] {
  return [
    priorityClass(
      'system-cluster-critical',
      2_000_000_000,
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
    priorityClass(
      'system-node-critical',
      2_000_001_000,
      'Used for system critical pods that must not be moved from their current node.',
    ),
  ]
}

async function ensure(
  registry: Registry,
  object: KubernetesObject,
  fieldManager = 'kube-apiserver',
): Promise<void> {
  const { name = '', namespace = '' } = object.metadata
  const resource = resourceOf(registry, object)
  if (resource === undefined) return
  try {
    const request = { ...systemWriteRequest(resource, name, namespace), fieldManager }
    await createObject(registry, request, object)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

/** Updates the endpoints of the kubernetes Service, because the server's address may have changed. */
async function renew(registry: Registry, object: KubernetesObject): Promise<void> {
  const { name = '', namespace = '' } = object.metadata
  const resource = resourceOf(registry, object)
  if (resource === undefined) return
  const change = (stored: KubernetesObject) => withOwnAddress(stored, object)
  await updateObject(registry, systemWriteRequest(resource, name, namespace), { change })
}

function resourceOf({ scheme }: Registry, object: KubernetesObject): Resource | undefined {
  const kind = groupVersionKindOf(object)
  return kind && scheme.byKind(kind)
}

function namespace(name: string): KubernetesObject {
  return { kind: 'Namespace', apiVersion: 'v1', metadata: { name } }
}

/** Start date of the tracking of secret-based token use; the legacy token cleaner depends on it. */
function tokenTracking(since: string): KubernetesObject {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' },
    data: { since },
  }
  return object
}

function serviceCidr(cidrs: readonly string[]): KubernetesObject {
  const object = {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: 'kubernetes' },
    spec: { cidrs },
  }
  return object
}

/** The range of the flags needs no controller to be ready. */
async function setReady(registry: Registry): Promise<void> {
  const stored = await getStoredObject(registry, keyOf(serviceCIDRs, '', 'kubernetes'))
  const { status, metadata } = (stored?.object ?? {}) as Partial<ServiceCIDR>
  const isSet = status?.conditions?.some(({ type }) => type === 'Ready') === true
  if (metadata === undefined || metadata.deletionTimestamp !== undefined || isSet) return
  const lastTransitionTime = formatTime(registry.platform.clock.now())
  const message = 'Kubernetes default Service CIDR is ready'
  const condition = { type: 'Ready', status: 'True', message, lastTransitionTime }
  const applied = {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: 'kubernetes' },
    status: { conditions: [condition] },
  }
  await applyStatus(registry, serviceCIDRs, { manager: 'kubernetes-service-cidr-controller', applied })
}

function priorityClass(name: string, value: number, description: string): KubernetesObject {
  const object = {
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name },
    value,
    description,
  }
  return object
}
