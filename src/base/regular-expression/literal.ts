import type { Node } from './syntax.ts'

/** The literal prefix of every match; empty if there is none. */
export interface Literal {
  readonly text: string
  /** True if the literal is the whole expression, anchors aside. */
  readonly isWhole: boolean
  readonly isAtStart: boolean
  /** True only if `isWhole` is. */
  readonly isAtEnd: boolean
}

export function literalOf(tree: Node): Literal {
  const items = tree.kind === 'sequence' ? tree.items : [tree]
  const isAtStart = isAssertion(items[0], 'text start')
  let index = isAtStart ? 1 : 0
  const codePoints: number[] = []
  for (; index < items.length; index++) {
    const item = items[index]
    if (item?.kind !== 'character') break
    codePoints.push(item.codePoint)
  }
  const isAtEnd = index === items.length - 1 && isAssertion(items[index], 'text end')
  const isWhole = isAtEnd || index === items.length
  let text = ''
  for (const codePoint of codePoints) text += String.fromCodePoint(codePoint)
  return { text, isWhole, isAtStart, isAtEnd }
}

/** `test` for an expression that is only a literal. */
export function hasLiteral(text: string, { text: wanted, isAtStart, isAtEnd }: Literal): boolean {
  if (isAtStart) return isAtEnd ? text === wanted : text.startsWith(wanted)
  return isAtEnd ? text.endsWith(wanted) : text.includes(wanted)
}

function isAssertion(node: Node | undefined, assertion: 'text start' | 'text end'): boolean {
  return node?.kind === 'assertion' && node.assertion === assertion
}
