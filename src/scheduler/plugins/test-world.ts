/**
 * Nodes and pods in a compact notation for tests of plugins. `n1 zone=a: app=web; app=db [far host app=db]`
 * is a node with labels, and pods with their labels and affinity.
 */
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import type { Affinity, Node, Pod, PodAffinityTerm } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { LabelSelector } from '#/api/selectors/selector.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { Informers } from '#/client/informers.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import { emptySnapshot } from '../snapshot.ts'
import type { FilterState, Plugin, PluginHandle, Unschedulable } from '../framework.ts'
import { SchedulerMetrics } from '../metrics.ts'
import type { NodeInfo } from '../node-info.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodeOf, podOf, stored } from '../test-cluster.ts'

/** A real API server with informers, for plugins created by a test. */
export interface PluginWorld extends TestControlPlane {
  readonly handle: PluginHandle
}

/** Shared by all tests of a file, since tables have many rows. */
export async function startPluginWorld(): Promise<PluginWorld> {
  // File hooks and test hooks have different callback arguments, which are not used here.
  const plane = await startTestControlPlane({ after } as Pick<TestContext, 'after'>, [])
  const { platform, run, settle, clientAs } = plane
  const client = clientAs('system:kube-scheduler', [])
  const informers = new Informers({ platform, client })
  const stopping = new AbortController()
  const running = informers.run(stopping.signal)
  after(async () => {
    stopping.abort()
    await run(running)
  })
  await settle()
  return {
    ...plane,
    handle: {
      platform,
      client,
      informer: resource => informers.of(resource),
      snapshot: () => emptySnapshot,
      recheckPreEnqueue: () => undefined,
      metrics: new SchedulerMetrics(new MetricsRegistry(), platform.clock),
    },
  }
}

/** Sorts by name, since snapshots are in zone order. */
export function byName(nodes: readonly NodeInfo[]): readonly NodeInfo[] {
  return nodes.toSorted((left, right) => (left.name < right.name ? -1 : 1))
}

/** `n1 ok, n2 skew`: the result of the filter for each node, by name. */
export function filterResults(
  state: FilterState | Unschedulable | undefined,
  nodes: readonly NodeInfo[],
  textOf: (status: Unschedulable | undefined) => string,
): string {
  if (state === undefined) return 'nothing to say'
  assert.ok('filter' in state)
  return byName(nodes)
    .map(node => `${node.name} ${textOf(state.filter(node))}`)
    .join(', ')
}

/** The queueing hint for a change of another pod or a node, such as `none -> app=web` or `app=web -> gone`. */
export function queueingHintOf(plugin: Plugin, pod: Stored<Pod>, change: string): boolean | undefined {
  const [from = '', to = ''] = change.split(' -> ')
  const placed = (text: string): Stored<Pod> => {
    const made = parsePod('other', text)
    return { ...made, spec: { ...made.spec!, nodeName: 'n1' } }
  }
  const parse = from.startsWith('node') || to.startsWith('node') ? parseNode : placed
  const changed = {
    ...(from !== 'none' && { before: parse(from) }),
    ...(to !== 'gone' && { after: parse(to) }),
  }
  const kind = parse === parseNode ? 'nodes' : 'pods'
  const type = from === 'none' ? 'add' : to === 'gone' ? 'delete' : 'update'
  const found = plugin.eventsToRegister?.find(
    ({ resource, on }) => resource.plural === kind && on.includes(type),
  )
  return found?.queueingHint?.(pod, changed)
}

export function cacheOf(lines: readonly string[]): SchedulerCache {
  const cache = new SchedulerCache()
  let count = 0
  for (const line of lines) {
    const [head = '', pods = ''] = line.split(': ')
    const node = parseNode(head)
    cache.setNode(node)
    for (const text of pods.split('; ').filter(each => each !== '')) {
      cache.assume(podInfoOf(parsePod(`p${count++}`, text)), node.metadata.name)
    }
  }
  return cache
}

/** `n1 zone=a,disk=ssd`; `!` adds a taint. */
export function parseNode(text: string): Stored<Node> {
  const [name = '', labels = ''] = text.split(' ')
  const isTainted = labels.includes('!')
  const node = nodeOf(name, {
    labels: parseLabels(labels.replace('!', '')),
    ...(isTainted && { spec: { taints: [{ key: 'closed', effect: 'NoSchedule' }] } }),
  })
  return stored(node)
}

/** `other/app=web [near zone app=db & far host app=web]`; a trailing `†` marks a terminating pod. */
export function parsePod(name: string, text: string): Stored<Pod> {
  const {
    namespace,
    labels = '',
    wants,
  } = /^(?:(?<namespace>[\w-]+)\/)?(?<labels>[^ ]*)(?: \[(?<wants>.*)\])?$/.exec(text.replace('†', ''))
    ?.groups ?? {}
  const pod = podOf(name, {
    uid: name,
    labels: parseLabels(labels),
    ...(namespace && { namespace }),
    ...(wants && { affinity: parseAffinity(wants.split(' & ')) }),
  })
  if (!text.endsWith('†')) return stored(pod)
  return stored({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter(pair => pair !== '')
  return Object.fromEntries(
    pairs.map(pair => {
      const [key = '', value = ''] = pair.split('=')
      return [topologyKeyOf(key), value]
    }),
  )
}

export function topologyKeyOf(word: string): string {
  if (word === 'host') return 'kubernetes.io/hostname'
  return word === 'zone' ? 'topology.kubernetes.io/zone' : word
}

/** `near zone app=db@ns1,ns2`, `far host app=web@*`, `+10 zone app=db@env=test`, `-5 host app=web`. */
function parseAffinity(wants: readonly string[]): Affinity {
  const terms = wants.map(want => {
    const [verb = '', key = '', about = ''] = want.split(' ')
    return { verb, weight: Math.abs(Number(verb)), term: parseTerm(key, about) }
  })
  const required = (
    verb: string,
  ): Pick<PodAffinityList, 'requiredDuringSchedulingIgnoredDuringExecution'> => ({
    requiredDuringSchedulingIgnoredDuringExecution: terms.flatMap(each =>
      each.verb === verb ? [each.term] : [],
    ),
  })
  const preferred = (
    sign: string,
  ): Pick<PodAffinityList, 'preferredDuringSchedulingIgnoredDuringExecution'> => ({
    preferredDuringSchedulingIgnoredDuringExecution: terms.flatMap(({ verb, weight, term }) => {
      return verb.startsWith(sign) ? [{ weight, podAffinityTerm: term }] : []
    }),
  })
  return {
    podAffinity: { ...required('near'), ...preferred('+') },
    podAntiAffinity: { ...required('far'), ...preferred('-') },
  }
}

type PodAffinityList = NonNullable<Affinity['podAffinity']>

function parseTerm(key: string, about: string): PodAffinityTerm {
  const [selector = '', namespaces] = about.split('@')
  return {
    topologyKey: topologyKeyOf(key),
    ...(selector !== '-' && { labelSelector: parseSelector(selector) }),
    ...(namespaces !== undefined && parseNamespaces(namespaces)),
  }
}

function parseNamespaces(text: string): Pick<PodAffinityTerm, 'namespaces' | 'namespaceSelector'> {
  if (text === '*') return { namespaceSelector: {} }
  return text.includes('=') ? { namespaceSelector: parseSelector(text) } : { namespaces: text.split(',') }
}

/** `*` selects everything. */
export function parseSelector(text: string): LabelSelector {
  return text === '*' ? {} : { matchLabels: parseLabels(text) }
}
