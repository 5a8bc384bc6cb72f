/** Evaluator for kinds of which only objects are counted. */
import { one } from './amounts.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'

/** Kinds with a short quota name, which predates `count/...`. */
const oldNames: ReadonlyMap<string, string> = new Map(
  ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'].map(name => [`count/${name}`, name]),
)

export function objectCountEvaluator(group: string, plural: string): QuotaEvaluator {
  const count = objectCountName(group, plural)
  const old = oldNames.get(count)
  const usage = new Map([count, ...(old === undefined ? [] : [old])].map(name => [name, one]))
  return {
    matchesResource: resource => usage.has(resource),
    usage: () => usage,
    matchesScope: () => false,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
  }
}
