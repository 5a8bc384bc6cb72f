/**
 * Tests whether a text has a match, with a lazily built DFA: a state is the set of instructions at which
 * threads wait, and each transition is computed once and then looked up. The cached states are bounded and
 * discarded at the bound.
 */
import { assertionsBetween, hasMember, isWordCharacter, operations, type Program } from './program.ts'
import type { Steps } from './steps.ts'

/**
 * Maximum number of cached cells of one automaton, about a megabyte; all states are discarded at the bound.
 */
const cellsMax = 100_000
/** Number of symbols with an entry in a state's transition table; the rest are in a map. */
const tableSymbolsMax = 256

/** Steps charged per thread for creating a state, for sorting and looking it up. */
const newStateSteps = 8

/** Class of the preceding character, as far as assertions depend on it. */
type Before = -1 | 0x0a | 0x61 | 0x20

interface State {
  /**
   * Sorted, before assertions are evaluated. The start instruction is implied unless the expression is
   * anchored.
   */
  readonly threads: Int32Array
  readonly before: Before
  readonly table: (State | undefined)[]
  readonly map: Map<number, State>
  acceptsEnd?: boolean
}

export class Automaton {
  readonly #program: Program
  /** First code point of each symbol. Code points of one symbol are equivalent for every instruction. */
  readonly #boundaries: Int32Array
  readonly #asciiSymbols = new Uint8Array(128)
  readonly #tableSize: number
  /** Visit number of the last visit of each instruction. */
  readonly #visited: Int32Array
  #visit = 0
  readonly #states = new Map<string, State>()
  readonly #starts = new Map<Before, State>()
  #cells = 0

  constructor(program: Program) {
    this.#program = program
    this.#boundaries = boundariesOf(program)
    for (let code = 0; code < 128; code++) this.#asciiSymbols[code] = this.#symbolOf(code)
    this.#tableSize = Math.min(this.#boundaries.length + 1, tableSymbolsMax)
    this.#visited = new Int32Array(program.operation.length)
  }

  /** True if there is a match that begins at `from` or later. */
  hasMatch(text: string, from: number, steps: Steps): boolean {
    if (this.#program.isAnchored && from > 0) return false
    let state = this.#startOf(beforeOf(from === 0 ? -1 : text.charCodeAt(from - 1)))
    for (let at = from; at < text.length; at++) {
      let codePoint = text.charCodeAt(at)
      let symbol: number
      if (codePoint < 128) symbol = this.#asciiSymbols[codePoint] ?? 0
      else {
        codePoint = text.codePointAt(at) ?? 0
        if (codePoint > 0xffff) at++
        symbol = this.#symbolOf(codePoint)
      }
      const next = symbol < this.#tableSize ? state.table[symbol] : state.map.get(symbol)
      state = next ?? this.#step(state, codePoint, steps)
      if (state === matched) return true
      if (state === dead) return false
    }
    state.acceptsEnd ??= this.#successors(state, -1, steps) === matched
    return state.acceptsEnd
  }

  #startOf(before: Before): State {
    const start = this.#starts.get(before) ?? this.#stateOf([], before)
    this.#starts.set(before, start)
    return start
  }

  /** Computes a transition and remembers it. */
  #step(state: State, codePoint: number, steps: Steps): State {
    const next = this.#successors(state, codePoint, steps)
    const symbol = this.#symbolOf(codePoint)
    if (symbol < this.#tableSize) state.table[symbol] = next
    else {
      state.map.set(symbol, next)
      this.#cells += 4
    }
    return next
  }

  /** The state after a character. -1 is the end of the text, after which only a match counts. */
  #successors(state: State, codePoint: number, steps: Steps): State {
    const { operation, next, other, classes, start } = this.#program
    const holding = assertionsBetween(state.before, codePoint)
    const pending = [...state.threads]
    if (!this.#program.isAnchored || state.before === -1) pending.push(start)
    const targets: number[] = []
    const visit = ++this.#visit
    let taken = 0
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (this.#visited[at] === visit) continue
      this.#visited[at] = visit
      taken++
      const following = next[at] ?? 0
      const argument = other[at] ?? 0
      switch (operation[at]) {
        case operations.match:
          return matched
        case operations.character:
          if (argument === codePoint) targets.push(following)
          break
        case operations.class: {
          const set = classes[argument]
          if (codePoint !== -1 && set && hasMember(set, codePoint)) targets.push(following)
          break
        }
        case operations.assert:
          if ((holding & argument) !== 0) pending.push(following)
          break
        case operations.split:
          pending.push(argument, following)
          break
        case operations.save:
        case undefined:
          pending.push(following)
      }
    }
    steps.take(taken + newStateSteps * targets.length)
    if (targets.length === 0 && this.#program.isAnchored) return dead
    return this.#stateOf(targets, beforeOf(codePoint))
  }

  #stateOf(targets: readonly number[], before: Before): State {
    const threads = Int32Array.from(new Set(targets)).sort()
    const key = `${before}:${threads.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state: State = { threads, before, table: Array.from({ length: this.#tableSize }), map: new Map() }
    this.#cells += 2 * threads.length + this.#tableSize + 32
    if (this.#cells > cellsMax) {
      this.#states.clear()
      this.#starts.clear()
      this.#cells = 0
    }
    this.#states.set(key, state)
    return state
  }

  #symbolOf(codePoint: number): number {
    let low = 0
    let high = this.#boundaries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#boundaries[middle] ?? 0) <= codePoint) low = middle + 1
      else high = middle
    }
    return low
  }
}

const matched: State = { threads: new Int32Array(), before: -1, table: [], map: new Map() }
const dead: State = { threads: new Int32Array(), before: -1, table: [], map: new Map() }

function beforeOf(codePoint: number): Before {
  if (codePoint === -1 || codePoint === 0x0a) return codePoint
  return isWordCharacter(codePoint) ? 0x61 : 0x20
}

/** Newlines and word characters are separate symbols because assertions depend on them. */
function boundariesOf({ operation, other, classes }: Program): Int32Array {
  const boundaries = new Set([0x0a, 0x0b, 0x30, 0x3a, 0x41, 0x5b, 0x5f, 0x60, 0x61, 0x7b])
  for (const { ranges } of classes) {
    for (const [index, each] of ranges.entries()) boundaries.add(index % 2 === 0 ? each : each + 1)
  }
  for (const [at, kind] of operation.entries()) {
    if (kind === operations.character) boundaries.add(other[at] ?? 0).add((other[at] ?? 0) + 1)
  }
  return Int32Array.from(boundaries).sort()
}
