/** Drains a node: marks it unschedulable and evicts its pods, within their PodDisruptionBudgets. */
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { mirrorAnnotation } from '#/kubelet/pod-sources.ts'
import type { Platform } from '#/platform/platform.ts'

export interface DrainNodeOptions {
  readonly platform: Pick<Platform, 'clock'>
  readonly client: Client
  readonly name: string
  /** Also deletes pods that no controller replaces. */
  readonly force: boolean
  readonly onProgress: (text: string) => void
}

/** Interval in which an eviction that a budget forbids is retried, as kubectl does. */
const retryMs = 5_000

const pollMs = 500

/** Resolves when the pods are gone. */
export async function drainNode(options: DrainNodeOptions): Promise<void> {
  const { client, name, force, platform, onProgress } = options
  await client.patch(nodes, { name }, { type: 'merge', patch: { spec: { unschedulable: true } } })
  const evictable = planEvictions(await podsOf(client, name))
  const unmanaged = evictable.find(pod => !isControlled(pod) && !isFinished(pod))
  if (unmanaged !== undefined && !force)
    throw new Error(
      `cannot delete Pods that declare no controller (use --force to override): ${keyOf(unmanaged)}`,
    )
  await Promise.all(evictable.map(pod => evict(options, pod)))
  const uids = new Set(evictable.map(({ metadata }) => metadata.uid))
  while ((await podsOf(client, name)).some(({ metadata }) => uids.has(metadata.uid)))
    await platform.clock.sleep(pollMs)
  onProgress(`node ${name} drained`)
}

/** Pods of DaemonSets would be created again at once, and static pods cannot be evicted. */
export function planEvictions(all: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
  return all.filter(pod => {
    const { metadata } = pod
    const controller = metadata.ownerReferences?.find(({ controller: isController }) => isController === true)
    const isMirror = metadata.annotations?.[mirrorAnnotation] !== undefined
    return !isMirror && (controller?.kind !== 'DaemonSet' || isFinished(pod))
  })
}

async function podsOf(client: Client, nodeName: string): Promise<readonly Stored<Pod>[]> {
  return (await client.listAll(pods, { fieldSelector: `spec.nodeName=${nodeName}` })).items
}

async function evict({ client, platform, onProgress }: DrainNodeOptions, pod: Stored<Pod>): Promise<void> {
  const { namespace, name, uid } = pod.metadata
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  }
  for (;;) {
    try {
      await client.createSubresource(pods, { namespace, name, subresource: 'eviction' }, eviction)
      onProgress(`evicting pod ${keyOf(pod)}`)
      return
    } catch (error) {
      if (!isApiError(error)) throw error
      if (error.reason === 'NotFound' || error.reason === 'Conflict') return
      if (error.reason !== 'TooManyRequests') throw error
      onProgress(`error when evicting pod ${keyOf(pod)} (will retry after 5s): ${error.message}`)
      await platform.clock.sleep(retryMs)
    }
  }
}

function isControlled({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false
}

function isFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`
}
