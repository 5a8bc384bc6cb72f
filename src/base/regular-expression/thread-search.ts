/**
 * Finds the first match and its captures by Pike's simulation: threads advance through the program in
 * lockstep, one character at a time, in order of preference. Each instruction has at most one thread, so a
 * character costs at most as many steps as the program has instructions.
 */
import { assertionsBetween, hasMember, operations, type Program } from './program.ts'
import type { Steps } from './steps.ts'

/** Positions by slot: group n starts at slot 2n and ends at slot 2n + 1; -1 if it did not participate. */
export type Captures = readonly number[]

/** Threads in order of preference. */
class ThreadList {
  readonly instructions: Int32Array
  readonly captures: Captures[] = []
  size = 0

  constructor(sizeMax: number) {
    this.instructions = new Int32Array(sizeMax)
  }
}

/** A branch still to be followed. */
interface Way {
  readonly at: number
  readonly captures: Captures
}

export class ThreadSearch {
  readonly #program: Program
  readonly #visited: Int32Array
  readonly #noCaptures: Captures
  #visit = 0
  #present: ThreadList
  #following: ThreadList

  constructor(program: Program) {
    this.#program = program
    this.#visited = new Int32Array(program.operation.length)
    this.#noCaptures = Array<number>(program.slotCount).fill(-1)
    this.#present = new ThreadList(program.operation.length)
    this.#following = new ThreadList(program.operation.length)
  }

  /**
   * The leftmost match that begins at `from` or later. `skip` gives the next position where a match can
   * begin.
   */
  find(
    text: string,
    from: number,
    options: { skip: (at: number) => number; steps: Steps },
  ): Captures | undefined {
    let found: Captures | undefined
    this.#present.size = 0
    let at = from
    let before = from === 0 ? -1 : codePointBefore(text, from)
    for (;;) {
      if (this.#present.size === 0) {
        if (found !== undefined) return found
        const candidate = options.skip(at)
        if (candidate > text.length) return undefined
        if (candidate > at) before = codePointBefore(text, candidate)
        at = candidate
        this.#visit++
      }
      const codePoint = at < text.length ? (text.codePointAt(at) ?? 0) : -1
      if (found === undefined) {
        this.#follow(
          this.#present,
          { at: this.#program.start, captures: this.#noCaptures },
          {
            position: at,
            holding: assertionsBetween(before, codePoint),
            steps: options.steps,
          },
        )
      }
      if (codePoint === -1) return this.#finished(this.#present) ?? found
      const width = codePoint > 0xffff ? 2 : 1
      const after = at + width < text.length ? (text.codePointAt(at + width) ?? 0) : -1
      this.#visit++
      found =
        this.#advance(codePoint, {
          position: at + width,
          holding: assertionsBetween(codePoint, after),
          steps: options.steps,
        }) ?? found
      before = codePoint
      at += width
    }
  }

  /** Advances all threads past a character; threads of lower preference than a matching one are dropped. */
  #advance(codePoint: number, place: Place): Captures | undefined {
    const { operation, next, other, classes } = this.#program
    const list = this.#present
    const { instructions, captures, size } = list
    this.#following.size = 0
    let found: Captures | undefined
    for (let index = 0; index < size && found === undefined; index++) {
      const at = instructions[index] ?? 0
      const kind = operation[at]
      if (kind === operations.match) found = captures[index]
      else {
        const argument = other[at] ?? 0
        const set = classes[argument]
        const isMember =
          kind === operations.character
            ? argument === codePoint
            : set !== undefined && hasMember(set, codePoint)
        if (isMember) {
          this.#follow(this.#following, { at: next[at] ?? 0, captures: captures[index] ?? [] }, place)
        }
      }
    }
    place.steps.take(size)
    this.#present = this.#following
    this.#following = list
    return found
  }

  #finished(list: ThreadList): Captures | undefined {
    for (let index = 0; index < list.size; index++) {
      if (this.#program.operation[list.instructions[index] ?? 0] === operations.match)
        return list.captures[index]
    }
    return undefined
  }

  /** Adds a thread for every instruction reachable without consuming a character, in order of preference. */
  #follow(list: ThreadList, way: Way, { position, holding, steps }: Place): void {
    const { operation, next, other } = this.#program
    const pending: Way[] = [way]
    let taken = 0
    for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
      let { at, captures } = current
      while (this.#visited[at] !== this.#visit) {
        this.#visited[at] = this.#visit
        taken++
        const kind = operation[at]
        const argument = other[at] ?? 0
        if (kind === operations.split) pending.push({ at: argument, captures })
        else if (kind === operations.save) {
          captures = captures.with(argument, position)
          steps.take(captures.length >> 3)
        } else if (kind !== operations.assert || (holding & argument) === 0) {
          if (kind !== operations.assert) {
            list.instructions[list.size] = at
            list.captures[list.size++] = captures
          }
          break
        }
        at = next[at] ?? 0
      }
    }
    steps.take(taken)
  }
}

/** Position at which threads are added. */
interface Place {
  readonly position: number
  /** Bits of the assertions that hold at the position. */
  readonly holding: number
  readonly steps: Steps
}

function codePointBefore(text: string, at: number): number {
  const last = text.charCodeAt(at - 1)
  return last >= 0xdc00 && last <= 0xdfff ? (text.codePointAt(at - 2) ?? last) : last
}
