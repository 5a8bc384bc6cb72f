/** Waits until nodes are Ready. */
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'

export async function waitForNodesReady(client: Client, count: number, signal: AbortSignal): Promise<void> {
  await waitForReady(client, signal, ready => ready.size >= count)
}

export async function waitForNodeReady(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await waitForReady(client, signal, ready => ready.has(name))
}

async function waitForReady(
  client: Client,
  signal: AbortSignal,
  isEnough: (ready: ReadonlySet<string>) => boolean,
): Promise<void> {
  const ready = new Set<string>()
  const watch = client.watch(nodes, {
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: true,
    signal,
  })
  for await (const event of watch) {
    if (event.type === 'BOOKMARK') continue
    const name = event.object.metadata.name
    if (event.type !== 'DELETED' && isReady(event.object)) ready.add(name)
    else ready.delete(name)
    if (isEnough(ready)) return
  }
}

/** Ready, and without the not-ready taint that every new node has. */
function isReady({ spec, status }: Node): boolean {
  const isSaid =
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
  return isSaid && !spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready')
}
