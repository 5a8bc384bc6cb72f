/**
 * The resource metrics API (metrics.k8s.io) for `kubectl top` and autoscalers. Usage is read from the
 * kubelets on request and not stored; there is no separate metrics-server. For simulated nodes it is taken
 * from pod annotations.
 */
import { notFound } from '#/api/errors.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import { subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { readSelection } from '../handlers/selection.ts'
import {
  simulatedSummary,
  type KubeletSummaries,
  type KubeletSummary,
  type ResourceUse,
} from '../kubelet-summaries.ts'
import { listBody } from '../list-body.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { objectBody } from '../object-body.ts'
import {
  nodeMetrics,
  podMetrics,
  type NodeMetrics,
  type PodMetrics,
  type Usage,
} from './metrics-resources.ts'

/** Handlers by qualified resource name. Without `summaries` only simulated nodes have metrics. */
export function resourceMetrics(summaries: KubeletSummaries | undefined): ReadonlyMap<string, VerbHandlers> {
  return new Map([
    ['nodes.metrics.k8s.io', handlersFor(scope => nodesOf(scope, summaries))],
    ['pods.metrics.k8s.io', handlersFor(scope => podsOf(scope, summaries))],
  ])
}

function handlersFor(find: (scope: RequestScope) => Promise<readonly KubernetesObject[]>): VerbHandlers {
  const stored = async (scope: RequestScope): Promise<readonly StoredObject[]> => {
    const found = await find(scope)
    return found.map(
      object =>
        new StoredObject(
          { key: object.metadata.name ?? '', revision: 0, value: encodeForStore(object) },
          object,
        ),
    )
  }
  return {
    get: async scope => {
      const [object] = await stored(scope)
      if (object === undefined) throw notFound(subjectOf(scope))
      return { status: 200, body: await objectBody(scope.view, object, scope) }
    },
    list: async (scope): Promise<ApiResponse> => ({
      status: 200,
      body: listBody(scope.view, { objects: await stored(scope), meta: { resourceVersion: '' } }, scope),
    }),
  }
}

async function nodesOf(scope: RequestScope, kubelets: Kubelets): Promise<readonly NodeMetrics[]> {
  const asked = selected(
    scope,
    keyOf(nodes, '', scope.info.name),
    prefixOf(nodes, ''),
  ) as readonly Stored<Node>[]
  const all = (): readonly Stored<Pod>[] =>
    Array.from(scope.registry.cache.list(prefixOf(pods, '')), ({ object }) => object as Stored<Pod>)
  const summaries = await summariesOf(asked, kubelets, () => all().filter(isRunning))
  return asked.flatMap(({ metadata }): NodeMetrics[] => {
    const use = summaries.get(metadata.name)?.node
    if (use === undefined) return []
    return [{ ...headOf(scope, nodeMetrics, metadata), ...spanOf(scope, use), usage: usageOf(use) }]
  })
}

async function podsOf(scope: RequestScope, kubelets: Kubelets): Promise<readonly PodMetrics[]> {
  const {
    registry: { cache },
    info,
  } = scope
  const key = keyOf(pods, info.namespace, info.name)
  const found = (selected(scope, key, prefixOf(pods, info.namespace)) as readonly Stored<Pod>[]).filter(
    isRunning,
  )
  const names = [...new Set(found.map(({ spec }) => spec?.nodeName ?? ''))]
  const asked = names.flatMap(
    name => (cache.get(keyOf(nodes, '', name))?.object as Stored<Node> | undefined) ?? [],
  )
  const summaries = await summariesOf(asked, kubelets, () => found)
  return found.flatMap(({ metadata, spec }): PodMetrics[] => {
    // Only the pod's own node is trusted to report its usage.
    const uses = summaries.get(spec?.nodeName ?? '')?.pods.get(metadata.uid)
    if (uses === undefined) return []
    const containers = [...uses].map(([name, use]) => ({ name, usage: usageOf(use) }))
    const [first] = uses.values()
    return [{ ...headOf(scope, podMetrics, metadata), ...spanOf(scope, first!), containers }]
  })
}

type Kubelets = KubeletSummaries | undefined

/**
 * By node name; nodes without a response are missing. `running` is called only if there are simulated nodes.
 */
async function summariesOf(
  asked: readonly Stored<Node>[],
  kubelets: Kubelets,
  running: () => readonly Stored<Pod>[],
): Promise<ReadonlyMap<string, KubeletSummary>> {
  const named = (which: (node: Node) => boolean): readonly string[] => {
    return asked.filter(which).map(({ metadata }) => metadata.name)
  }
  const answers = (await kubelets?.of(named(hasKubelet))) ?? new Map<string, KubeletSummary>()
  const simulated = named(isSimulated)
  if (simulated.length === 0) return answers
  const byNode = Map.groupBy(running(), ({ spec }) => spec?.nodeName ?? '')
  return new Map([
    ...answers,
    ...simulated.map(name => [name, simulatedSummary(byNode.get(name) ?? [])] as const),
  ])
}

/** The nodes or pods for which metrics are requested; their names and labels are those of the metrics. */
function selected(scope: RequestScope, key: string, prefix: string): readonly Stored[] {
  const {
    registry: { cache },
    info,
  } = scope
  if (info.verb === 'get') {
    const stored = cache.get(key)
    return stored === undefined ? [] : [stored.object]
  }
  const selection = readSelection(scope)
  return [...cache.list(prefix)].filter(stored => selection.matches(stored)).map(({ object }) => object)
}

function hasKubelet({ status }: Node): boolean {
  return (status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0) > 0
}

/** True for simulated nodes, which have no kubelet endpoint. */
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

/** The kubelet does not report the window, so its usual value is given. */
function spanOf({ registry }: RequestScope, { time }: ResourceUse): Span {
  return { timestamp: time ?? formatTime(registry.platform.clock.now()), window: '10s' }
}

function headOf(
  { registry }: RequestScope,
  resource: typeof nodeMetrics | typeof podMetrics,
  metadata: Stored['metadata'],
): KubernetesObject {
  const { name, namespace, labels } = metadata
  const creationTimestamp = formatTime(registry.platform.clock.now())
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: { name, ...(namespace && { namespace }), creationTimestamp, ...(labels && { labels }) },
  }
}
