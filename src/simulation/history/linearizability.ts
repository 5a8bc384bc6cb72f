/**
 * Decides if a concurrent history is linearizable: if there is an order of its operations that a sequential model
 * explains and in which no operation comes before one that had returned when it was called. The algorithm is the
 * search of Wing and Gong with the improvements of Lowe ("Testing for linearizability", 2017), which Porcupine uses,
 * too: operations are taken from a linked list of calls and returns, and a set of visited pairs of taken operations and
 * state cuts off branches that were searched before. The problem is NP-complete, so the search has bounds, at which
 * the answer is `undecided`.
 */
export interface Model<State, Op> {
  readonly initial: State
  /** The state after the operation; undefined when it cannot have happened with its outcome in this state. */
  readonly step: (state: State, operation: Op) => State | undefined
  /** False if the operation can come neither next nor later. When absent, only `step` tells. */
  readonly canFollow?: (state: State, operation: Op) => boolean
  /** Equal for equal states. */
  readonly describe: (state: State) => string
  /** A guess: operations with a lower rank are tried first. The answer does not depend on it. */
  readonly rank?: (operation: Op) => number
}

export interface TimedOperation<Op> {
  readonly operation: Op
  readonly callMs: number
  /** Infinity if the operation may happen at any later time. */
  readonly returnMs: number
  /** The operation may also never have happened. */
  readonly isOptional: boolean
}

export interface SearchBounds {
  readonly stepsMax: number
  /** Bounds the memory. */
  readonly visitedMax: number
}

export type Linearization<Op> =
  | { readonly type: 'linearizable'; readonly order: readonly Op[] }
  | { readonly type: 'violation'; readonly stuck: Stuck<Op> }
  | { readonly type: 'undecided'; readonly steps: number }

/** The longest order that was found: what comes next is not possible in its last state. */
export interface Stuck<Op> {
  readonly length: number
  /** The end of the order. */
  readonly last: readonly Op[]
  readonly state: string
  readonly next: readonly Op[]
}

/** Operations shown of an order that leads nowhere. */
const lastShown = 5

/** Calls and returns that are searched for an operation that is not possible any more. */
const lookAhead = 50

const usualBounds: SearchBounds = { stepsMax: 5_000_000, visitedMax: 2_000_000 }

export function linearize<State, Op>(
  model: Model<State, Op>,
  operations: readonly TimedOperation<Op>[],
  bounds: SearchBounds = usualBounds,
): Linearization<Op> {
  return new Search(model, operations, bounds).run()
}

/** A call or a return in the list of events, ordered by time. */
interface Event {
  readonly index: number
  readonly atMs: number
  readonly isCall: boolean
  previous: Event | undefined
  next: Event | undefined
}

/** One operation of the order, and what else can come in its place. */
interface Frame<State> {
  readonly state: State
  candidates: readonly number[]
  next: number
  hasOptional: boolean
}

class Search<State, Op> {
  readonly #model: Model<State, Op>
  readonly #bounds: SearchBounds
  /** Required operations in the order of their calls, then optional ones. */
  readonly #operations: readonly TimedOperation<Op>[]
  readonly #requiredCount: number
  /** Required operations that are not taken, as calls and returns. The head is not an event. */
  readonly #head: Event = { index: -1, atMs: -Infinity, isCall: false, previous: undefined, next: undefined }
  readonly #calls: Event[] = []
  readonly #returns: (Event | undefined)[] = []
  readonly #taken: Uint8Array
  /** Operations of the order, one for each frame but the last. */
  readonly #order: number[] = []
  /** For each operation of the order, the last required one that is taken with it. */
  readonly #lastTaken: number[] = []
  readonly #visited = new Set<string>()
  #requiredLeft: number
  /** The first required operation that is not taken. */
  #firstLeft = 0
  #best: Stuck<Op> | undefined

  constructor(model: Model<State, Op>, operations: readonly TimedOperation<Op>[], bounds: SearchBounds) {
    this.#model = model
    this.#bounds = bounds
    const byCall = operations.toSorted((left, right) => left.callMs - right.callMs)
    const required = byCall.filter(({ isOptional }) => !isOptional)
    this.#operations = [...required, ...byCall.filter(({ isOptional }) => isOptional)]
    this.#requiredCount = required.length
    this.#requiredLeft = required.length
    this.#taken = new Uint8Array(operations.length)
    this.#link(required)
  }

