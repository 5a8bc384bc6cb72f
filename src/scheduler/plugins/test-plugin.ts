/** Table tests for plugins that depend only on pods and nodes. */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import type { Plugin, PluginHandle, PluginFactory } from '../framework.ts'
import { podInfoOf } from '../pod-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { stored } from '../test-cluster.ts'

/** A plugin with a context that throws on any use. */
export function pluginOf(make: PluginFactory, args: Readonly<Record<string, unknown>> = {}): Plugin {
  const nobody = new Proxy<object>({}, { get: (_target, name) => assertNever(String(name)) })
  return make(nobody as PluginHandle, args)
}

function assertNever(name: string): never {
  throw new Error(`the plugin asks for ${name}`)
}

/** A snapshot with these nodes, and the pods bound to them. */
export function snapshotOf(nodes: readonly Node[], pods: readonly Pod[] = []): Snapshot {
  const cache = new SchedulerCache()
  for (const node of nodes) cache.setNode(stored(node))
  for (const [index, pod] of pods.entries()) {
    cache.setPod(stored({ ...pod, metadata: { uid: `placed-${index}`, ...pod.metadata } }))
  }
  return cache.snapshot()
}

/** The reasons by node, with `!` appended if unresolvable; empty if feasible. */
export function statusesOf(plugin: Plugin, pod: Pod, snapshot: Snapshot): Readonly<Record<string, string>> {
  const said = plugin.preFilter?.(podInfoOf(stored(pod)), snapshot)
  return Object.fromEntries(
    snapshot.nodes.map(node => {
      const isMeant = said === undefined || 'reason' in said || (said.preFilterResult?.has(node.name) ?? true)
      if (!isMeant) return [node.name, 'not named']
      const status = said === undefined || 'reason' in said ? said : said.filter(node)
      if (status === undefined) return [node.name, '']
      const { reason, more = [], isUnresolvable } = status
      return [node.name, `${[reason, ...more].join(', ')}${isUnresolvable ? '!' : ''}`]
    }),
  )
}

/** The normalized scores by node; undefined if the plugin does not score the pod. */
export function scoresOf(
  plugin: Plugin,
  pod: Pod,
  snapshot: Snapshot,
): Readonly<Record<string, number>> | undefined {
  const state = plugin.score?.(podInfoOf(stored(pod)), snapshot, snapshot.nodes)
  if (state === undefined) return undefined
  const scores = Float64Array.from(snapshot.nodes, node => state.score(node))
  state.normalizeScore?.(scores)
  return Object.fromEntries(snapshot.nodes.map(({ name }, index) => [name, scores[index]!]))
}

/** The queueing hint of the plugin for a change. */
export function isRequeuedBy(
  plugin: Plugin,
  pod: Pod,
  plural: 'nodes' | 'pods',
  { before, after }: { readonly before?: Node | Pod; readonly after?: Node | Pod },
): boolean {
  const type = before === undefined ? 'add' : after === undefined ? 'delete' : 'update'
  const change = { ...(before && { before: stored(before) }), ...(after && { after: stored(after) }) }
  return (plugin.eventsToRegister ?? []).some(({ resource, on, queueingHint }) => {
    return resource.plural === plural && on.includes(type) && (queueingHint?.(stored(pod), change) ?? true)
  })
}
