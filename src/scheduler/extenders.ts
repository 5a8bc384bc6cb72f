/**
 * Scheduler extenders: HTTP webhooks that filter and score nodes, review preemption victims and bind pods.
 * They are called in order, after the plugins. The failure of an ignorable extender is skipped; any other
 * failure fails the scheduling of the pod, which is retried.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/#scheduling-extensions
 */
import type { Container } from '#/api/generated/core/v1.ts'
import type { HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { HttpExtender } from './extenders/http-extender.ts'
import {
  bindingMessage,
  preemptionMessage,
  nodesMessage,
  readError,
  readPreemptionResult,
  readFilterResult,
  readScores,
} from './extenders/messages.ts'
import { scoreMax, type PreemptionCandidate, type PluginHandle, type Unschedulable } from './framework.ts'
import type { NodeInfo } from './node-info.ts'
import { selectHost, type ScheduleResult, type FilterResult } from './schedule-pod.ts'
import type { PodInfo } from './pod-info.ts'
import type { ExtenderHooks } from './profile.ts'

export interface ExtenderSettings {
  readonly urlPrefix: string
  /** URL suffix for each operation; without it the extender does not support the operation. */
  readonly filterVerb?: string
  readonly prioritizeVerb?: string
  readonly preemptVerb?: string
  readonly bindVerb?: string
  /** Multiplier of its scores. */
  readonly weight: number
  readonly tls?: HttpClientTls
  readonly timeoutMs: number
  /** The extender has its own cache of nodes and pods, and receives only names and uids. */
  readonly isNodeCacheCapable: boolean
  /** The extender is called only for pods that request one of these resources; for all pods if empty. */
  readonly managedResources: ReadonlySet<string>
  readonly isIgnorable: boolean
}

export interface ExtendersOptions {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  /** In the order of the calls. */
  readonly extenders: readonly ExtenderSettings[]
}

/** Plugin name of a rejection by an extender. */
const extenderName = 'Extender'

/** Maximum score of an extender. */
const extenderScoreMax = 10

export class Extenders implements AsyncDisposable {
  readonly #options: ExtendersOptions
  readonly #extenders: readonly Extender[]

  constructor(options: ExtendersOptions) {
    const { platform, connectHttp, extenders } = options
    this.#options = options
    this.#extenders = extenders.map(settings => ({
      ...settings,
      http: new HttpExtender({ clock: platform.clock, connectHttp, ...settings }),
      form: settings.isNodeCacheCapable ? 'names' : 'objects',
    }))
  }

  /** The hooks of a profile; undefined if there are no extenders. */
  hooks({ snapshot }: Pick<PluginHandle, 'snapshot'>): ExtenderHooks | undefined {
    if (this.#extenders.length === 0) return undefined
    return {
      filter: (pod, filtered) => this.#filter(pod, filtered),
      prioritize: (pod, filtered, choose) => this.#prioritize(pod, filtered, choose),
      processPreemption: (pod, candidates) => {
        return this.#processPreemption(pod, candidates, (node, uid) => {
          return snapshot()
            .get(node)
            ?.pods.find(each => each.uid === uid)
        })
      },
      bind: (pod, node) => this.#bind(pod, node),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#extenders.map(({ http }) => http[Symbol.asyncDispose]()))
  }

  #filter(pod: PodInfo, filtered: FilterResult): FilterResult | Promise<FilterResult> {
    const extenders = this.#interestedIn('filterVerb', pod)
    return extenders.length === 0 || filtered.feasible.length === 0
      ? filtered
      : this.#filterBy(extenders, pod, filtered)
  }

  async #filterBy(
    extenders: readonly Extender[],
    pod: PodInfo,
    filtered: FilterResult,
  ): Promise<FilterResult> {
    let { feasible } = filtered
    const nodeToStatus = new Map(filtered.nodeToStatus)
    for (const extender of extenders) {
      if (feasible.length === 0) break
      const result = await this.#unlessIgnorable(extender, () => filterNodes(extender, pod, feasible))
      if (result === undefined) continue
      feasible = result.feasible
      for (const [node, status] of result.nodeToStatus) nodeToStatus.set(node, status)
    }
    return { ...filtered, feasible, nodeToStatus }
  }

  #prioritize(
    pod: PodInfo,
    filtered: FilterResult,
    choose: () => ScheduleResult,
  ): ScheduleResult | Promise<ScheduleResult> {
    const extenders = this.#interestedIn('prioritizeVerb', pod)
    const chosen = choose()
    return extenders.length === 0 || filtered.feasible.length < 2
      ? chosen
      : this.#prioritizeBy(extenders, pod, { feasible: filtered.feasible, chosen })
  }

  /** Adds the scores of the extenders. A failing extender adds none. */
  async #prioritizeBy(
    extenders: readonly Extender[],
    pod: PodInfo,
    { feasible, chosen }: { readonly feasible: readonly NodeInfo[]; readonly chosen: ScheduleResult },
  ): Promise<ScheduleResult> {
    const { random, log } = this.#options.platform
    const given = await Promise.all(
      extenders.map(async extender => {
        try {
          return [extender.urlPrefix, await scoreNodes(extender, pod, feasible)] as const
        } catch (error) {
          log.info("Failed to run extender's priority function. No score given by this extender.", {
            extender: extender.urlPrefix,
            pod: pod.key,
            error,
          })
          return undefined
        }
      }),
    )
    const scores = new Map([...chosen.scores, ...given.filter(each => each !== undefined)])
    const totals = new Float64Array(feasible.length)
    for (const each of scores.values()) {
      for (let index = 0; index < totals.length; index++) totals[index]! += each[index]!
    }
    return { node: selectHost(feasible, totals, random), scores }
  }

  async #processPreemption(
    pod: PodInfo,
    candidates: readonly PreemptionCandidate[],
    find: (node: string, uid: string) => PodInfo | undefined,
  ): Promise<readonly PreemptionCandidate[]> {
    let left = candidates
    for (const extender of this.#interestedIn('preemptVerb', pod)) {
      if (left.length === 0) break
      const result = await this.#unlessIgnorable(extender, () =>
        processPreemption(extender, { pod, candidates: left, find }),
      )
      left = result ?? left
    }
    return left
  }

  /** The first extender with a bind verb binds the pod. */
  #bind(pod: PodInfo, node: string): Promise<boolean> | undefined {
    const extenders = this.#interestedIn('bindVerb', pod)
    return extenders.length === 0 ? undefined : this.#bindBy(extenders, pod, node)
  }

  async #bindBy(extenders: readonly Extender[], pod: PodInfo, node: string): Promise<boolean> {
    for (const extender of extenders) {
      const isBound = await this.#unlessIgnorable(extender, async () => {
        const error = readError(await extender.http.send(extender.bindVerb ?? '', bindingMessage(pod, node)))
        if (error !== '') throw new Error(error)
        return true
      })
      if (isBound) return true
    }
    return false
  }

  #interestedIn(verb: Verb, pod: PodInfo): readonly Extender[] {
    return this.#extenders.filter(extender => extender[verb] && isInterested(extender, pod))
  }

  async #unlessIgnorable<T>(extender: Extender, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call()
    } catch (error) {
      if (!extender.isIgnorable) throw error
      const { log } = this.#options.platform
      log.info('Skipping extender as it returned error and has ignorable flag set', {
        extender: extender.urlPrefix,
        error,
      })
      return undefined
    }
  }
}

