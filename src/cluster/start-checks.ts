/** Health checks of a cluster that is starting. */
import type { Health } from '#/apiserver/health.ts'
import type { Store } from '#/store/store.ts'

export interface StartChecks {
  readonly store: () => Store | undefined
  readonly isCacheSynced: () => boolean
  /** Of the post-start hooks. */
  readonly hooks: Iterable<Parameters<Health['add']>[0]>
  /** Present if the cluster starts simulated nodes. */
  readonly areNodesReady?: () => boolean
}

export function addStartChecks(
  health: Health,
  { store, isCacheSynced, hooks, areNodesReady }: StartChecks,
): void {
  const check = async (): Promise<void> => {
    const opened = store()
    if (opened === undefined) throw new Error('the store is not open')
    await opened.revision()
  }
  health.add({ name: 'etcd', endpoints: ['healthz', 'livez', 'readyz'], check })
  health.add({ name: 'etcd-readiness', endpoints: ['readyz'], check })
  const informerSync = (): void => {
    if (!isCacheSynced()) throw new Error('the watch cache is not synchronized')
  }
  health.add({ name: 'informer-sync', endpoints: ['readyz'], check: informerSync })
  for (const hook of hooks) health.add(hook)
  if (areNodesReady === undefined) return
  const simulatedNodes = (): void => {
    if (!areNodesReady()) throw new Error('the simulated nodes are not ready')
  }
  const name = 'poststarthook/start-simulated-nodes'
  health.add({ name, endpoints: ['healthz', 'readyz'], check: simulatedNodes })
}
