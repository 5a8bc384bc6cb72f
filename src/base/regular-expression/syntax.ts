/** Syntax trees of regular expressions, with Go's limits. */
import type { Ranges } from './character-class.ts'
import { syntaxError } from './error.ts'

export type Node = Measures &
  (
    | { readonly kind: 'empty' }
    | { readonly kind: 'character'; readonly codePoint: number }
    | { readonly kind: 'class'; readonly ranges: Ranges }
    | { readonly kind: 'assertion'; readonly assertion: Assertion }
    | { readonly kind: 'sequence' | 'choice'; readonly items: readonly Node[] }
    | { readonly kind: 'capture'; readonly index: number; readonly item: Node }
    | Repeat
  )

interface Repeat {
  readonly kind: 'repeat'
  readonly item: Node
  readonly min: number
  readonly max: number
  readonly isGreedy: boolean
  /** True if written with braces: only those count towards `repetition`. */
  readonly isCounted: boolean
}

export type Assertion =
  | 'text start'
  | 'text end'
  | 'line start'
  | 'line end'
  | 'word boundary'
  | 'no word boundary'

interface Measures {
  /** Depth of the tree. */
  readonly height: number
  /** Number of instructions it compiles to. */
  readonly size: number
  /** Product of the counted repetitions around the innermost node. */
  readonly repetition: number
  /** True if it can match the empty string. */
  readonly isNullable: boolean
}

/** Maximum depth of a tree, as in Go. */
const heightMax = 1_000
/** Maximum count of a repetition, and of nested repetitions multiplied, as in Go. */
export const repeatMax = 1_000
/**
 * Maximum number of instructions of a program; a larger expression is rejected. Go's limit is higher, but
 * each character may cost as many steps as there are instructions, and a search blocks the event loop.
 */
const sizeMax = 50_000

const leaf: Measures = { height: 1, size: 1, repetition: 1, isNullable: false }

const empty: Node = { kind: 'empty', ...leaf, isNullable: true }

export function character(codePoint: number): Node {
  return { kind: 'character', codePoint, ...leaf }
}

export function characterClass(ranges: Ranges): Node {
  return { kind: 'class', ranges, ...leaf }
}

export function assertion(assertionKind: Assertion): Node {
  return { kind: 'assertion', assertion: assertionKind, ...leaf, isNullable: true }
}

/** Builds the tree of one pattern, which error messages quote. */
export class TreeBuilder {
  readonly #pattern: string

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  sequence(items: readonly Node[]): Node {
    const [first = empty, ...rest] = items
    if (rest.length === 0) return first
    const isText = items.every(item => item.kind === 'character')
    return this.#checked({
      kind: 'sequence',
      items,
      ...measure(items),
      ...(isText && { height: 1 }),
      isNullable: items.every(item => item.isNullable),
    })
  }

  choice(items: readonly Node[]): Node {
    const [first = empty, ...rest] = items
    if (rest.length === 0) return first
    const { size, ...measures } = measure(items)
    const isNullable = items.some(item => item.isNullable)
    return this.#checked({ kind: 'choice', items, ...measures, size: size + rest.length, isNullable })
  }

  capture(index: number, item: Node): Node {
    const { height, size } = item
    return this.#checked({
      ...measuresOf(item),
      kind: 'capture',
      index,
      item,
      height: height + 1,
      size: size + 2,
    })
  }

  repeat(item: Node, repeated: Pick<Repeat, 'min' | 'max' | 'isGreedy' | 'isCounted'>): Node {
    const { min, max, isCounted } = repeated
    const bound = max === Infinity ? min : max
    const optional = max === Infinity ? 0 : max - min
    return this.#checked({
      kind: 'repeat',
      item,
      ...repeated,
      height: item.height + 1,
      size: Math.max(1, min) * item.size + optional * (item.size + 1) + 2,
      // A repetition of zero times does not multiply.
      repetition: isCounted && max === 0 ? 1 : item.repetition * (isCounted ? Math.max(1, bound) : 1),
      isNullable: min === 0 || item.isNullable,
    })
  }

  #checked(node: Node): Node {
    if (node.height > heightMax) throw syntaxError('expression nests too deeply', this.#pattern)
    if (node.size > sizeMax) throw syntaxError('expression too large', this.#pattern)
    return node
  }
}

function measuresOf({ height, size, repetition, isNullable }: Node): Measures {
  return { height, size, repetition, isNullable }
}

function measure(items: readonly Node[]): Pick<Measures, 'height' | 'size' | 'repetition'> {
  let height = 0
  let size = 0
  let repetition = 1
  for (const item of items) {
    height = Math.max(height, item.height)
    size += item.size
    repetition = Math.max(repetition, item.repetition)
  }
  return { height: height + 1, size, repetition }
}
