/**
 * Limits the number of events: repeated events increase a count, events that differ only in their message are
 * aggregated, and a rate limit per object drops the rest. The state is in bounded LRU caches; an evicted
 * entry restarts its count.
 */
import { LruMap } from '#/base/lru-map.ts'
import { TokenBucket } from '#/base/token-bucket.ts'
import type { Event } from '#/api/generated/core/v1.ts'

/** An event to be written; its recorder has named it. */
export type NamedEvent = Event & { readonly metadata: { readonly name: string } }

/** Create the event, update the count of the existing one, or drop it. */
export type EventCorrelateResult =
  | { readonly action: 'create'; readonly event: NamedEvent }
  | { readonly action: 'update'; readonly event: NamedEvent }
  | { readonly action: 'drop' }

const cacheEntriesMax = 4_096

/** After this many different messages within the interval, further ones are aggregated into one event. */
const maxSimilarEvents = 10
const similarIntervalMs = 600_000

const spamLimits = { burst: 25, perSecond: 1 / 300 }

interface Similar {
  readonly messages: Set<string>
  lastMs: number
}

interface Known {
  readonly count: number
  readonly name: string
  readonly firstTimestamp: string | undefined
}

export class EventCorrelator {
  readonly #similar = new LruMap<string, Similar>(cacheEntriesMax)
  readonly #known = new LruMap<string, Known>(cacheEntriesMax)
  readonly #spam = new LruMap<string, TokenBucket>(cacheEntriesMax)

  correlate(event: NamedEvent, nowMs: number): EventCorrelateResult {
    const { combined, key } = this.#aggregate(event, nowMs)
    const counted = this.#count(combined, key)
    if (!this.#isWithinRate(event, nowMs)) return { action: 'drop' }
    return { action: (counted.count ?? 0) > 1 ? 'update' : 'create', event: counted }
  }

  #aggregate(event: NamedEvent, nowMs: number): { readonly combined: NamedEvent; readonly key: string } {
    const key = similarKey(event)
    const known = this.#similar.get(key)
    const isOld = known === undefined || nowMs - known.lastMs > similarIntervalMs
    const similar: Similar = isOld ? { messages: new Set(), lastMs: nowMs } : known
    similar.lastMs = nowMs
    this.#similar.set(key, similar)
    const message = event.message ?? ''
    // The set stays below its bound: once it is full, a new message is aggregated and not stored.
    if (similar.messages.has(message) || similar.messages.size < maxSimilarEvents - 1) {
      similar.messages.add(message)
      return { combined: event, key: sameKey(event) }
    }
    return { combined: { ...event, message: `(combined from similar events): ${message}` }, key }
  }

  #count(event: NamedEvent, key: string): NamedEvent {
    const known = this.#known.get(key)
    const { metadata, firstTimestamp } = event
    const counted =
      known === undefined
        ? { ...event, count: 1 }
        : {
            ...event,
            metadata: { ...metadata, name: known.name },
            count: known.count + 1,
            ...(known.firstTimestamp !== undefined && { firstTimestamp: known.firstTimestamp }),
          }
    this.#known.set(key, {
      count: counted.count,
      name: counted.metadata.name,
      firstTimestamp: known?.firstTimestamp ?? firstTimestamp,
    })
    return counted
  }

  #isWithinRate(event: Event, nowMs: number): boolean {
    const key = aboutKey(event)
    const bucket = this.#spam.get(key) ?? new TokenBucket(spamLimits, nowMs)
    this.#spam.set(key, bucket)
    return bucket.take(nowMs)
  }
}

function aboutKey({ source, involvedObject: about }: Event): string {
  return JSON.stringify([
    source?.component,
    source?.host,
    about.kind,
    about.namespace,
    about.name,
    about.uid,
    about.apiVersion,
  ])
}

function similarKey(event: Event): string {
  const { type, reason, reportingComponent, reportingInstance } = event
  return JSON.stringify([aboutKey(event), type, reason, reportingComponent, reportingInstance])
}

function sameKey(event: Event): string {
  return JSON.stringify([similarKey(event), event.involvedObject.fieldPath, event.message])
}
