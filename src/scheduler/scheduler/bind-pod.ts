import { ApiError } from '#/api/errors.ts'
import { TransportError } from '#/client/transport.ts'
import type { Clock } from '#/platform/platform.ts'
import type { BindWork, Unschedulable } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Profile } from '../profile.ts'
import { isBound } from './is-bound.ts'

/**
 * The reserve phase and the binding cycle: reserve, permit, preBind, bind, postBind. A rejection or an error
 * calls unreserve.
 */
export async function bindPod(
  pod: PodInfo,
  node: string,
  { profile, clock, ...work }: BindWork & { readonly profile: Profile; readonly clock: Clock },
): Promise<Unschedulable | undefined> {
  const { preBind, postBind } = profile.binding
  try {
    const status = reserve(pod, node, profile, work) ?? (await permit(pod, node, profile, work))
    if (status !== undefined) {
      unreserve(pod, node, profile, work)
      return status
    }
    for (const plugin of preBind) await plugin.preBind(pod, node, work)
    try {
      await bind(pod, node, profile, work)
    } catch (error) {
      if (!mayBeDone(error) || !(await isBound(pod, node, { ...work, clock }))) throw error
    }
  } catch (error) {
    unreserve(pod, node, profile, work)
    throw error
  }
  for (const plugin of postBind) plugin.postBind(pod, node)
  return undefined
}

/**
 * True if a failed request may have been executed nevertheless. A request rejected by the API server was not.
 */
function mayBeDone(error: unknown): boolean {
  if (error instanceof TransportError) return error.sent
  return !(error instanceof ApiError) || error.code >= 500
}

function reserve(
  pod: PodInfo,
  node: string,
  { binding }: Profile,
  { cycleState }: BindWork,
): Unschedulable | undefined {
  for (const plugin of binding.reserve) {
    const status = plugin.reserve(pod, node, cycleState)
    if (status !== undefined) return { ...status, plugin: plugin.name }
  }
  return undefined
}

function unreserve(pod: PodInfo, node: string, { binding }: Profile, { cycleState }: BindWork): void {
  for (const plugin of binding.unreserve) plugin.unreserve(pod, node, cycleState)
}

async function permit(
  pod: PodInfo,
  node: string,
  { binding }: Profile,
  { signal }: BindWork,
): Promise<Unschedulable | undefined> {
  if (binding.permit.length === 0) return undefined
  const asked = binding.permit.map(async plugin => {
    const status = await plugin.permit(pod, node, signal)
    return status && { ...status, plugin: plugin.name }
  })
  return (await Promise.all(asked)).find(status => status !== undefined)
}

async function bind(
  pod: PodInfo,
  node: string,
  { binding, extenders: extend }: Profile,
  work: BindWork,
): Promise<void> {
  if (await extend.bind?.(pod, node)) return
  for (const plugin of binding.bind) {
    const isBound = plugin.bind(pod, node, work)
    if (isBound !== undefined) return isBound
  }
  throw new Error('no plugin binds the pod')
}
