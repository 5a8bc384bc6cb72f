/** The memory that this process may use; past it the process ends. */
export interface ProcessMemory {
  /** Limit of the JavaScript heap. */
  readonly heapBytesMax: number
  /** The memory of the machine or of the cgroup. */
  readonly residentBytesMax: number
  /** True when the heap is close to its limit, or the process to the memory of the machine or of its cgroup. */
  isNearlyExhausted(): boolean
  /** Calls back when a load has ended, before its memory is returned to the operating system: caches can be emptied. */
  onIdle(release: () => void): void
}

/** A turn of the event loop that delayed everything else. */
export interface EventLoopBlock {
  /** The kind of work, `garbage collection`, or `not running` if the thread waited for a CPU or for the disk. */
  readonly cause: string
  readonly detail: string
  readonly durationMs: number
}

/** The blocks with one cause. */
export interface EventLoopBlocks {
  readonly cause: string
  readonly count: number
  readonly totalMs: number
  readonly longestMs: number
}

/** Resource usage of this process. */
export interface ProcessUsage {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly heapBytes: number
  /** Wall-clock time. */
  readonly startedMs: number
  /** Undefined if the operating system does not report it. */
  readonly openFiles: number | undefined
  /** Absent if the operating system does not report it. */
  readonly details?: ProcessDetails
  readonly eventLoopBlocks: readonly EventLoopBlocks[]
}

/** Figures that Linux reports; a limit is Infinity if there is none. */
export interface ProcessDetails {
  readonly virtualBytes: number
  readonly virtualBytesMax: number
  readonly openFilesMax: number
  /** Of the network namespace of the process. */
  readonly networkReceivedBytes: number
  readonly networkSentBytes: number
}
