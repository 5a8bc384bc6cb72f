/**
 * What nodes and pods use now: what `kubectl top` shows and autoscalers decide by. It is read from the kubelets when
 * somebody asks, and stored nowhere; there is no separate metrics server. Simulated nodes have no kubelet to ask: their
 * pods say themselves what they use.
 */
import { notFound } from '#/api/errors.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { formatTime } from '#/api/time.ts'
import { subjectOf, type Call } from '../handlers/call.ts'
import { readSelection } from '../handlers/selection.ts'
import {
  statedSummary,
  type KubeletSummaries,
  type KubeletSummary,
  type ResourceUse,
} from '../kubelet-summaries.ts'
import { listBody } from '../list-body.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { objectBody } from '../table.ts'
import {
  nodeMetrics,
  podMetrics,
  type NodeMetrics,
  type PodMetrics,
  type Usage,
} from './metrics-resources.ts'

/** By name. Without a way to kubelets there are simulated nodes only. */
export function resourceMetrics(summaries: KubeletSummaries | undefined): ReadonlyMap<string, VerbHandlers> {
  return new Map([
    ['nodes.metrics.k8s.io', handlersFor(call => nodesOf(call, summaries))],
    ['pods.metrics.k8s.io', handlersFor(call => podsOf(call, summaries))],
  ])
}

function handlersFor(find: (call: Call) => Promise<readonly KubernetesObject[]>): VerbHandlers {
  const stored = async (call: Call): Promise<readonly StoredObject[]> => {
    const found = await find(call)
    return found.map(
      object => new StoredObject(object.metadata?.name ?? '', 0, encodeForStore(object), object),
    )
  }
  return {
    get: async call => {
      const [object] = await stored(call)
      if (object === undefined) throw notFound(subjectOf(call))
      return { status: 200, body: objectBody(call.view, object, call) }
    },
    list: async (call): Promise<ApiResponse> => ({
      status: 200,
      body: listBody(call.view, await stored(call), { resourceVersion: '' }, call),
    }),
  }
}

async function nodesOf(call: Call, kubelets: Kubelets): Promise<readonly NodeMetrics[]> {
  const asked = selected(call, keyOf(nodes, '', call.info.name), prefixOf(nodes, '')) as readonly Node[]
  const all = (): readonly Pod[] =>
    Array.from(call.objects.list(prefixOf(pods, '')), ({ object }) => object as Pod)
  const summaries = await summariesOf(asked, kubelets, () => all().filter(isRunning))
  return asked.flatMap(({ metadata }): NodeMetrics[] => {
    const use = summaries.get(metadata?.name ?? '')?.node
    if (use === undefined) return []
    return [{ ...headOf(call, nodeMetrics, metadata), ...spanOf(call, use), usage: usageOf(use) }]
  })
}

async function podsOf(call: Call, kubelets: Kubelets): Promise<readonly PodMetrics[]> {
  const { objects, info } = call
  const key = keyOf(pods, info.namespace, info.name)
  const found = (selected(call, key, prefixOf(pods, info.namespace)) as readonly Pod[]).filter(isRunning)
  const names = [...new Set(found.map(({ spec }) => spec?.nodeName ?? ''))]
  const asked = names.flatMap(name => (objects.get(keyOf(nodes, '', name))?.object as Node | undefined) ?? [])
  const summaries = await summariesOf(asked, kubelets, () => found)
  return found.flatMap(({ metadata, spec }): PodMetrics[] => {
    // A node is only believed what it says of its own pods.
    const uses = summaries.get(spec?.nodeName ?? '')?.pods.get(metadata?.uid ?? '')
    if (uses === undefined) return []
    const containers = [...uses].map(([name, use]) => ({ name, usage: usageOf(use) }))
    const [first] = uses.values()
    return [{ ...headOf(call, podMetrics, metadata), ...spanOf(call, first!), containers }]
  })
}

type Kubelets = KubeletSummaries | undefined

/** By the names of nodes; those that do not answer are missing. Pods that run are looked for where they are needed. */
async function summariesOf(
  asked: readonly Node[],
  kubelets: Kubelets,
  running: () => readonly Pod[],
): Promise<ReadonlyMap<string, KubeletSummary>> {
  const named = (which: (node: Node) => boolean): readonly string[] => {
    return asked.filter(which).map(({ metadata }) => metadata?.name ?? '')
  }
  const answers = (await kubelets?.of(named(hasKubelet))) ?? new Map<string, KubeletSummary>()
  const simulated = named(isSimulated)
  if (simulated.length === 0) return answers
  const byNode = Map.groupBy(running(), ({ spec }) => spec?.nodeName ?? '')
  return new Map([
    ...answers,
    ...simulated.map(name => [name, statedSummary(byNode.get(name) ?? [])] as const),
  ])
}

/** The objects themselves of what is asked for: their names and labels are those of what they use. */
function selected(call: Call, key: string, prefix: string): readonly KubernetesObject[] {
  const { objects, info } = call
  if (info.verb === 'get') {
    const stored = objects.get(key)
    return stored === undefined ? [] : [stored.object]
  }
  const selection = readSelection(call)
  return [...objects.list(prefix)].filter(stored => selection.matches(stored)).map(({ object }) => object)
}

function hasKubelet({ status }: Node): boolean {
  return (status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0) > 0
}

/** Nobody is at its addresses. */
function isSimulated(node: Node): boolean {
  const { containerRuntimeVersion = '' } = node.status?.nodeInfo ?? {}
  return !hasKubelet(node) && containerRuntimeVersion.startsWith('simulated://')
}

function isRunning({ spec, status }: Pod): boolean {
  return spec?.nodeName !== undefined && status?.phase === 'Running'
}

function usageOf({ nanoCores, memoryBytes }: ResourceUse): Usage {
  return { cpu: `${nanoCores}n`, memory: `${Math.ceil(memoryBytes / 1_024)}Ki` }
}

interface Span {
  readonly timestamp: string
  readonly window: string
}

/** Over which time it was used is the kubelet's business: as long as it usually is. */
function spanOf({ registry }: Call, { time }: ResourceUse): Span {
  return { timestamp: time ?? formatTime(registry.platform.clock.now()), window: '10s' }
}

function headOf(
  { registry }: Call,
  resource: typeof nodeMetrics | typeof podMetrics,
  metadata: KubernetesObject['metadata'],
): KubernetesObject {
  const { name = '', namespace, labels } = metadata ?? {}
  const creationTimestamp = formatTime(registry.platform.clock.now())
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: { name, ...(namespace && { namespace }), creationTimestamp, ...(labels && { labels }) },
  }
}
