import { ApiError, isApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { TransportError } from '#/client/transport.ts'
import type { Clock } from '#/platform/platform.ts'
import type { BindWork, Plugin, Unschedulable } from '../framework.ts'
import type { CycleMetrics, SchedulerMetrics } from '../metrics.ts'
import { codeOf, type MeasuredPoint, type StatusCode } from './cycle-metrics.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Profile } from '../profile.ts'

export interface Binding {
  readonly pod: PodInfo
  readonly node: string
  readonly profile: Profile
  readonly work: BindWork
  readonly clock: Clock
  readonly metrics: SchedulerMetrics
  readonly cycleMetrics: CycleMetrics
}

/** Retry interval while the API server does not answer; the pod counts as bound meanwhile. */
const retryMs = 1_000

/**
 * The reserve phase and the binding cycle: reserve, permit, preBind, bind, postBind. A rejection or an error
 * calls unreserve.
 */
export async function bindPod(binding: Binding): Promise<Unschedulable | undefined> {
  const { pod, node, work } = binding
  const { preBind, postBind } = binding.profile.binding
  try {
    const status = reserve(binding) ?? (await permit(binding))
    if (status !== undefined) {
      unreserve(binding)
      return status
    }
    const preBindAll = async (): Promise<void> => {
      for (const plugin of preBind) {
        await measured(binding, { point: 'PreBind', plugin }, () => plugin.preBind(pod, node, work))
      }
    }
    await measured(binding, { point: 'PreBind' }, preBindAll)
    try {
      await measured(binding, { point: 'Bind' }, () => bind(binding))
    } catch (error) {
      if (!mayHaveSucceeded(error) || !(await isBound(binding))) throw error
    }
  } catch (error) {
    unreserve(binding)
    throw error
  }
  const startMs = binding.cycleMetrics.nowMs()
  for (const plugin of postBind) plugin.postBind(pod, node)
  binding.cycleMetrics.extensionPoint('PostBind', 'Success', startMs)
  return undefined
}

/** Measures an extension point, or one plugin of it. */
async function measured(
  { cycleMetrics }: Binding,
  { point, plugin }: { readonly point: MeasuredPoint; readonly plugin?: Plugin },
  run: () => Promise<void> | undefined,
): Promise<void> {
  const startMs = cycleMetrics.nowMs()
  if (plugin === undefined) cycleMetrics.begin(point, startMs)
  const end = (status: StatusCode): void => {
    if (plugin === undefined) cycleMetrics.extensionPoint(point, status, startMs)
    else cycleMetrics.plugin(point, plugin, { status, durationMs: cycleMetrics.nowMs() - startMs })
  }
  try {
    await run()
    end('Success')
  } catch (error) {
    end('Error')
    throw error
  }
}

/**
 * True if a failed request may have been executed nevertheless. A request rejected by the API server was not.
 */
function mayHaveSucceeded(error: unknown): boolean {
  if (error instanceof TransportError) return error.sent
  return !(error instanceof ApiError) || error.code >= 500
}

/**
 * True if a pod is bound to the node although the binding request failed: the response may have been lost.
 * Treating it as a failure would give its resources to another pod. Throws if the pod is gone, or with the
 * signal's reason.
 */
async function isBound({ pod: info, node, work: { client, signal }, clock }: Binding): Promise<boolean> {
  const { pod, namespace, uid } = info
  for (;;) {
    try {
      const current = await client.get(pods, { namespace, name: pod.metadata.name }, { signal })
      return current.metadata.uid === uid && current.spec?.nodeName === node
    } catch (error) {
      if (isApiError(error, 'NotFound') || isApiError(error, 'Forbidden') || signal.aborted) throw error
    }
    await clock.sleep(retryMs, signal)
  }
}

function reserve(binding: Binding): Unschedulable | undefined {
  const { cycleMetrics } = binding
  const startMs = cycleMetrics.nowMs()
  const status = runReservePlugins(binding)
  cycleMetrics.extensionPoint('Reserve', codeOf(status), startMs)
  return status
}

function runReservePlugins({ pod, node, profile, work, cycleMetrics }: Binding): Unschedulable | undefined {
  for (const plugin of profile.binding.reserve) {
    const startMs = cycleMetrics.nowMs()
    const status = plugin.reserve(pod, node, work.cycleState)
    const durationMs = cycleMetrics.nowMs() - startMs
    cycleMetrics.plugin('Reserve', plugin, { status: codeOf(status), durationMs })
    if (status !== undefined) return { ...status, plugin: plugin.name }
  }
  return undefined
}

function unreserve({ pod, node, profile, work, cycleMetrics }: Binding): void {
  const startMs = cycleMetrics.nowMs()
  for (const plugin of profile.binding.unreserve) plugin.unreserve(pod, node, work.cycleState)
  cycleMetrics.extensionPoint('Unreserve', 'Success', startMs)
}

async function permit(binding: Binding): Promise<Unschedulable | undefined> {
  const { metrics, cycleMetrics } = binding
  const startMs = cycleMetrics.nowMs()
  const status = await runPermitPlugins(binding)
  cycleMetrics.extensionPoint('Permit', codeOf(status), startMs)
  if (binding.profile.binding.permit.length > 0)
    metrics.permitWaited(status === undefined ? 'Success' : 'Unschedulable', startMs)
  return status
}

async function runPermitPlugins({ pod, node, profile, work }: Binding): Promise<Unschedulable | undefined> {
  const plugins = profile.binding.permit
  if (plugins.length === 0) return undefined
  const statuses = plugins.map(async plugin => {
    const status = await plugin.permit(pod, node, work.signal)
    return status && { ...status, plugin: plugin.name }
  })
  return (await Promise.all(statuses)).find(status => status !== undefined)
}

async function bind(binding: Binding): Promise<void> {
  const { pod, node, profile, work } = binding
  if (await profile.extenders.bind?.(pod, node)) return
  for (const plugin of profile.binding.bind) {
    const bound = plugin.bind(pod, node, work)
    if (bound !== undefined) return measured(binding, { point: 'Bind', plugin }, () => bound)
  }
  throw new Error('all bind plugins skipped the pod')
}
