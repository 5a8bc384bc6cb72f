import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod, PodSpec, ResourceQuota } from '#/api/generated/core/v1.ts'
import { keyOf, isBeingDeleted, isControlledBy, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { isPodTerminal } from '#/controllers/pods.ts'
import type { Store } from '#/store/store.ts'
import { checkSettledNode, type SettledNode } from './node-invariants.ts'
import { checkServices } from './settled-services.ts'
import type { UncertainWrites } from './uncertain-writes.ts'
import { World } from './world.ts'

export interface SettledCluster {
  readonly store: Store
  readonly uncertainWrites: UncertainWrites
  readonly nodes: readonly SettledNode[]
}

/** Checks that the settled state matches the desired state. */
export async function checkSettledState({
  store,
  uncertainWrites,
  nodes,
}: SettledCluster): Promise<readonly string[]> {
  const world = new World()
  const { entries } = await store.list({ prefix: '/registry/' })
  for (const entry of entries) world.apply({ type: 'put', ...entry }, 0)
  return [
    ...world.of('replicasets').flatMap(set => checkReplicas(set, world)),
    ...world.of('deployments').flatMap(deployment => checkDeployment(deployment, world)),
    ...world.of('statefulsets').flatMap(set => checkReplicas(set, world)),
    ...[...world.of('statefulsets'), ...world.of('daemonsets')].flatMap(set => checkTemplate(set, world)),
    ...world.of('daemonsets').flatMap(set => {
      const want = world.of('minions').length
      const running = world.podsOf(set).filter(isRunning).length
      return hasQuota(set, world) ? [] : differ(`pods of daemon set ${keyOf(set)}`, running, want)
    }),
    ...world.of('jobs').flatMap(job => checkJob(job, world, uncertainWrites)),
    ...world.of('resourcequotas').flatMap(quota => checkQuota(quota, world)),
    ...nodes.flatMap(node => checkSettledNode(node, world.of('pods'))),
    ...checkServices(world),
    ...checkAddresses(world.of('pods')),
    ...world.all().flatMap(object => checkPlace(object, world)),
    ...world
      .all()
      .filter(isBeingDeleted)
      .map(object => `${object.kind} ${keyOf(object)} is still being deleted`),
  ]
}

function checkReplicas(set: Stored<ReplicaSet> | Stored<StatefulSet>, world: World): readonly string[] {
  const what = `pods of ${set.kind} ${keyOf(set)}`
  const want = set.spec?.replicas ?? 1
  const running = world.podsOf(set).filter(isRunning).length
  if (hasQuota(set, world)) return running <= want ? [] : differ(what, running, want)
  return [
    ...differ(what, running, want),
    ...differ(`${what} in its status`, set.status?.replicas ?? 0, want),
    ...differ(`ready ${what} in its status`, set.status?.readyReplicas ?? 0, want),
  ]
}

/** A rolling update has replaced all pods. */
function checkTemplate(set: Stored<StatefulSet> | Stored<DaemonSet>, world: World): readonly string[] {
  if (hasQuota(set, world)) return []
  const want = imagesOf(set.spec?.template.spec)
  return world
    .podsOf(set)
    .filter(isRunning)
    .flatMap(pod => differ(`image of ${keyOf(pod)} of ${set.kind} ${keyOf(set)}`, imagesOf(pod.spec), want))
}

function imagesOf(spec: PodSpec | undefined): string {
  return (spec?.containers ?? []).map(({ image }) => image).join()
}

function checkDeployment(deployment: Stored<Deployment>, world: World): readonly string[] {
  const what = `replicas of deployment ${keyOf(deployment)}`
  const want = deployment.spec?.replicas ?? 1
  const wanted = world
    .of('replicasets')
    .filter(set => isControlledBy(set, deployment))
    .reduce((sum, set) => sum + (set.spec?.replicas ?? 0), 0)
  if (hasQuota(deployment, world)) return []
  return [
    ...differ(`${what} requested by its ReplicaSets`, wanted, want),
    ...differ(`${what} that are updated`, deployment.status?.updatedReplicas ?? 0, want),
    ...differ(`${what} that are available`, deployment.status?.availableReplicas ?? 0, want),
  ]
}

/**
 * A job has finished and counted all its pods; it has more successes than requested only if the outcome of a
 * write was unknown.
 */
function checkJob(job: Stored<Job>, world: World, uncertainWrites: UncertainWrites): readonly string[] {
  const what = `job ${keyOf(job)}`
  const { succeeded = 0, active = 0, conditions = [], uncountedTerminatedPods = {} } = job.status ?? {}
  const end = conditions.find(({ type, status }) => /^(Complete|Failed)$/.test(type) && status === 'True')
  const isMeantToFail = job.spec?.template?.metadata?.annotations !== undefined
  if (end?.type !== (isMeantToFail ? 'Failed' : 'Complete')) {
    return hasQuota(job, world) ? [] : [`${what} did not finish as expected: ${JSON.stringify(job.status)}`]
  }
  const want = isMeantToFail ? 0 : (job.spec?.completions ?? 1)
  const isTooMany = succeeded > want && uncertainWrites.wasEverUncertain('job-controller')
  const held = world.podsOf(job).filter(({ metadata }) => metadata.finalizers?.length)
  return [
    ...(isTooMany ? [] : differ(`successes of ${what}`, succeeded, want)),
    ...differ(`active pods of ${what}`, active, 0),
    ...differ(`uncounted pods of ${what}`, Object.values(uncountedTerminatedPods).flat().length, 0),
    ...differ(`pods of ${what} with a finalizer`, held.length, 0),
  ]
}

function checkQuota(quota: Stored<ResourceQuota>, world: World): readonly string[] {
  const pods = world.of('pods').filter(pod => {
    return pod.metadata.namespace === quota.metadata.namespace && !isPodTerminal(pod)
  })
  return differ(`pods that quota ${keyOf(quota)} counts`, Number(quota.status?.used?.['pods']), pods.length)
}

/** No two running pods have the same IP address. */
function checkAddresses(pods: readonly Stored<Pod>[]): readonly string[] {
  const running = pods.filter(isRunning)
  const byAddress = new Map(running.map(pod => [pod.status?.podIP, pod]))
  return running.flatMap(pod => {
    const other = byAddress.get(pod.status?.podIP)
    return other === pod || other === undefined
      ? []
      : [`${keyOf(pod)} and ${keyOf(other)} have the same IP ${pod.status?.podIP}`]
  })
}

/** In a namespace with a quota not all requested pods may exist. */
function hasQuota({ metadata }: KubernetesObject, world: World): boolean {
  return world.of('resourcequotas').some(quota => quota.metadata.namespace === metadata.namespace)
}

/** Every remaining object's owner, namespace and node exist. */
function checkPlace(object: Stored, world: World): readonly string[] {
  const { namespace, ownerReferences: owners = [] } = object.metadata
  const node = object.kind === 'Pod' ? (object as Pod).spec?.nodeName : undefined
  const has = (resourcePrefix: 'namespaces' | 'minions', name: string | undefined): boolean => {
    return name === undefined || world.of(resourcePrefix).some(({ metadata }) => metadata.name === name)
  }
  const what = `${object.kind} ${keyOf(object)}`
  return [
    ...owners
      .filter(({ uid }) => world.byUid(uid) === undefined)
      .map(({ kind, name }) => `owner ${kind} ${name} of ${what} does not exist`),
    ...(has('namespaces', namespace) ? [] : [`the namespace of ${what} does not exist`]),
    ...(has('minions', node) ? [] : [`node ${node} of ${what} does not exist`]),
  ]
}

function isRunning(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && !isBeingDeleted(pod)
}

function differ<T extends number | string>(what: string, is: T, want: T): readonly string[] {
  return is === want ? [] : [`${what}: ${is} instead of ${want}`]
}
