/**
 * An injector that adds a proxy sidecar to pods that request it, as service meshes do, with its configuration
 * in a volume. It works the same as an initializer and as a webhook.
 */
import { isApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import type { ObjectMeta } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'

export const injectorName = 'sidecar.initializer.example.com'
export const asking = { 'sidecar.example.com/inject': 'true' }

const sidecar: Container = {
  name: 'proxy',
  image: 'registry.example.com/proxy:1',
  volumeMounts: [{ name: 'proxy-config', mountPath: '/etc/proxy' }],
}

/** Returns the pod with the sidecar if it requests one; a pod that already has one is unchanged. */
export function injected(pod: Pod): Pod {
  const { annotations } = pod.metadata
  const { containers = [], volumes = [] } = pod.spec ?? {}
  const isWanted = annotations?.['sidecar.example.com/inject'] === 'true'
  if (!isWanted || containers.some(({ name }) => name === sidecar.name)) return pod
  const volume = { name: 'proxy-config', configMap: { name: 'proxy' } }
  return {
    ...pod,
    spec: { ...pod.spec, containers: [...containers, sidecar], volumes: [...volumes, volume] },
  }
}

type InitializedMeta = ObjectMeta & {
  readonly initializers?: { readonly pending: readonly { readonly name: string }[] }
}

/**
 * Runs until aborted: when its initializer is first in the list of a pod, it modifies the pod and removes
 * itself.
 */
export async function runInjector(client: Client, platform: Platform, signal: AbortSignal): Promise<void> {
  const selection = { includeUninitialized: true }
  const informer = new Informer({ client, platform, resource: pods, selection })
  const queue = new WorkQueue({ platform, name: 'sidecar-injector' })
  informer.addEventHandler(key => queue.add(key))
  const work = async (key: string): Promise<void> => {
    const pod = informer.get(key)
    const { initializers, ...metadata }: InitializedMeta = pod?.metadata ?? {}
    if (pod === undefined || initializers?.pending[0]?.name !== injectorName) return
    const rest = { ...initializers, pending: initializers.pending.slice(1) }
    const changed: InitializedMeta = { ...metadata, initializers: rest }
    try {
      await client.update(pods, { ...injected(pod), metadata: changed })
    } catch (error) {
      // The pod was deleted, or the informer will deliver its new state.
      if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error
    }
  }
  await Promise.all([informer.run(signal), queue.run({ workers: 2, signal, reconcile: work })])
}

/** The names that tests check. */
export function namesIn({ spec }: Pod): { readonly containers: string; readonly volumes: string } {
  const names = (list: readonly { readonly name: string }[] = []): string =>
    list
      .map(({ name }) => name)
      .filter(name => !name.startsWith('kube-api-access-'))
      .join(' ')
  return { containers: names(spec?.containers), volumes: names(spec?.volumes) }
}

export function podFor(name: string, annotations: Readonly<Record<string, string>> = {}): Pod {
  const metadata = { namespace: 'default', name, annotations }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata,
    spec: { containers: [{ name: 'web', image: 'registry.example.com/web:1' }] },
  }
}
