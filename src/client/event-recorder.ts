/**
 * Records Event objects for a component, and logs them. Recording never blocks and never fails: events go
 * into a bounded queue, and one worker correlates and writes them as other Kubernetes clients do. When the
 * queue is full, events are dropped: they are best effort.
 */
import { Queue } from '#/base/queue.ts'
import { ApiError, isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { ObjectReference } from '#/api/generated/core/v1.ts'
import { events } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Client } from './client.ts'
import { EventCorrelator, type NamedEvent } from './event-correlator.ts'

export interface EventRecorderOptions {
  readonly client: Client
  readonly platform: Platform
  /** The reporting component: `kubelet`, `deployment-controller`. */
  readonly component: string
  /** The node, for components that run on each node. */
  readonly host?: string
}

export interface EventContent {
  readonly type: 'Normal' | 'Warning'
  /** Upper camel case, machine readable: `FailedScheduling`. */
  readonly reason: string
  /** Human readable. */
  readonly message: string
  /** The part of the object concerned: `spec.containers{web}`. */
  readonly fieldPath?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** Maximum number of queued events; further ones are dropped. */
const queueMax = 1_000

const triesMax = 12
const retryMs = 10_000

/** Maximum length of an object name. */
const nameCharactersMax = 253

export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #correlator = new EventCorrelator()
  readonly #queue = new Queue<{ readonly event: NamedEvent; readonly atMs: number }>()
  #wake: (() => void) | undefined
  #dropped = 0
  #lastNanoseconds = 0n

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  /** Number of events dropped because the queue was full. */
  get dropped(): number {
    return this.#dropped
  }

  /** `about` needs only kind, apiVersion, name and uid. */
  record(about: KubernetesObject, content: EventContent): void {
    const { platform, component } = this.#options
    const { type, reason, message } = content
    platform.log.info('Event occurred', { component, about: describe(about), type, reason, message })
    if (this.#queue.length >= queueMax) {
      this.#dropped++
      return
    }
    this.#queue.push({
      event: this.#eventOf(about, content),
      atMs: platform.clock.monotonicMs(),
    })
    this.#wake?.()
  }

  /** Writes events until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [next] = this.#queue.take(1)
      if (next === undefined) await this.#nextEvent(signal)
      else await this.#write(next.event, next.atMs, signal)
    }
  }

  #nextEvent(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  async #write(recorded: NamedEvent, atMs: number, signal: AbortSignal): Promise<void> {
    const {
      platform: { clock, random, log },
    } = this.#options
    const correlated = this.#correlator.correlate(recorded, atMs)
    if (correlated.action === 'drop') return
    const { event } = correlated
    for (let tries = 1; tries <= triesMax && !signal.aborted; tries++) {
      try {
        if (correlated.action === 'create') await this.#create(event, signal)
        else await this.#update(event, signal)
        return
      } catch (error) {
        if (signal.aborted) return
        // Client errors are not retried.
        if (error instanceof ApiError && error.code < 500 && error.code !== 429) {
          // Expected when a namespace is deleted while events about its objects are written.
          const isExpected = isNamespaceTerminating(error) || isApiError(error, 'NotFound')
          if (!isApiError(error, 'AlreadyExists')) {
            log[isExpected ? 'debug' : 'warn']('Server rejected event (will not retry!)', {
              reason: event.reason,
              error,
            })
          }
          return
        }
        const waitMs = tries === 1 ? retryMs * random.fraction('retry of an event') : retryMs
        await clock.sleep(waitMs, signal).catch(() => undefined)
      }
    }
    if (!signal.aborted) log.warn('Unable to write event (retry limit exceeded!)', { reason: event.reason })
  }

  async #create(event: NamedEvent, signal: AbortSignal): Promise<void> {
    await this.#options.client.create(events, event, { signal })
  }

  /** Creates the event if it has expired meanwhile. */
  async #update(event: NamedEvent, signal: AbortSignal): Promise<void> {
    const {
      count,
      message,
      lastTimestamp,
      metadata: { namespace, name },
    } = event
    const patch = { count, message, lastTimestamp }
    try {
      await this.#options.client.patch(events, { namespace, name }, { type: 'strategic', patch }, { signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      await this.#create(event, signal)
    }
  }

  #eventOf(
    about: KubernetesObject,
    { type, reason, message, fieldPath, annotations }: EventContent,
  ): NamedEvent {
    const {
      component,
      host,
      platform: { clock },
    } = this.#options
    const now = formatTime(clock.now())
    const name = about.metadata.name ?? ''
    return {
      metadata: {
        namespace: about.metadata.namespace || 'default',
        name: this.#nameFor(name),
        ...(annotations && { annotations }),
      },
      involvedObject: referenceTo(about, fieldPath),
      type,
      reason,
      message,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component, ...(host && { host }) },
      reportingComponent: component,
      reportingInstance: host ?? '',
    }
  }

  /** The object's name and a timestamp that is unique within this recorder. */
  #nameFor(name: string): string {
    const {
      platform: { clock, random },
    } = this.#options
    const nanoseconds = BigInt(Math.floor(clock.now() * 1_000)) * 1_000n
    this.#lastNanoseconds = nanoseconds > this.#lastNanoseconds ? nanoseconds : this.#lastNanoseconds + 1n
    const full = `${name}.${this.#lastNanoseconds.toString(16)}`
    return full.length > nameCharactersMax || name === '' ? random.uuid('name of an event') : full
  }
}

function referenceTo(
  { apiVersion, kind, metadata }: KubernetesObject,
  fieldPath: string | undefined,
): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(fieldPath && { fieldPath }),
  }
}

/** `Pod default/web-0`. */
function describe({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace ? `${metadata.namespace}/` : ''}${metadata.name}`
}
