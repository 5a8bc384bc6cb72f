import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { formatDurationMs } from '#/api/text/duration.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import { Deadline, DeadlineExceededError } from '../deadline.ts'
import { ExitError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { podIn } from '../pods/pods-of.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { operationText, type DryRun } from '../write-flags.ts'
import {
  daemonSetOf,
  drainErrors,
  drainWarning,
  isSkipped,
  planPod,
  type DaemonSetError,
  type DrainPolicy,
  type PodVerdict,
} from './plan-drain.ts'
import { PodTerminations } from './pod-terminations.ts'

export interface DrainOptions extends Omit<DrainPolicy, 'nowMs'> {
  readonly podSelector: string
  readonly chunkSize: number
  /** Negative for that of each pod. */
  readonly gracePeriodSeconds: number
  /** 0 for no limit. */
  readonly timeoutMs: number
  readonly disableEviction: boolean
  readonly dryRun: DryRun
}

/** Pause before an eviction that a disruption budget forbids is tried again. */
const evictionRetryMs = 5_000

/** Evicts or deletes the pods of a node, and waits until they are gone. Throws AggregateError. */
export class NodeDrain {
  readonly #factory: Factory
  readonly #node: string
  readonly #options: DrainOptions

  constructor(factory: Factory, node: string, options: DrainOptions) {
    this.#factory = factory
    this.#node = node
    this.#options = options
  }

  async run(): Promise<void> {
    const { streams } = this.#factory.machine
    const verdicts = await this.#plan()
    const errors = drainErrors(verdicts)
    if (errors.length > 0) throw new AggregateError(errors.map(text => new Error(text)))
    const warning = drainWarning(verdicts)
    if (warning !== '') this.#factory.printWarning(warning)
    const pods = verdicts.filter(({ isDeleted }) => isDeleted).map(({ pod }) => pod)
    if (this.#options.dryRun === 'client') {
      for (const pod of pods) streams.write(`evicting pod ${keyOf(pod)} (dry run)\n`)
      return
    }
    try {
      await this.#remove(pods)
    } catch (error) {
      if (!(error instanceof ExitError)) await this.#describePending(error)
      throw error
    }
  }

  async #plan(): Promise<readonly PodVerdict[]> {
    const pods = await this.#pods()
    const daemonSets = new Map<string, DaemonSetError | undefined>()
    for (const daemonSet of new Set(pods.map(daemonSetOf))) {
      if (daemonSet !== undefined) daemonSets.set(daemonSet, await this.#daemonSetError(daemonSet))
    }
    const policy = this.#policy()
    return pods.map(pod => planPod(pod, { policy, daemonSets }))
  }

  #policy(): DrainPolicy {
    return { ...this.#options, nowMs: this.#factory.machine.platform.clock.now() }
  }

  async #pods(): Promise<readonly Pod[]> {
    const { podSelector, chunkSize } = this.#options
    const resources = await this.#factory.resources()
    const pods: Pod[] = []
    let token: string | undefined
    do {
      const page = await resources.get(
        { mapping: builtInResources.pods },
        {
          labelSelector: podSelector,
          fieldSelector: `spec.nodeName=${this.#node}`,
          limit: chunkSize,
          continue: token,
        },
      )
      pods.push(...itemsOf(page).map(podIn))
      token = (page['metadata'] as { readonly continue?: string } | undefined)?.continue
    } while (token)
    return pods
  }

  async #daemonSetError(key: string): Promise<DaemonSetError | undefined> {
    const [namespace, name] = key.split('/')
    const resources = await this.#factory.resources()
    try {
      await resources.get({ mapping: builtInResources.daemonSets, namespace, name })
      return undefined
    } catch (error) {
      return { message: messageOf(error), isNotFound: isApiError(error, 'NotFound') }
    }
  }

  async #remove(pods: readonly Pod[]): Promise<void> {
    if (pods.length === 0) return
    const { timeoutMs, disableEviction } = this.#options
    using deadline = new Deadline(this.#factory.machine, timeoutMs > 0 ? timeoutMs : undefined)
    using scope = new DisposableAbort(deadline.signal)
    const terminations = new PodTerminations(this.#factory, this.#node)
    const evicts = !disableEviction && (await this.#supportsEviction())
    const watching = terminations.run(scope.signal)
    const removal = { terminations, signal: scope.signal }
    const removing = evicts ? this.#evictAll(pods, removal) : this.#deleteAll(pods, removal)
    // The watch ends first only with an error.
    await Promise.race([removing, watching])
  }

  async #supportsEviction(): Promise<boolean> {
    const { discovery } = await this.#factory.restMapper()
    const list = await discovery.resources('v1')
    return list?.resources.some(({ name, kind }) => name === 'pods/eviction' && kind === 'Eviction') ?? false
  }

  async #evictAll(pods: readonly Pod[], removal: Removal): Promise<void> {
    const results = await Promise.allSettled(pods.map(pod => this.#evict(pod, removal)))
    const errors = results.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []))
    if (removal.signal.reason instanceof ExitError) throw removal.signal.reason
    if (errors.length > 0) throw new AggregateError(errors)
  }

  async #evict(pod: Pod, { terminations, signal }: Removal): Promise<void> {
    const { dryRun, timeoutMs } = this.#options
    const { clock } = this.#factory.machine.platform
    const { stderr } = this.#factory.machine.streams
    const [name, namespace] = [quote(pod.metadata.name ?? ''), quote(pod.metadata.namespace ?? '')]
    const subject = `error when evicting pods/${name} -n ${namespace}`
    for (;;) {
      this.#started(pod, 'eviction')
      if (signal.aborted)
        throw interruptionOf(signal, `${subject}: global timeout reached: ${formatDurationMs(timeoutMs)}`)
      try {
        if (!(await this.#requestEviction(pod))) return
        break
      } catch (error) {
        if (isApiError(error, 'TooManyRequests')) {
          stderr.write(`${subject} (will retry after 5s): ${error.message}\n`)
        } else if (isApiError(error, 'Forbidden') && isNamespaceTerminating(error)) {
          if (pod.metadata.deletionTimestamp !== undefined) break
          const place = `pod ${name} from terminating namespace ${namespace}`
          stderr.write(`error when evicting ${place} (will retry after 5s): ${error.message}\n`)
        } else throw new Error(`${subject}: ${messageOf(error)}`, { cause: error })
      }
      await clock.sleep(evictionRetryMs, signal).catch(() => undefined)
    }
    if (dryRun === 'server') return
    const place = `pod ${name} in namespace ${namespace}`
    try {
      await this.#ended(pod, { terminations, signal }, 'evicted')
    } catch (error) {
      throw interruptionOf(signal, `error when waiting for ${place} to terminate: ${textOf(error)}`)
    }
  }

  /** False if the pod is gone. */
  async #requestEviction(pod: Pod): Promise<boolean> {
    const { name = '', namespace = '' } = pod.metadata
    const eviction = {
      kind: 'Eviction',
      apiVersion: 'policy/v1',
      metadata: { name, namespace },
      deleteOptions: this.#deleteOptions(),
    }
    const resources = await this.#factory.resources()
    try {
      await resources.create(
        { mapping: builtInResources.pods, namespace, name, subresource: 'eviction' },
        eviction,
      )
      return true
    } catch (error) {
      if (isApiError(error, 'NotFound')) return false
      throw error
    }
  }

  async #deleteAll(pods: readonly Pod[], removal: Removal): Promise<void> {
    const resources = await this.#factory.resources()
    for (const pod of pods) {
      const { name, namespace } = pod.metadata
      try {
        await resources.delete({ mapping: builtInResources.pods, namespace, name }, this.#deleteOptions())
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error
      }
      this.#started(pod, 'deletion')
    }
    if (this.#options.dryRun === 'server') return
    const results = await Promise.allSettled(pods.map(pod => this.#ended(pod, removal, 'deleted')))
    const failed = results.find(result => result.status === 'rejected')
    if (failed !== undefined) throw interruptionOf(removal.signal, textOf(failed.reason))
  }

  #deleteOptions(): JsonObject {
    const { gracePeriodSeconds, dryRun } = this.#options
    return {
      ...(gracePeriodSeconds >= 0 && { gracePeriodSeconds }),
      ...(dryRun === 'server' && { dryRun: ['All'] }),
    }
  }

  #started(pod: Pod, what: 'eviction' | 'deletion'): void {
    const { dryRun } = this.#options
    const { streams } = this.#factory.machine
    const isVerbose = (this.#factory.globalFlags.v ?? 0) >= 2 && dryRun !== 'server'
    if (isVerbose) streams.write(`pod/${pod.metadata.name} ${what} started\n`)
    if (what === 'eviction') streams.write(`${operationText(`evicting pod ${keyOf(pod)}`, dryRun)}\n`)
  }

  async #ended(pod: Pod, { terminations, signal }: Removal, operation: string): Promise<void> {
    const { skipDeletedSeconds } = this.#options
    const { streams } = this.#factory.machine
    const name = pod.metadata.name ?? ''
    const skips = skipDeletedSeconds > 0 && { isSkipped: (each: Pod) => isSkipped(each, this.#policy()) }
    if ((await terminations.end(pod, { signal, ...skips })) === 'gone')
      streams.write(`pod/${name} ${operation}\n`)
    else {
      const age = `DeletionTimestamp older than ${skipDeletedSeconds} seconds`
      streams.write(`pod ${quote(name)} has ${age}, skipping\n`)
    }
  }

  async #describePending(error: unknown): Promise<void> {
    const { stderr } = this.#factory.machine.streams
    const pending = (await this.#plan()).filter(({ isDeleted }) => isDeleted)
    if (pending.length === 0) return
    stderr.write(
      `There are pending pods in node ${quote(this.#node)} when an error occurred: ` +
        `${drainErrorText(error)}\n`,
    )
    for (const { pod } of pending) stderr.write(`pod/${pod.metadata.name}\n`)
  }
}

/** `a`, or `[a, b]` for several errors. */
export function drainErrorText(error: unknown): string {
  if (!(error instanceof AggregateError)) return messageOf(error)
  const texts = [...new Set(error.errors.map(messageOf))]
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`
}

interface Removal {
  readonly terminations: PodTerminations
  readonly signal: AbortSignal
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`
}

/** The reason of an abort is reported only if it is the timeout. */
function interruptionOf(signal: AbortSignal, text: string): unknown {
  const isTimeout = !signal.aborted || signal.reason instanceof DeadlineExceededError
  return isTimeout ? new Error(text, { cause: signal.reason }) : signal.reason
}

function textOf(error: unknown): string {
  return error instanceof DeadlineExceededError ? 'context deadline exceeded' : messageOf(error)
}

/** Aborts its signal when it is disposed. */
class DisposableAbort implements Disposable {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal

  constructor(parent: AbortSignal) {
    this.signal = AbortSignal.any([parent, this.#controller.signal])
  }

  [Symbol.dispose](): void {
    this.#controller.abort(new Error('the drain has ended'))
  }
}
