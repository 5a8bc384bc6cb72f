/**
 * Computes `disruptionsAllowed` of every PodDisruptionBudget, which the eviction API decrements, and resets
 * stale DisruptionTarget conditions of pods.
 * https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
 */
import { messageOf } from '#/base/message-of.ts'
import { conditionOf, withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import { deployments, replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { pods, replicationControllers } from '#/api/generated/core/v1-resources.ts'
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { equalJson } from '#/api/text/json-value.ts'
import {
  controllerOf,
  isBeingDeleted,
  keyOf,
  type KubernetesObject,
  type OwnerReference,
} from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import type { Resource } from '#/api/resource.ts'
import { compileLabelSelector, type Selector } from '#/api/selectors/selector.ts'
import { discoverResources } from '#/client/discovery.ts'
import type { Informer } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { planDisruptionBudget, type ControllerScale } from './disruption/plan.ts'
import { isPodTerminal } from './pods.ts'

export const disruptionController: Controller = {
  name: 'disruption-controller',
  queueName: 'disruption',
  account: 'disruption-controller',
  component: 'controllermanager',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const disruption = new Disruption(context)
  return request =>
    request.key.startsWith(podPrefix) ? disruption.reconcilePod(request) : disruption.reconcileBudget(request)
}

/** Distinguishes keys of pods from keys of budgets. */
const podPrefix = 'pod '

/** For these kinds `replicas` is read from informers; for others the scale subresource is read. */
const knownKinds = [replicaSets, statefulSets, replicationControllers, deployments] as const

class Disruption {
  readonly #context: ControllerContext
  readonly #budgets: Informer<PodDisruptionBudget>
  readonly #pods: Informer<Pod>
  readonly #scaled: ReadonlyMap<string, Informer<ScaledObject>>
  /** Compiled once per version of a budget. */
  readonly #selectors = new WeakMap<PodDisruptionBudget, Selector>()

  constructor(context: ControllerContext) {
    const { informer, enqueue } = context
    this.#context = context
    this.#budgets = informer(podDisruptionBudgets)
    this.#pods = informer(pods)
    this.#scaled = new Map(
      knownKinds.map(resource => {
        const scaled = informer(resource as Resource<ScaledObject>)
        return [kindKey(resource), scaled]
      }),
    )
    this.#budgets.addEventHandler(key => enqueue(key))
    this.#pods.addEventHandler((key, { oldObject, newObject }) => {
      for (const pod of [oldObject, newObject]) if (pod) this.#enqueueBudgets(pod)
      if (newObject && staleDisruptionTarget(newObject, context.platform.clock.now()))
        enqueue(`${podPrefix}${key}`)
    })
    for (const scaled of this.#scaled.values()) {
      scaled.addEventHandler((_key, { oldObject, newObject }) => {
        if (oldObject?.spec?.replicas !== newObject?.spec?.replicas)
          this.#enqueueNamespace((newObject ?? oldObject)?.metadata.namespace)
      })
    }
  }

  async reconcileBudget({ key, client, signal }: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const budget = this.#budgets.get(key)
    if (budget === undefined) return undefined
    const { platform, recorder } = this.#context
    const selector = this.#selectorOf(budget)
    const matching = this.#pods
      .inNamespace(budget.metadata.namespace ?? '')
      .filter(pod => selector.matches(pod.metadata.labels ?? {}))
    if (matching.length === 0) {
      recorder.record(budget, { type: 'Normal', reason: 'NoPods', message: 'No matching pods found' })
    }
    let scales: readonly ControllerScale[] | { readonly error: unknown }
    try {
      scales = await this.#scalesOf(matching, client, signal)
    } catch (error) {
      const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`
      recorder.record(budget, { type: 'Warning', reason: 'CalculateExpectedPodCountFailed', message })
      scales = { error }
    }
    const { status, requeueAfterMs } = planDisruptionBudget({
      budget,
      pods: matching,
      scales,
      nowMs: platform.clock.now(),
    })
    if (!equalJson(status, budget.status)) {
      await client.updateStatus(podDisruptionBudgets, { ...budget, status }, { signal })
    }
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
  }

  /** Resets the DisruptionTarget condition of a pod that was not deleted in time. */
  async reconcilePod({ key, client, signal }: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const pod = this.#pods.get(key.slice(podPrefix.length))
    const stale = pod && staleDisruptionTarget(pod, this.#context.platform.clock.now())
    if (pod === undefined || stale === undefined) return undefined
    if (stale.inMs > 0) return { requeueAfterMs: stale.inMs }
    try {
      await client.updateStatus(
        pods,
        { ...pod, status: { ...pod.status, conditions: stale.conditions } },
        { signal },
      )
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }

  #enqueueBudgets(pod: Pod): void {
    for (const budget of this.#budgets.inNamespace(pod.metadata.namespace ?? '')) {
      if (this.#selectorOf(budget).matches(pod.metadata.labels ?? {})) this.#context.enqueue(keyOf(budget))
    }
  }

  #enqueueNamespace(namespace = ''): void {
    for (const budget of this.#budgets.inNamespace(namespace)) this.#context.enqueue(keyOf(budget))
  }

  #selectorOf(budget: PodDisruptionBudget): Selector {
    return this.#selectors.getOrInsertComputed(budget, () => compileLabelSelector(budget.spec?.selector))
  }

  /** Desired replicas of the pods' controllers, each controller once. */
  async #scalesOf(
    matching: readonly Pod[],
    client: ReconcileRequest['client'],
    signal: AbortSignal,
  ): Promise<ControllerScale[]> {
    const scales = new Map<string, ControllerScale>()
    for (const pod of matching) {
      const reference = controllerOf(pod)
      if (reference === undefined) continue
      const scale = await this.#scaleOf(reference, {
        namespace: pod.metadata.namespace ?? '',
        client,
        signal,
      })
      scales.set(scale.uid, scale)
    }
    return [...scales.values()]
  }

  /** For a ReplicaSet of a Deployment, the Deployment's replicas count. */
  async #scaleOf(
    reference: OwnerReference,
    request: Pick<ReconcileRequest, 'namespace' | 'client' | 'signal'>,
  ): Promise<ControllerScale> {
    const { uid, kind, name, apiVersion } = reference
    const { namespace, client, signal } = request
    const group = parseGroupVersion(apiVersion)?.group ?? ''
    const scaled = this.#scaled.get(kindKey({ group, kind }))
    if (scaled === undefined) {
      const resource = (await discoverResources(client, signal)).find(
        each => each.group === group && each.kind === kind,
      )
      if (resource === undefined)
        throw new Error(`no matches for kind ${quote(kind)} in version ${quote(apiVersion)}`)
      const at = { namespace, name, subresource: 'scale' }
      const scale = await client.getSubresource<Scale>(resource, at, { signal })
      return { uid, replicas: scale.spec?.replicas ?? 0 }
    }
    const object = scaled.get(`${namespace}/${name}`)
    if (object === undefined || object.metadata.uid !== uid) return { uid, replicas: 0 }
    const owner = controllerOf(object)
    if (owner?.kind === 'Deployment') return this.#scaleOf(owner, request)
    return { uid, replicas: object.spec?.replicas ?? 1 }
  }
}

interface ScaledObject extends KubernetesObject {
  readonly spec?: { readonly replicas?: number }
}

function kindKey({ group, kind }: Pick<Resource, 'group' | 'kind'>): string {
  return `${kind}.${group}`
}

/** Time within which a pod with the DisruptionTarget condition should be deleted. */
const announcedMs = 120_000

/**
 * Time until the DisruptionTarget condition is stale, and the conditions with it reset; undefined if the pod
 * has none.
 */
function staleDisruptionTarget(
  pod: Pod,
  nowMs: number,
): { readonly inMs: number; readonly conditions: readonly PodCondition[] } | undefined {
  const target = conditionOf(pod.status?.conditions, 'DisruptionTarget')
  if (target?.status !== 'True' || isBeingDeleted(pod) || isPodTerminal(pod)) return undefined
  const inMs = (parseTime(target.lastTransitionTime ?? '') ?? 0) + announcedMs - nowMs
  const conditions = withCondition(pod.status?.conditions, {
    type: 'DisruptionTarget',
    status: 'False',
    lastTransitionTime: formatTime(nowMs),
  })
  return { inMs, conditions }
}
