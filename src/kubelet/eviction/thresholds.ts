/** Eviction thresholds from the kubelet configuration. */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { quantityToNumber, tryParseQuantity } from '#/api/text/quantity.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'

export type EvictionSignal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'pid.available'

export type PressureType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'

/** The resource that pods are evicted for, with its name in messages. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids'

interface SignalKind {
  readonly pressure: PressureType
  readonly resource: StarvedResource
}

export const signalKinds: Readonly<Record<EvictionSignal, SignalKind>> = {
  'memory.available': { pressure: 'MemoryPressure', resource: 'memory' },
  'allocatableMemory.available': { pressure: 'MemoryPressure', resource: 'memory' },
  'nodefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage' },
  'nodefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes' },
  'imagefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage' },
  'imagefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes' },
  'pid.available': { pressure: 'PIDPressure', resource: 'pids' },
}

export interface Threshold {
  readonly signal: EvictionSignal
  /** A quantity, or a percentage of the capacity such as `10%`. */
  readonly value: string
  /** How long the threshold must be met before pods are evicted; 0 for a hard threshold. */
  readonly graceMs: number
  /** Amount beyond the value that must be available until eviction ends. */
  readonly minimumReclaim?: string
}

export type EvictionSettings = Pick<
  KubeletConfiguration,
  'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim'
>

/**
 * Hard thresholds first. The hard threshold of `memory.available` also applies to the memory of all pods together,
 * `allocatableMemory.available`. Throws an Error for settings that the kubelet does not accept.
 */
export function evictionThresholds(settings: EvictionSettings): readonly Threshold[] {
  const { evictionHard, evictionSoft } = settings
  const hard = thresholdsOf(evictionHard, settings, () => 0)
  const soft = thresholdsOf(evictionSoft, settings, signal => softGraceMs(settings, signal))
  const allocatable = hard
    .filter(({ signal }) => signal === 'memory.available')
    .map((threshold): Threshold => ({ ...threshold, signal: 'allocatableMemory.available' }))
  const isSet = 'allocatableMemory.available' in evictionHard
  return [...hard, ...soft, ...(isSet ? [] : allocatable)]
}

/** Amount of a threshold or minimum reclaim; a percentage refers to the capacity. */
export function thresholdAmount(value: string, capacity: number): number {
  if (value.endsWith('%')) return Math.floor((capacity * Number(value.slice(0, -1))) / 100)
  const quantity = tryParseQuantity(value)
  return quantity === undefined ? 0 : quantityToNumber(quantity)
}

/** Their thresholds are always those of the filesystem that has the writable layers, so settings are ignored. */
const ignoredSignals: ReadonlySet<string> = new Set(['containerfs.available', 'containerfs.inodesFree'])

/** Values that disable a threshold. */
const disabled: ReadonlySet<string> = new Set(['0%', '100%'])

function thresholdsOf(
  values: Readonly<Record<string, string>>,
  { evictionMinimumReclaim }: EvictionSettings,
  graceMs: (signal: EvictionSignal) => number,
): readonly Threshold[] {
  return Object.entries(values).flatMap(([signal, value]): readonly Threshold[] => {
    if (ignoredSignals.has(signal) || disabled.has(value)) return []
    if (!isSignal(signal)) throw new Error(`unsupported eviction signal ${signal}`)
    if (!isPositive(value)) throw new Error(`eviction threshold ${signal} must be positive: ${value}`)
    const minimumReclaim = evictionMinimumReclaim[signal]
    if (minimumReclaim !== undefined && Number.isNaN(amountOf(minimumReclaim)))
      throw new Error(`invalid eviction minimum reclaim for ${signal}: ${minimumReclaim}`)
    return [{ signal, value, graceMs: graceMs(signal), ...(minimumReclaim && { minimumReclaim }) }]
  })
}

function softGraceMs({ evictionSoftGracePeriod }: EvictionSettings, signal: EvictionSignal): number {
  const text = evictionSoftGracePeriod[signal]
  if (text === undefined)
    throw new Error(`grace period must be specified for the soft eviction threshold ${signal}`)
  const periodMs = tryParseDurationMs(text)
  if (periodMs === undefined || periodMs < 0)
    throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`)
  return periodMs
}

function isSignal(text: string): text is EvictionSignal {
  return text in signalKinds
}

function isPositive(value: string): boolean {
  const amount = amountOf(value)
  return amount > 0 && (!value.endsWith('%') || amount <= 100)
}

/** NaN if it cannot be parsed. */
function amountOf(value: string): number {
  if (value.endsWith('%')) return Number(value.slice(0, -1) || NaN)
  const quantity = tryParseQuantity(value)
  return quantity === undefined ? NaN : quantityToNumber(quantity)
}
