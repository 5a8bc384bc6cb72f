/** Waits until `count` nodes are Ready. */
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'

export async function waitForNodesReady(client: Client, count: number, signal: AbortSignal): Promise<void> {
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
    if (ready.size >= count) return
  }
}

/** Ready, and without the not-ready taint that every new node has. */
function isReady({ spec, status }: Node): boolean {
  const isSaid =
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
  return isSaid && !spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready')
}