  run(): Linearization<Op> {
    const frames = [this.#frame(this.#model.initial)]
    for (let steps = 0; this.#requiredLeft > 0; steps++) {
      if (steps >= this.#bounds.stepsMax || this.#visited.size >= this.#bounds.visitedMax) {
        return { type: 'undecided', steps }
      }
      const frame = frames.at(-1)!
      const index = this.#nextCandidate(frame)
      if (index === undefined) {
        frames.pop()
        const last = this.#order.pop()
        if (last === undefined) return { type: 'violation', stuck: this.#best! }
        this.#lastTaken.pop()
        this.#putBack(last)
        continue
      }
      const state = this.#model.step(frame.state, this.#operations[index]!.operation)
      if (state === undefined || this.#isDeadEnd(state, index)) continue
      this.#take(index)
      const isRequired = index < this.#requiredCount
      const lastTaken = Math.max(this.#lastTaken.at(-1) ?? -1, isRequired ? index : -1)
      if (this.#visit(lastTaken, state)) {
        this.#putBack(index)
        continue
      }
      this.#order.push(index)
      this.#lastTaken.push(lastTaken)
      frames.push(this.#frame(state))
    }
    return { type: 'linearizable', order: this.#operationsOf(this.#order) }
  }

  #link(required: readonly TimedOperation<Op>[]): void {
    const events: Event[] = []
    for (const [index, { callMs, returnMs }] of required.entries()) {
      const event = (atMs: number, isCall: boolean): Event => {
        return { index, atMs, isCall, previous: undefined, next: undefined }
      }
      this.#calls[index] = event(callMs, true)
      this.#returns[index] = returnMs === Infinity ? undefined : event(returnMs, false)
      events.push(this.#calls[index], ...(this.#returns[index] ? [this.#returns[index]] : []))
    }
    // At the same time calls come first: the operations are then concurrent, which allows more.
    events.sort((left, right) => left.atMs - right.atMs || Number(right.isCall) - Number(left.isCall))
    let last = this.#head
    for (const event of events) {
      event.previous = last
      last.next = event
      last = event
    }
  }

  #frame(state: State): Frame<State> {
    const candidates = this.#requiredCandidates()
    if (this.#best === undefined || this.#order.length > this.#best.length) {
      this.#best = {
        length: this.#order.length,
        last: this.#operationsOf(this.#order.slice(-lastShown)),
        state: this.#model.describe(state),
        next: this.#operationsOf(candidates),
      }
    }
    return { state, candidates, next: 0, hasOptional: false }
  }

  /** True if one of the next operations is not possible any more after this one. */
  #isDeadEnd(state: State, index: number): boolean {
    const { canFollow } = this.#model
    if (canFollow === undefined) return false
    let event = this.#head.next
    for (let count = 0; event && count < lookAhead; count++, event = event.next) {
      if (event.index !== index && !canFollow(state, this.#operations[event.index]!.operation)) return true
    }
    return false
  }

  /** Those that were called before the first return of an operation that is not taken. */
  #requiredCandidates(): readonly number[] {
    const found: number[] = []
    for (let event = this.#head.next; event?.isCall; event = event.next) found.push(event.index)
    return this.#ranked(found)
  }

  /** Optional operations are tried last: most of them have not happened. */
  #optionalCandidates(): readonly number[] {
    let first = this.#head.next
    while (first?.isCall) first = first.next
    const untilMs = first?.atMs ?? Infinity
    const lastCallMs = this.#operations[this.#lastTaken.at(-1) ?? -1]?.callMs ?? -Infinity
    const found: number[] = []
    for (let index = this.#requiredCount; index < this.#operations.length; index++) {
      const { callMs, returnMs } = this.#operations[index]!
      if (this.#taken[index] === 0 && callMs <= untilMs && returnMs >= lastCallMs) found.push(index)
    }
    return this.#ranked(found)
  }

  #ranked(found: number[]): number[] {
    const { rank } = this.#model
    if (rank === undefined) return found
    const rankOf = (index: number): number => rank(this.#operations[index]!.operation)
    return found.sort((left, right) => rankOf(left) - rankOf(right) || left - right)
  }

  #nextCandidate(frame: Frame<State>): number | undefined {
    if (frame.next === frame.candidates.length && !frame.hasOptional) {
      frame.hasOptional = true
      frame.candidates = this.#optionalCandidates()
      frame.next = 0
    }
    return frame.candidates[frame.next++]
  }

  #take(index: number): void {
    this.#taken[index] = 1
    if (index >= this.#requiredCount) return
    this.#requiredLeft--
    while (this.#taken[this.#firstLeft] === 1 && this.#firstLeft < this.#requiredCount) this.#firstLeft++
    unlink(this.#calls[index]!)
    if (this.#returns[index]) unlink(this.#returns[index])
  }

  /** Operations are put back in the opposite order in which they were taken, so the neighbors are the same. */
  #putBack(index: number): void {
    this.#taken[index] = 0
    if (index >= this.#requiredCount) return
    this.#requiredLeft++
    this.#firstLeft = Math.min(this.#firstLeft, index)
    if (this.#returns[index]) relink(this.#returns[index])
    relink(this.#calls[index]!)
  }

  /**
   * True if the search was in this state with the same operations taken before. All required operations are taken
   * but for a few among the last ones, so the key is short.
   */
  #visit(lastTaken: number, state: State): boolean {
    let key = `${this.#firstLeft}`
    for (let index = this.#firstLeft; index <= lastTaken; index++) {
      if (this.#taken[index] === 1) key += ` ${index}`
    }
    for (let index = this.#requiredCount; index < this.#operations.length; index++) {
      if (this.#taken[index] === 1) key += ` ${index}`
    }
    key += `|${this.#model.describe(state)}`
    if (this.#visited.has(key)) return true
    this.#visited.add(key)
    return false
  }

  #operationsOf(indices: readonly number[]): Op[] {
    return indices.map(index => this.#operations[index]!.operation)
  }
}

function unlink(event: Event): void {
  event.previous!.next = event.next
  if (event.next) event.next.previous = event.previous
}

function relink(event: Event): void {
  event.previous!.next = event
  if (event.next) event.next.previous = event
}
