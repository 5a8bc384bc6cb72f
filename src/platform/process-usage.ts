/** The memory that this process may use; past it the process ends. */
export interface ProcessMemory {
  /** Limit of the JavaScript heap. */
  readonly heapBytesMax: number
  /** True when the heap is close to its limit, or the process to the memory of the machine or of its cgroup. */
  isNearlyExhausted(): boolean
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
}
