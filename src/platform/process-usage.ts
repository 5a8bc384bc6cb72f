/** The memory that this process may use; past it the process ends. */
export interface ProcessMemory {
  /** Limit of the JavaScript heap. */
  readonly heapBytesMax: number
  /** Memory of the machine, or of the cgroup of the process. */
  readonly residentBytesMax: number
  /** True when the heap or the resident memory is close to its limit. */
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
