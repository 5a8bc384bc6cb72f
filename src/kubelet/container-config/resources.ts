/** CPU, memory and huge page settings of containers and sandboxes. */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { aggregatePodResources } from '#/api/core/pod-resources.ts'
import { quantityMilliValue, quantityValue, type Quantity } from '#/api/text/quantity.ts'
import type { LinuxResources } from '#/cri/cri.ts'
import type { MachineInfo } from '../machine-info.ts'
import { cpuPeriod, cpuQuota, cpuShares } from '../cpu-time.ts'
import { hugePageAmounts } from '../huge-pages.ts'
import { milliAmount, wholeAmount, type ResourceList } from '../resource-amount.ts'
import { oomScoreOf } from './oom-score.ts'

/** Pod-level limits apply to containers without limits. */
export function containerResources(pod: Pod, container: Container, machine: MachineInfo): LinuxResources {
  const { requests = {}, limits = {} } = container.resources ?? {}
  const ofPod = pod.spec?.resources?.limits
  const milliLimit = milliAmount(limits, 'cpu') || milliAmount(ofPod, 'cpu')
  const memoryLimit = wholeAmount(limits, 'memory') || wholeAmount(ofPod, 'memory')
  const milliRequest = 'cpu' in requests ? milliAmount(requests, 'cpu') : milliLimit
  const basic = basicResources({ milliRequest, milliLimit, memoryLimit })
  return {
    ...basic,
    oomScoreAdj: oomScoreOf(pod, container, machine.memoryBytes),
    hugepageLimits: hugePageLimits([ofPod, limits], machine),
    ...swapAndUnified(memoryLimit, machine),
  }
}

/** Sum over the pod's containers, for VM-based runtimes. */
export function sandboxResources(pod: Pod): LinuxResources {
  const spec = pod.spec ?? { containers: [] }
  const requests = aggregatePodResources(spec, 'requests')
  const limits = aggregatePodResources(spec, 'limits')
  const milliLimit = milli(limits.get('cpu'))
  const milliRequest = requests.has('cpu') ? milli(requests.get('cpu')) : milliLimit
  return basicResources({ milliRequest, milliLimit, memoryLimit: whole(limits.get('memory')) })
}

/** Pod overhead. */
export function overheadResources(pod: Pod): LinuxResources | undefined {
  const { overhead } = pod.spec ?? {}
  if (overhead === undefined) return undefined
  const amount = milliAmount(overhead, 'cpu')
  const memoryLimit = wholeAmount(overhead, 'memory')
  return basicResources({ milliRequest: amount, milliLimit: amount, memoryLimit })
}

interface Basic {
  readonly milliRequest: number
  readonly milliLimit: number
  readonly memoryLimit: number
}

function basicResources({ milliRequest, milliLimit, memoryLimit }: Basic): LinuxResources {
  return {
    cpuPeriod,
    cpuQuota: cpuQuota(milliLimit),
    cpuShares: cpuShares(milliRequest),
    ...(memoryLimit !== 0 && { memoryLimitBytes: memoryLimit }),
  }
}

/** The limit is 0 for page sizes that are not requested. */
function hugePageLimits(
  lists: readonly (ResourceList | undefined)[],
  { hugePageSizes }: MachineInfo,
): NonNullable<LinuxResources['hugepageLimits']> {
  const amounts = new Map(lists.flatMap(list => [...hugePageAmounts(list)]))
  return hugePageSizes.map(pageSize => ({ pageSize, limitBytes: amounts.get(pageSize) ?? 0 }))
}

/** Disables swap. With cgroup v2, the OOM killer kills the whole container instead of a single process. */
function swapAndUnified(memoryLimit: number, machine: MachineInfo): LinuxResources {
  if (machine.cgroupVersion === 1) {
    return machine.canLimitSwap && memoryLimit !== 0 ? { memorySwapLimitBytes: memoryLimit } : {}
  }
  return { unified: { 'memory.oom.group': '1', ...(machine.canLimitSwap && { 'memory.swap.max': '0' }) } }
}

function milli(quantity: Quantity | undefined): number {
  return quantity === undefined ? 0 : Number(quantityMilliValue(quantity))
}

function whole(quantity: Quantity | undefined): number {
  return quantity === undefined ? 0 : Number(quantityValue(quantity))
}
