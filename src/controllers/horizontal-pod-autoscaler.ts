/**
 * Scales any resource with a `scale` subresource so that its metrics reach their targets. Metrics cannot be
 * watched, so each HorizontalPodAutoscaler is reconciled every 15 seconds and when its spec changes.
 * https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/
 */
import {
  AutoscalingMetrics,
  type AutoscalingResult,
} from './horizontal-pod-autoscaler/autoscaling-metrics.ts'
import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { HorizontalPodAutoscaler } from '#/api/generated/autoscaling/v2.ts'
import { horizontalPodAutoscalers } from '#/api/generated/autoscaling/v2-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { keyOf, parseKey } from '#/api/metadata.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import type { Resource } from '#/api/resource.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { SubresourceKey } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, ReconcileRequest } from './controller.ts'
import { ApiMetrics } from './horizontal-pod-autoscaler/api-metrics.ts'
import { initialScaleHistory, withChange, type ScaleHistory } from './horizontal-pod-autoscaler/history.ts'
import { RestMapper } from './horizontal-pod-autoscaler/rest-mapper.ts'
import type { Metrics } from './horizontal-pod-autoscaler/metrics.ts'
import {
  planByMetrics,
  planStatus,
  planWithoutMetrics,
  planWithoutPods,
  withConditions,
  type ConditionFields,
  type ScaleDecision,
} from './horizontal-pod-autoscaler/plan.ts'
import { readMetric } from './horizontal-pod-autoscaler/read-metric.ts'

export interface AutoscalingSettings {
  /** Source of metrics; default the metrics APIs, which an add-on such as metrics-server must serve. */
  readonly metrics?: (context: ControllerContext) => Metrics
  readonly syncMs?: number
  /** Default stabilization window for scaling down. */
  readonly downscaleWindowMs?: number
  /** Default relative deviation from the target within which nothing is scaled. */
  readonly tolerance?: number
  readonly cpuInitializationMs?: number
  readonly initialReadinessDelayMs?: number
}

const settingsUsual = {
  syncMs: 15_000,
  downscaleWindowMs: 300_000,
  tolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessDelayMs: 30_000,
}

/** Maximum attempts to update a scale or status after conflicts; then the next sync retries. */
const triesMax = 5

export function horizontalPodAutoscalerController(settings: AutoscalingSettings = {}): Controller {
  return {
    name: 'horizontal-pod-autoscaler-controller',
    queueName: 'horizontalpodautoscaler',
    account: 'horizontal-pod-autoscaler',
    setUp: context => {
      const autoscaling = new Autoscaling(context, settings)
      return request => autoscaling.reconcile(request)
    },
  }
}

class Autoscaling {
  readonly #context: ControllerContext
  readonly #settings: AutoscalingSettings & typeof settingsUsual
  readonly #autoscalers: Informer<HorizontalPodAutoscaler>
  readonly #pods: Informer<Pod>
  readonly #restMapper: RestMapper
  readonly #metrics: Metrics
  readonly #measured: AutoscalingMetrics
  /** By HorizontalPodAutoscaler key. */
  readonly #histories = new Map<string, ScaleHistory>()
  /** Pod selectors of the targets, by HorizontalPodAutoscaler key. */
  readonly #selectors = new Map<string, Selector>()

