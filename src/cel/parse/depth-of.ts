import type { Expression } from '../syntax.ts'

/** Depth of a tree, at most one more than `depthMax`. Uses an explicit stack. */
export function depthOf(expression: Expression, depthMax: number): number {
  let deepest = 0
  const pending: [Expression, number][] = [[expression, 1]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, depth] = next
    if (depth > depthMax) return depth
    deepest = Math.max(deepest, depth)
    for (const child of childrenOf(node)) pending.push([child, depth + 1])
  }
  return deepest
}

function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return []
    case 'select':
      return [node.operand]
    case 'call':
      return node.target === undefined ? node.parameters : [node.target, ...node.parameters]
    case 'list':
      return node.elements.map(element => element.value)
    case 'map':
      return node.entries.flatMap(entry => [entry.key, entry.value])
    case 'struct':
      return node.fields.map(field => field.value)
    case 'comprehension':
      return node.condition === undefined ? [node.range, node.body] : [node.range, node.condition, node.body]
    case 'binding':
      return [node.value, node.body]
  }
}
