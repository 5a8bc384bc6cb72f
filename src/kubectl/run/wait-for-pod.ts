import type { Pod } from '#/api/generated/core/v1.ts'
import { notFound } from '#/api/errors.ts'
import { Deadline } from '../deadline.ts'
import type { Factory } from '../factory.ts'
import { podIn, pods } from '../pods/pods-of.ts'
import { metadataText } from '../resource/info.ts'

export interface WaitForPodOptions {
  readonly namespace: string
  readonly name: string
  /** Without it, only Ctrl-C ends waiting. */
  readonly timeoutMs?: number
  readonly until: (pod: Pod) => boolean
}

/** Resolves to the pod when the condition is met. Throws Error after the time, and NotFound if the pod is deleted. */
export async function waitForPod(factory: Factory, options: WaitForPodOptions): Promise<Pod> {
  const { namespace, name, timeoutMs, until } = options
  const location = { mapping: pods, namespace, name }
  const resources = await factory.resources()
  using deadline = new Deadline(factory.machine, timeoutMs)
  const { signal } = deadline
  try {
    for (;;) {
      const current = await resources.get(location, { signal })
      if (until(podIn(current))) return podIn(current)
      const resourceVersion = metadataText(current, 'resourceVersion')
      for await (const { type, object } of resources.watch(location, { resourceVersion, signal })) {
        if (type === 'DELETED') throw notFound({ group: '', kind: 'pods', name })
        if (type !== 'BOOKMARK' && until(podIn(object))) return podIn(object)
      }
      signal.throwIfAborted()
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

export function isCompleted({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

export function isRunningAndReady({ status }: Pod): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return status?.phase === 'Running' && ready?.status === 'True'
}
