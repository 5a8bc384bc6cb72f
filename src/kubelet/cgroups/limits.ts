/** Limits of a cgroup and the files that set them. */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { aggregatePodResources, podRequests } from '#/api/core/pod-resources.ts'
import { qosClassOf } from '#/api/core/qos-class.ts'
import { formatQuantity, quantityMilliValue, quantityValue, type Quantity } from '#/api/text/quantity.ts'
import { cpuPeriod, cpuQuota, cpuShares, cpuWeight } from '../cpu-time.ts'
import { hugePageAmounts } from '../huge-pages.ts'
import { milliAmount, wholeAmount } from '../resource-amount.ts'

/** Absent fields are left unchanged. -1 means no limit. */
export interface CgroupLimits {
  readonly cpuShares?: number
  readonly cpuQuota?: number
  readonly memoryBytes?: number
  readonly pids?: number
  /** Bytes by page size, such as `2MB`. */
  readonly hugePages?: ReadonlyMap<string, number>
}

export interface CgroupWrite {
  readonly controller: string
  readonly file: string
  readonly value: string
}

export interface PodLimitsContext {
  /** -1 means no limit. */
  readonly podPidsMax: number
  readonly hugePageSizes: readonly string[]
}

/** A pod has a CPU or memory limit only if each of its containers has one or the pod sets it at pod level. */
export function podLimits(pod: Pod, { podPidsMax, hugePageSizes }: PodLimitsContext): CgroupLimits {
  const spec = pod.spec ?? { containers: [] }
  const qosClass = qosClassOf(pod)
  const requests = podRequests(spec)
  const asked = hugePageAmounts(
    Object.fromEntries([...requests].map(([name, amount]) => [name, formatQuantity(amount)])),
  )
  const hugePages = new Map(hugePageSizes.map(size => [size, asked.get(size) ?? 0]))
  const always = { pids: podPidsMax, hugePages }
  if (qosClass === 'BestEffort') return { cpuShares: cpuShares(0), ...always }
  const milliLimit = limitOf(pod, 'cpu', quantityMilliValue)
  const memoryLimit = limitOf(pod, 'memory', quantityValue)
  return {
    cpuShares: cpuShares(Number(quantityMilliValue(requests.get('cpu') ?? none))),
    cpuQuota: milliLimit === undefined ? -1 : cpuQuota(milliLimit),
    memoryBytes: memoryLimit ?? -1,
    ...always,
  }
}

const none: Quantity = { nanos: 0n, format: 'DecimalSI' }

function limitOf(pod: Pod, name: string, valueOf: (quantity: Quantity) => bigint): number | undefined {
  const spec = pod.spec ?? { containers: [] }
  const amount = Number(valueOf(aggregatePodResources(spec, 'limits').get(name) ?? none))
  const isDeclared =
    wholeAmount(spec.resources?.limits, name) > 0 ||
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].every(container =>
      isLimited(container, name),
    )
  if (!isDeclared || amount === 0) return undefined
  const overhead = name === 'cpu' ? milliAmount(spec.overhead, name) : wholeAmount(spec.overhead, name)
  return amount + overhead
}

function isLimited({ resources }: Container, name: string): boolean {
  return milliAmount(resources?.limits, name) > 0
}

/** CPU shares of the Burstable cgroup: the sum of its pods' requests, at least the minimum. */
export function burstableShares(pods: readonly Pod[]): number {
  const burstable = pods.filter(pod => qosClassOf(pod) === 'Burstable')
  const sum = burstable.reduce((total, { spec = { containers: [] } }) => {
    return total + quantityMilliValue(podRequests(spec).get('cpu') ?? none)
  }, 0n)
  return cpuShares(Number(sum))
}

export function cgroupWrites(version: 1 | 2, limits: CgroupLimits): readonly CgroupWrite[] {
  return version === 1 ? writesOfVersion1(limits) : writesOfVersion2(limits)
}

function writesOfVersion1(limits: CgroupLimits): readonly CgroupWrite[] {
  const { cpuShares: shares, cpuQuota: quota, memoryBytes, pids, hugePages = [] } = limits
  const writes: CgroupWrite[] = []
  if (shares !== undefined) writes.push({ controller: 'cpu', file: 'cpu.shares', value: `${shares}` })
  if (quota !== undefined) {
    writes.push(
      { controller: 'cpu', file: 'cpu.cfs_period_us', value: `${cpuPeriod}` },
      { controller: 'cpu', file: 'cpu.cfs_quota_us', value: `${quota}` },
    )
  }
  if (memoryBytes !== undefined) {
    writes.push({ controller: 'memory', file: 'memory.limit_in_bytes', value: `${memoryBytes}` })
  }
  if (pids !== undefined) writes.push({ controller: 'pids', file: 'pids.max', value: orMax(pids) })
  for (const [size, bytes] of hugePages) {
    writes.push({ controller: 'hugetlb', file: `hugetlb.${size}.limit_in_bytes`, value: `${bytes}` })
  }
  return writes
}

function writesOfVersion2(limits: CgroupLimits): readonly CgroupWrite[] {
  const { cpuShares: shares, cpuQuota: quota, memoryBytes, pids, hugePages = [] } = limits
  const writes: CgroupWrite[] = []
  if (shares !== undefined) {
    writes.push({ controller: 'cpu', file: 'cpu.weight', value: `${cpuWeight(shares)}` })
  }
  if (quota !== undefined) {
    writes.push({ controller: 'cpu', file: 'cpu.max', value: `${orMax(quota)} ${cpuPeriod}` })
  }
  if (memoryBytes !== undefined) {
    writes.push({ controller: 'memory', file: 'memory.max', value: orMax(memoryBytes) })
  }
  if (pids !== undefined) writes.push({ controller: 'pids', file: 'pids.max', value: orMax(pids) })
  for (const [size, bytes] of hugePages) {
    writes.push({ controller: 'hugetlb', file: `hugetlb.${size}.max`, value: orMax(bytes) })
  }
  return writes
}

function orMax(value: number): string {
  return value < 0 ? 'max' : `${value}`
}
