/** What the program itself takes from the machine. */
export interface ProcessUsage {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly heapBytes: number
  /** Wall time. */
  readonly startedMs: number
  /** Undefined where the operating system does not tell. */
  readonly openFiles: number | undefined
}
