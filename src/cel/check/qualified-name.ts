import type { Expression } from '../syntax.ts'

/** `a.b.c` if the expression consists only of names and dots. */
export function qualifiedName(expression: Expression): string | undefined {
  const names: string[] = []
  let node = expression
  while (node.kind === 'select') {
    if (node.mode !== 'value') return undefined
    names.push(node.field)
    node = node.operand
  }
  if (node.kind !== 'identifier') return undefined
  return [node.name, ...names.reverse()].join('.')
}
