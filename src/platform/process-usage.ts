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
