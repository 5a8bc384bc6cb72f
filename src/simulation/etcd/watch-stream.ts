/** The member's side of a watch: sends what the member has applied, as far as the client reads it. */
import { deleteEvent, WatchRequest, WatchResponse } from '#/store/etcd-messages.ts'
import { assert } from '#/base/assert.ts'
import type { Clock, Random } from '#/platform/platform.ts'
import type { Call, CallHandler } from './call.ts'
import { drawFault, type EtcdFaults } from './etcd-faults.ts'
import { keyText, rangeEnd, type KeyHistory, type Version, type View } from './key-history.ts'
import { keyValue } from './replicated-state.ts'

export interface WatchStreamOptions {
  readonly call: Call
  readonly history: KeyHistory
  /** What the member has applied. */
  readonly view: () => View
  /** Calls back when the member's process runs. */
  readonly enter: (callback: () => void) => void
  readonly clock: Clock
  readonly random: Random
  readonly faults: () => EtcdFaults
  /** Responses with more bytes are sent in fragments. */
  readonly fragmentBytes: number
  /** Breaks the connection of the call. */
  readonly reset: () => void
  readonly onClosed: () => void
}

interface WatchedRange {
  readonly start: string
  readonly end: string | undefined
  readonly isFragmented: boolean
}

type Event = { readonly type: number; readonly kv: ReturnType<typeof keyValue> }

/** Maximum number of revisions in one response to a watch that is behind. */
const revisionsMax = 1_000

export class WatchStream implements CallHandler {
  readonly #options: WatchStreamOptions
  #watched: WatchedRange | undefined
  /** The next revision to send. */
  #next = 0
  /** Nothing is sent, because of a fault. */
  #isPaused = false

  constructor(options: WatchStreamOptions) {
    this.#options = options
    options.call.onWindow = () => this.pump()
  }

  receive(message: Uint8Array): void {
    const { createRequest } = WatchRequest.decode(message)
    assert(createRequest && this.#watched === undefined, 'only one watch per stream is simulated')
    const start = keyText(createRequest.key)
    const end = rangeEnd(start, createRequest.rangeEnd)
    const { revision } = this.#options.view()
    this.#watched = { start, end, isFragmented: createRequest.fragment }
    this.#next = createRequest.startRevision > 0 ? createRequest.startRevision : revision + 1
    this.#send({ created: true })
    this.pump()
  }

  cancelled(): void {
    this.#options.onClosed()
  }

  /** Sends what there is. Called when the member has applied more, and when the client has read. */
  pump(): void {
    const { call, view } = this.#options
    while (this.#watched && !this.#isPaused && !call.isClosedAtMember && call.hasWindow) {
      const { revision, compactRevision } = view()
      if (this.#next > revision) return
      if (this.#next < compactRevision) return this.#cancel(compactRevision)
      this.#sendEvents(this.#watched, Math.min(revision, this.#next + revisionsMax - 1))
    }
  }

  #sendEvents(watched: WatchedRange, last: number): void {
    const events: Event[] = []
    const { compactRevision } = this.#options.view()
    for (; this.#next <= last; this.#next++) {
      for (const version of this.#options.history.changesOf(this.#next)) {
        // Deletions of the compacted revision itself are gone, although a watch may start there.
        const isGone = version.value === undefined && this.#next === compactRevision
        if (!isGone && isWatched(watched, version)) events.push(eventOf(version))
      }
    }
    if (events.length === 0) return
    const { random, faults } = this.#options
    const { watchFaults, chance } = faults()
    const fault = drawFault(random, 'etcd watch fault', { faults: watchFaults, chance })
    switch (fault) {
      case 'stall':
        this.#isPaused = true
        return
      case 'reset':
        return this.#options.reset()
      case 'cancel':
        return this.#cancel(0)
      case 'delay':
        return this.#sendLate(events)
      case 'fragment':
      case undefined:
        return this.#sendFragments(events, fault === 'fragment' ? 1 : this.#options.fragmentBytes)
    }
  }

  #sendFragments(events: readonly Event[], bytesMax: number): void {
    let fragment: Event[] = []
    let bytes = 0
    for (const event of events) {
      const sizeBytes = event.kv.key.length + event.kv.value.length
      if (this.#watched?.isFragmented && fragment.length > 0 && bytes + sizeBytes > bytesMax) {
        this.#send({ events: fragment, fragment: true })
        fragment = []
        bytes = 0
      }
      fragment.push(event)
      bytes += sizeBytes
    }
    this.#send({ events: fragment })
  }

  /** A compacted revision of 0 means that the member has another reason. */
  #cancel(compactRevision: number): void {
    this.#isPaused = true
    const cancelReason = compactRevision > 0 ? '' : 'etcdserver: watch canceled'
    this.#send({ canceled: true, compactRevision, cancelReason })
  }

  #sendLate(events: readonly Event[]): void {
    const { clock, random, enter, fragmentBytes } = this.#options
    this.#isPaused = true
    const send = (): void => {
      this.#isPaused = false
      this.#sendFragments(events, fragmentBytes)
      this.pump()
    }
    clock.setTimer(random.integer('etcd watch delay', 5_000), () => enter(send))
  }

  #send(response: Partial<Parameters<typeof WatchResponse.encode>[0]>): void {
    const { call, view } = this.#options
    call.respond(WatchResponse.encode({ header: { revision: view().revision }, ...response }))
  }
}

function isWatched({ start, end }: WatchedRange, { key }: Version): boolean {
  return key >= start && (end === undefined || key < end)
}

function eventOf(version: Version): Event {
  return { type: version.value === undefined ? deleteEvent : 0, kv: keyValue(version) }
}
