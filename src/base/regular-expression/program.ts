/**
 * A regular expression compiled to instructions of a Pike VM. A split prefers its first branch, which makes
 * matches leftmost and gives greediness its meaning.
 */
import { contains, type Ranges } from './character-class.ts'
import type { Assertion, Node } from './syntax.ts'

/** Those below `split` consume a character or match. */
export const operations = { match: 0, character: 1, class: 2, split: 3, save: 4, assert: 5 } as const

/** Instruction `at` is `operation[at]`, continues at `next[at]`, and has the operand `other[at]`. */
export interface Program {
  readonly start: number
  readonly operation: Uint8Array
  readonly next: Int32Array
  /**
   * A code point, an index of a class, the second branch of a split, a slot to save to, or an assertion bit.
   */
  readonly other: Int32Array
  readonly classes: readonly CharacterSet[]
  readonly slotCount: number
  /** True if a match can begin only at the start of the text. */
  readonly isAnchored: boolean
}

/** A set of code points with a fast path for ASCII. */
export interface CharacterSet {
  readonly ranges: Ranges
  /** One byte for each of the first 128 code points. */
  readonly ascii: Uint8Array
}

/** One bit per assertion, so that the assertions that hold at a position are one number. */
const assertionBits: Readonly<Record<Assertion, number>> = {
  'text start': 1,
  'text end': 2,
  'line start': 4,
  'line end': 8,
  'word boundary': 16,
  'no word boundary': 32,
}

export function hasMember({ ranges, ascii }: CharacterSet, codePoint: number): boolean {
  return codePoint < 128 ? ascii[codePoint] === 1 : contains(ranges, codePoint)
}

export function isWordCharacter(codePoint: number): boolean {
  return (
    (codePoint >= 0x61 && codePoint <= 0x7a) ||
    (codePoint >= 0x41 && codePoint <= 0x5a) ||
    (codePoint >= 0x30 && codePoint <= 0x39) ||
    codePoint === 0x5f
  )
}

/** The assertions that hold between two characters; -1 is the start or end of the text. */
export function assertionsBetween(before: number, after: number): number {
  let bits = isWordCharacter(before) === isWordCharacter(after) ? 32 : 16
  if (before === -1) bits |= 1 | 4
  else if (before === 0x0a) bits |= 4
  if (after === -1) bits |= 2 | 8
  else if (after === 0x0a) bits |= 8
  return bits
}

export function compileProgram(tree: Node, groupCount: number): Program {
  return new Compiler().compile(tree, groupCount)
}

/** Compiles backwards: the continuation of a node is emitted before the node. */
class Compiler {
  readonly #operation: number[] = []
  readonly #next: number[] = []
  readonly #other: number[] = []
  readonly #classes: CharacterSet[] = []
  readonly #classNumbers = new Map<Ranges | string, number>()

  compile(tree: Node, groupCount: number): Program {
    const end = this.#emit(operations.save, this.#emit(operations.match, -1, 0), 1)
    const start = this.#emit(operations.save, this.#compile(tree, end), 0)
    return {
      start,
      isAnchored: this.#isAnchored(start),
      operation: Uint8Array.from(this.#operation),
      next: Int32Array.from(this.#next),
      other: Int32Array.from(this.#other),
      classes: this.#classes,
      slotCount: 2 * groupCount,
    }
  }

  #emit(operation: number, next: number, other: number): number {
    this.#next.push(next)
    this.#other.push(other)
    return this.#operation.push(operation) - 1
  }

  /** Returns the entry instruction of the node. */
  #compile(node: Node, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next
      case 'character':
        return this.#emit(operations.character, next, node.codePoint)
      case 'class':
        return this.#emit(operations.class, next, this.#classNumber(node.ranges))
      case 'assertion':
        return this.#emit(operations.assert, next, assertionBits[node.assertion])
      case 'sequence':
        return node.items.reduceRight((after, item) => this.#compile(item, after), next)
      case 'choice':
        return node.items
          .map(item => this.#compile(item, next))
          .reduceRight((rest, first) => this.#emit(operations.split, first, rest))
      case 'capture': {
        const end = this.#emit(operations.save, next, 2 * node.index + 1)
        return this.#emit(operations.save, this.#compile(node.item, end), 2 * node.index)
      }
      case 'repeat':
        return this.#compileRepeat(node, next)
    }
  }

  #compileRepeat(node: Node & { kind: 'repeat' }, next: number): number {
    const { item, min, max, isGreedy } = node
    let entry = next
    if (max === Infinity) {
      entry = this.#compileLoop(node, next)
    } else {
      for (let count = min; count < max; count++)
        entry = this.#split(this.#compile(item, entry), next, isGreedy)
    }
    const required = max === Infinity ? min - 1 : min
    for (let count = 0; count < required; count++) entry = this.#compile(item, entry)
    return entry
  }

  /** An unbounded loop. At least one iteration is required if `min` is greater than 0. */
  #compileLoop({ item, min, isGreedy }: Node & { kind: 'repeat' }, next: number): number {
    const loop = this.#emit(operations.split, next, next)
    const body = this.#compile(item, loop)
    if (isGreedy) this.#next[loop] = body
    else this.#other[loop] = body
    if (min > 0) return body
    // A nullable body is entered through a split of its own, since an empty first iteration counts.
    return item.isNullable ? this.#split(body, next, isGreedy) : loop
  }

  #split(body: number, next: number, isGreedy: boolean): number {
    return this.#emit(operations.split, isGreedy ? body : next, isGreedy ? next : body)
  }

  /** True if no thread that starts after the beginning of the text passes the assertions. */
  #isAnchored(start: number): boolean {
    const visited = new Set<number>()
    const pending = [start]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (visited.has(at)) continue
      visited.add(at)
      const operation = this.#operation[at] ?? operations.match
      if (operation < operations.split) return false
      if (operation === operations.assert && this.#other[at] === assertionBits['text start']) continue
      pending.push(this.#next[at] ?? 0)
      if (operation === operations.split) pending.push(this.#other[at] ?? 0)
    }
    return true
  }

  #classNumber(ranges: Ranges): number {
    const known = this.#classNumbers.get(ranges)
    if (known !== undefined) return known
    const key = ranges.join()
    const number = this.#classNumbers.get(key) ?? this.#classes.push(characterSet(ranges)) - 1
    this.#classNumbers.set(key, number)
    this.#classNumbers.set(ranges, number)
    return number
  }
}

function characterSet(ranges: Ranges): CharacterSet {
  const ascii = new Uint8Array(128)
  for (let index = 0; index < ranges.length && (ranges[index] ?? 0) < 128; index += 2) {
    ascii.fill(1, ranges[index], (ranges[index + 1] ?? 0) + 1)
  }
  return { ranges, ascii }
}
