import type { Node, PersistentVolume } from '#/api/generated/core/v1.ts'
import { compileNodeSelector, type NodeTest } from '#/api/selectors/node-selector.ts'

/** Compiled node affinity, cached per version of a volume. */
const compiled = new WeakMap<object, NodeTest>()

/** True if the volume's node affinity matches the node. */
export function matchesNodeAffinity({ spec }: PersistentVolume, node: Node): boolean {
  const required = spec?.nodeAffinity?.required
  if (required === undefined) return true
  const known = compiled.get(required)
  if (known !== undefined) return known(node)
  const made = compileNodeSelector(required)
  compiled.set(required, made)
  return made(node)
}
