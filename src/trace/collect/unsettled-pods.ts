import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import type { RawClient } from '#/client/client.ts'
import type { Hop } from '../trace.ts'

/** More are not read. */
const podsMax = 10

/** The pods of the chain of which further hops are expected, with the reason: `pod shop/web-0: not scheduled`. */
export async function readUnsettledPods(
  client: RawClient,
  hops: readonly Hop[],
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const reasons = await Promise.all(
    podsOf(hops).map(async ({ namespace = '', name }) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
      const reason = unsettledReason(await readPod(client, path, signal))
      return reason === undefined ? [] : [`pod ${namespace}/${name}: ${reason}`]
    }),
  )
  return reasons.flat()
}

/** Undefined if the pod is ready, has terminated, or is gone. */
export function unsettledReason(pod: Pod | undefined): string | undefined {
  const { phase, conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {}
  if (pod === undefined || phase === 'Succeeded' || phase === 'Failed') return undefined
  if (pod.metadata?.deletionTimestamp !== undefined) return 'terminating'
  const isTrue = (type: string): boolean => {
    return conditions.some(condition => condition.type === type && condition.status === 'True')
  }
  if (isTrue('Ready')) return undefined
  if (!pod.spec?.nodeName) return 'not scheduled'
  const first = isTrue('Initialized')
    ? undefined
    : initContainerStatuses.find(({ state, ready, started }) => {
        return state?.terminated?.exitCode !== 0 && !ready && !started
      })
  if (first !== undefined) return `init container ${describeContainer(first)}`
  const next = containerStatuses.find(({ ready }) => !ready)
  return next === undefined ? 'not ready' : `container ${describeContainer(next)}`
}

function describeContainer({ name, state = {} }: ContainerStatus): string {
  const { waiting, running, terminated } = state
  if (running !== undefined) return `${name} is running, but not ready`
  if (terminated !== undefined) return `${name} has terminated with exit code ${terminated.exitCode}`
  const { reason = 'ContainerCreating', message } = waiting ?? {}
  return `${name}: ${reason}${message ? ` (${message})` : ''}`
}

/** The last hop of each pod tells whether it was deleted. */
function podsOf(hops: readonly Hop[]): readonly NonNullable<Hop['object']>[] {
  const last = new Map<string, Hop>()
  for (const hop of hops) {
    if (hop.object?.kind === 'Pod' && hop.object.apiVersion === 'v1') last.set(hop.object.uid, hop)
  }
  return [...last.values()]
    .flatMap(({ object, verb }) => (verb === 'delete' ? [] : (object ?? [])))
    .slice(-podsMax)
}

/** Undefined if it cannot be read. */
async function readPod(client: RawClient, path: string, signal?: AbortSignal): Promise<Pod | undefined> {
  try {
    const response = await client.raw({ method: 'GET', path, signal, timeoutMs: 10_000 })
    return (await response.value()) as Pod | undefined
  } catch {
    signal?.throwIfAborted()
    return undefined
  }
}