  constructor(context: ControllerContext, settings: AutoscalingSettings) {
    const { client, informer, enqueue } = context
    this.#context = context
    this.#settings = { ...settingsUsual, ...settings }
    this.#autoscalers = informer(horizontalPodAutoscalers)
    this.#pods = informer(pods)
    this.#measured = new AutoscalingMetrics(context.metrics, () => this.#autoscalers.list().length)
    this.#restMapper = new RestMapper(client)
    this.#metrics = settings.metrics?.(context) ?? new ApiMetrics(client, this.#restMapper)
    this.#autoscalers.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined) {
        this.#histories.delete(key)
        this.#selectors.delete(key)
        this.#measured.forget(oldObject.metadata)
      } else if (!equalJson(oldObject?.spec, newObject.spec)) enqueue(key)
    })
  }

  async reconcile(request: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const autoscaler = this.#autoscalers.get(request.key)
    if (autoscaler === undefined) return undefined
    const { clock } = this.#context.platform
    const startMs = clock.monotonicMs()
    const observe = (result: AutoscalingResult): void =>
      this.#measured.reconciled(result, clock.monotonicMs() - startMs)
    try {
      observe(await this.#scale(autoscaler, request))
    } catch (error) {
      if (request.signal.aborted) throw error
      observe({ action: 'none', error: 'internal' })
      // Not retried with backoff: missing metrics will not appear before the next sync.
      const level = isApiError(error, 'NotFound') ? 'debug' : 'warn'
      this.#context.platform.log[level]('Failed to reconcile HorizontalPodAutoscaler', {
        key: request.key,
        error,
      })
    }
    return { requeueAfterMs: this.#settings.syncMs }
  }

  async #scale(autoscaler: HorizontalPodAutoscaler, request: ReconcileRequest): Promise<AutoscalingResult> {
    const { clock } = this.#context.platform
    let target: Target
    try {
      target = await this.#targetOf(autoscaler, request)
    } catch (error) {
      if (request.signal.aborted) throw error
      await this.#recordLostTarget(autoscaler, messageOf(error), request)
      return { action: 'none', error: 'internal' }
    }
    const currentReplicas = target.scale.spec?.replicas ?? 0
    const history = this.#histories.getOrInsertComputed(request.key, () => {
      return initialScaleHistory(currentReplicas, clock.monotonicMs())
    })
    const decision =
      planWithoutMetrics(autoscaler, currentReplicas) ??
      (await this.#decide(autoscaler, target.scale, request))
    const { recommendations = history.recommendations } = decision
    this.#histories.set(request.key, { ...history, recommendations })
    for (const event of decision.events) this.#context.recorder.record(autoscaler, event)
    const rescaled = await this.#rescale({ autoscaler, target, decision }, request)
    const status = planStatus(autoscaler, {
      currentReplicas,
      desiredReplicas: rescaled?.hasFailed ? undefined : decision.replicas,
      currentMetrics: decision.currentMetrics,
      conditions: [gotScale, ...decision.conditions, ...(rescaled ? [rescaled.condition] : [])],
      hasScaled: rescaled?.hasFailed === false,
      nowMs: clock.now(),
    })
    await this.#writeStatus(autoscaler, status, request)
    const { replicas = currentReplicas } = decision
    this.#measured.desired(autoscaler.metadata, replicas)
    if (rescaled?.hasFailed) return { action: 'none', error: 'internal' }
    const action =
      replicas > currentReplicas ? 'scale_up' : replicas < currentReplicas ? 'scale_down' : 'none'
    return { action, error: 'none' }
  }

  async #targetOf(
    { metadata, spec }: HorizontalPodAutoscaler,
    { client, signal }: ReconcileRequest,
  ): Promise<Target> {
    const { apiVersion = '', kind, name } = spec.scaleTargetRef
    const version = parseGroupVersion(apiVersion)
    if (version === undefined) throw new Error(`unexpected GroupVersion string: ${apiVersion}`)
    const groupKind = { group: version.group, kind }
    const resource = await this.#restMapper.find(groupKind, signal)
    const at = { namespace: metadata.namespace, name, subresource: 'scale' }
    try {
      return { resource, at, scale: await client.getSubresource<Scale>(resource, at, { signal }) }
    } catch (error) {
      this.#restMapper.forget(groupKind)
      throw error
    }
  }

  async #recordLostTarget(
    autoscaler: HorizontalPodAutoscaler,
    why: string,
    request: ReconcileRequest,
  ): Promise<void> {
    const { platform, recorder } = this.#context
    const reason = 'FailedGetScale'
    recorder.record(autoscaler, { type: 'Warning', reason, message: why })
    const message = `the HPA controller was unable to get the target's current scale: ${why}`
    const condition: ConditionFields = { type: 'AbleToScale', status: 'False', reason, message }
    const { status } = autoscaler
    const conditions = withConditions(status?.conditions, [condition], platform.clock.now())
    await this.#writeStatus(autoscaler, { desiredReplicas: 0, ...status, conditions }, request)
  }

  async #decide(
    autoscaler: HorizontalPodAutoscaler,
    scale: Scale,
    request: ReconcileRequest,
  ): Promise<ScaleDecision> {
    const { key, namespace, signal } = request
    const { clock } = this.#context.platform
    const selector = this.#selectorOf(key, scale.status?.selector ?? '')
    if ('condition' in selector) return planWithoutPods(selector)
    const selected = this.#pods.inNamespace(namespace).filter(pod => selector.matches(pod.metadata.labels))
    const autoscalers = this.#autoscalersSelecting(namespace, selected)
    if (autoscalers.length > 1) {
      const which = `pods by selector ${scale.status?.selector}`
      const message = `${which} are controlled by multiple HPAs: [${autoscalers.join(' ')}]`
      const fields = { reason: 'AmbiguousSelector', message }
      return planWithoutPods({ condition: fields, event: fields })
    }
    const { metrics = [] } = autoscaler.spec
    const readings = await Promise.all(
      metrics.map(metric => readMetric(this.#metrics, metric, { namespace, selector, signal })),
    )
    signal.throwIfAborted()
    return planByMetrics({
      autoscaler,
      currentReplicas: scale.spec?.replicas ?? 0,
      statusReplicas: scale.status?.replicas ?? 0,
      pods: selected,
      readings,
      history: this.#histories.get(key) ?? initialScaleHistory(0, clock.monotonicMs()),
      times: this.#settings,
      tolerance: this.#settings.tolerance,
      downscaleWindowMs: this.#settings.downscaleWindowMs,
      nowMs: clock.now(),
      monotonicMs: clock.monotonicMs(),
    })
  }

  /** Parses and caches the target's pod selector; returns a condition and an event if it is invalid. */
  #selectorOf(key: string, text: string): Selector | Parameters<typeof planWithoutPods>[0] {
    if (text === '') {
      return {
        condition: { reason: 'InvalidSelector', message: "the HPA target's scale is missing a selector" },
        event: { reason: 'SelectorRequired', message: 'selector is required' },
      }
    }
    try {
      const selector = parseSelector(text)
      this.#selectors.set(key, selector)
      return selector
    } catch (error) {
      const why = messageOf(error)
      const message = `couldn't convert selector into a corresponding internal selector object: ${why}`
      const fields = { reason: 'InvalidSelector', message }
      return { condition: fields, event: fields }
    }
  }

  /** HorizontalPodAutoscalers that select any of these pods, formatted for messages. */
  #autoscalersSelecting(namespace: string, selected: readonly Pod[]): readonly string[] {
    return this.#autoscalers
      .inNamespace(namespace)
      .filter(each => {
        const selector = this.#selectors.get(keyOf(each))
        return selector !== undefined && selected.some(pod => selector.matches(pod.metadata.labels))
      })
      .map(each => `{${each.metadata.name} ${namespace}}`)
      .toSorted()
  }

  /** Undefined if the size does not change. */
  async #rescale(
    { autoscaler, target, decision }: Rescaling,
    { key, client, signal }: ReconcileRequest,
  ): Promise<Rescaled | undefined> {
    const { resource, at, scale } = target
    const { replicas, reason } = decision
    const oldObject = scale.spec?.replicas ?? 0
    if (replicas === undefined || replicas === oldObject) return undefined
    const { recorder, platform } = this.#context
    try {
      await retryOnConflict(
        current => client.updateSubresource(resource, at, { ...current, spec: { replicas } }, { signal }),
        () => client.getSubresource<Scale>(resource, at, { signal }),
        scale,
      )
    } catch (error) {
      if (signal.aborted) throw error
      const message = `New size: ${replicas}; reason: ${reason}; error: ${messageOf(error)}`
      recorder.record(autoscaler, { type: 'Warning', reason: 'FailedRescale', message })
      return {
        hasFailed: true,
        condition: {
          type: 'AbleToScale',
          status: 'False',
          reason: 'FailedUpdateScale',
          message: `the HPA controller was unable to update the target scale: ${messageOf(error)}`,
        },
      }
    }
    const message = `New size: ${replicas}; reason: ${reason}`
    recorder.record(autoscaler, { type: 'Normal', reason: 'SuccessfulRescale', message })
    const history = this.#histories.get(key)
    const change = { replicas: replicas - oldObject, atMs: platform.clock.monotonicMs() }
    if (history !== undefined) this.#histories.set(key, withChange(history, change))
    return {
      hasFailed: false,
      condition: {
        type: 'AbleToScale',
        status: 'True',
        reason: 'SucceededRescale',
        message: `the HPA controller was able to update the target scale to ${replicas}`,
      },
    }
  }

  async #writeStatus(
    autoscaler: HorizontalPodAutoscaler,
    status: NonNullable<HorizontalPodAutoscaler['status']>,
    { key, client, signal }: ReconcileRequest,
  ): Promise<void> {
    if (equalJson(status, autoscaler.status)) return
    try {
      await retryOnConflict(
        current => client.updateStatus(horizontalPodAutoscalers, { ...current, status }, { signal }),
        () => client.get(horizontalPodAutoscalers, parseKey(key), { signal }),
        autoscaler,
      )
    } catch (error) {
      const message = messageOf(error)
      // No event for a deleted HorizontalPodAutoscaler.
      if (!signal.aborted && !isApiError(error, 'NotFound')) {
        this.#context.recorder.record(autoscaler, { type: 'Warning', reason: 'FailedUpdateStatus', message })
      }
      throw error
    }
  }
}

interface Target {
  readonly resource: Resource
  readonly at: SubresourceKey
  readonly scale: Scale
}

interface Rescaling {
  readonly autoscaler: HorizontalPodAutoscaler
  readonly target: Target
  readonly decision: ScaleDecision
}

interface Rescaled {
  readonly hasFailed: boolean
  readonly condition: ConditionFields
}

const gotScale: ConditionFields = {
  type: 'AbleToScale',
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
}

/** Writes; on a conflict reads the current version and tries again. */
async function retryOnConflict<T>(
  write: (current: T) => Promise<T>,
  read: () => Promise<T>,
  first: T,
): Promise<void> {
  let current = first
  for (let tries = 1; ; tries++) {
    try {
      await write(current)
      return
    } catch (error) {
      if (!isApiError(error, 'Conflict') || tries === triesMax) throw error
      current = await read()
    }
  }
}
