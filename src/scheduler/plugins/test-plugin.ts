/** Table tests for plugins that depend only on pods and nodes. */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { ClusterCache } from '../cluster-cache.ts'
import type { Plugin, PluginContext, PluginFactory } from '../framework.ts'
import { podInfoOf } from '../pod-info.ts'
import type { Snapshot } from '../snapshot.ts'

/** A plugin with a context that throws on any use. */
export function pluginOf(make: PluginFactory, parameters: Readonly<Record<string, unknown>> = {}): Plugin {
  const nobody = new Proxy<object>({}, { get: (_target, name) => assertNever(String(name)) })
  return make(nobody as PluginContext, parameters)
}

function assertNever(name: string): never {
  throw new Error(`the plugin asks for ${name}`)
}

/** A snapshot with these nodes, and the pods bound to them. */
export function snapshotOf(nodes: readonly Node[], pods: readonly Pod[] = []): Snapshot {
  const cache = new ClusterCache()
  for (const node of nodes) cache.setNode(node)
  for (const [index, pod] of pods.entries()) {
    cache.setPod({ ...pod, metadata: { ...pod.metadata, uid: pod.metadata?.uid ?? `placed-${index}` } })
  }
  return cache.snapshot()
}

/** The refusal reasons by node, with `!` appended if unresolvable; empty if feasible. */
export function refusalsOf(plugin: Plugin, pod: Pod, snapshot: Snapshot): Readonly<Record<string, string>> {
  const said = plugin.filter?.(podInfoOf(pod), snapshot)
  return Object.fromEntries(
    snapshot.nodes.map(node => {
      const isMeant = said === undefined || 'reason' in said || (said.only?.has(node.name) ?? true)
      if (!isMeant) return [node.name, 'not named']
      const refusal = said === undefined || 'reason' in said ? said : said.test(node)
      if (refusal === undefined) return [node.name, '']
      const { reason, more = [], isFinal } = refusal
      return [node.name, `${[reason, ...more].join(', ')}${isFinal ? '!' : ''}`]
    }),
  )
}

/** The normalized scores by node; undefined if the plugin does not score the pod. */
export function scoresOf(
  plugin: Plugin,
  pod: Pod,
  snapshot: Snapshot,
): Readonly<Record<string, number>> | undefined {
  const cycle = plugin.score?.(podInfoOf(pod), snapshot, snapshot.nodes)
  if (cycle === undefined) return undefined
  const scores = Float64Array.from(snapshot.nodes, node => cycle.score(node))
  cycle.normalize?.(scores)
  return Object.fromEntries(snapshot.nodes.map(({ name }, index) => [name, scores[index]!]))
}

/** The queueing hint of the plugin for a change. */
export function isWokenBy(
  plugin: Plugin,
  pod: Pod,
  plural: 'nodes' | 'pods',
  change: { readonly before?: Node | Pod; readonly after?: Node | Pod },
): boolean {
  const type = change.before === undefined ? 'add' : change.after === undefined ? 'delete' : 'update'
  return (plugin.wakeUps ?? []).some(({ resource, on, isHelpful }) => {
    return resource.plural === plural && on.includes(type) && (isHelpful?.(pod, change) ?? true)
  })
}
