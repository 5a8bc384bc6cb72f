/**
 * The network path between a host and a member. Messages of each direction keep their order. While a direction is
 * blocked its messages are held and arrive after it was restored, as with TCP retransmission.
 */
import type { Clock, Random } from '#/platform/platform.ts'

/** How a host and a member are disconnected. */
export type LinkFault =
  /** Nothing arrives in either direction. */
  | 'silent'
  /** Requests arrive, responses do not. */
  | 'responses-lost'
  /** Connections are reset and refused. */
  | 'refused'

export interface LinkOptions {
  /** Clock of the members. */
  readonly clock: Clock
  readonly random: Random
  /** `HOST-MEMBER`, for labels. */
  readonly name: string
}

export class Link {
  readonly #options: LinkOptions
  readonly #toMember: Direction
  readonly #toHost: Direction
  #fault: LinkFault | undefined

  constructor(options: LinkOptions) {
    const { random, name } = options
    this.#options = options
    this.#toMember = new Direction(random, `etcd latency ${name}`)
    this.#toHost = new Direction(random, `etcd latency ${name} back`)
  }

  get isRefused(): boolean {
    return this.#fault === 'refused'
  }

  setFault(fault: LinkFault | undefined): void {
    this.#fault = fault
    this.#toMember.setBlocked(fault === 'silent')
    this.#toHost.setBlocked(fault === 'silent' || fault === 'responses-lost')
  }

  toMember(arrive: () => void): void {
    this.#toMember.send(this.#options.clock, arrive)
  }

  /** `clock` is the one of the receiving life of the host, which receives nothing after its crash. */
  toHost(clock: Clock, arrive: () => void): void {
    this.#toHost.send(clock, arrive)
  }
}

class Direction {
  readonly #random: Random
  readonly #label: string
  /** Undefined while not blocked. */
  #held: (() => void)[] | undefined
  /** Clocks of lives differ, so each has its own order. */
  readonly #lastArrivalMs = new WeakMap<Clock, number>()

  constructor(random: Random, label: string) {
    this.#random = random
    this.#label = label
  }

  setBlocked(isBlocked: boolean): void {
    const held = this.#held ?? []
    this.#held = isBlocked ? held : undefined
    if (!isBlocked) for (const send of held) send()
  }

  send(clock: Clock, arrive: () => void): void {
    if (this.#held !== undefined) {
      this.#held.push(() => this.send(clock, arrive))
      return
    }
    const nowMs = clock.monotonicMs()
    const drawnMs = latencyMs.min + this.#random.fraction(this.#label) * (latencyMs.max - latencyMs.min)
    const arrivalMs = Math.max(
      this.#lastArrivalMs.get(clock) ?? 0,
      Math.ceil((nowMs + drawnMs) * 1_000) / 1_000,
    )
    this.#lastArrivalMs.set(clock, arrivalMs)
    clock.setTimer(arrivalMs - nowMs, arrive)
  }
}

/** One way. */
const latencyMs = { min: 0.1, max: 1 }