interface Extender extends ExtenderSettings {
  readonly http: HttpExtender
  readonly form: 'names' | 'objects'
}

type Verb = 'filterVerb' | 'prioritizeVerb' | 'preemptVerb' | 'bindVerb'

function isInterested({ managedResources }: Extender, { pod }: PodInfo): boolean {
  if (managedResources.size === 0) return true
  const asksFor = ({ resources }: Container): boolean => {
    return [resources?.requests, resources?.limits].some(table => {
      return Object.keys(table ?? {}).some(name => managedResources.has(name))
    })
  }
  return [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].some(asksFor)
}

async function filterNodes(
  { http, filterVerb = '', form, urlPrefix }: Extender,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): Promise<{
  readonly feasible: readonly NodeInfo[]
  readonly nodeToStatus: ReadonlyMap<string, Unschedulable>
}> {
  const result = readFilterResult(await http.send(filterVerb, nodesMessage(pod, nodes, form)))
  if (result.error !== '') throw new Error(result.error)
  const byName = new Map(nodes.map(node => [node.name, node]))
  const feasible = (result.names ?? []).map(name => {
    const node = byName.get(name)
    if (node !== undefined) return node
    throw new Error(
      `extender "${urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`,
    )
  })
  const nodeToStatus = new Map<string, Unschedulable>()
  // A node missing in the response is rejected, even without a reason.
  const kept = new Set(feasible)
  for (const node of nodes) if (!kept.has(node)) nodeToStatus.set(node.name, unexplained)
  for (const [name, reason] of result.failed) nodeToStatus.set(name, { reason, plugin: extenderName })
  for (const [name, reason] of result.failedAndUnresolvable) {
    nodeToStatus.set(name, { reason, plugin: extenderName, isUnresolvable: true })
  }
  return { feasible, nodeToStatus }
}

const unexplained: Unschedulable = {
  reason: 'node(s) were filtered out by an extender',
  plugin: extenderName,
  isUnresolvable: true,
}

async function scoreNodes(
  { http, prioritizeVerb = '', form, weight }: Extender,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): Promise<Float64Array> {
  const scores = readScores(await http.send(prioritizeVerb, nodesMessage(pod, nodes, form)))
  return Float64Array.from(nodes, ({ name }) => {
    return (scores.get(name) ?? 0) * weight * (scoreMax / extenderScoreMax)
  })
}

interface PreemptionCall {
  readonly pod: PodInfo
  readonly candidates: readonly PreemptionCandidate[]
  /** Finds a victim by its node and uid. */
  readonly find: (node: string, uid: string) => PodInfo | undefined
}

async function processPreemption(
  { http, preemptVerb = '', form, urlPrefix, isIgnorable }: Extender,
  { pod, candidates, find }: PreemptionCall,
): Promise<readonly PreemptionCandidate[]> {
  const result = readPreemptionResult(await http.send(preemptVerb, preemptionMessage(pod, candidates, form)))
  return [...result].flatMap(([node, { uids, pdbViolations }]) => {
    if (uids.length === 0) {
      if (isIgnorable) return []
      throw new Error(`expected at least one victim pod on node "${node}"`)
    }
    const victims = uids.map(uid => {
      const victim = find(node, uid)
      if (victim !== undefined) return victim
      const claim = `extender: ${urlPrefix} claims to preempt pod (UID: ${uid}) on node: ${node}`
      throw new Error(`${claim}, but the pod is not found on that node`)
    })
    return [
      { node, victims: victims.toSorted((left, right) => right.priority - left.priority), pdbViolations },
    ]
  })
}
