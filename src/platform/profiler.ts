/** Profiles of this process, in V8's formats. Of each kind, one may be taken at a time. */
export interface Profiler {
  /** JSON of a `.cpuprofile` file. */
  cpuProfile(options: ProfileOptions): Promise<string>
  /** Samples the allocations of the time that are still in use at its end: JSON of a `.heapprofile` file. */
  heapProfile(options: ProfileOptions): Promise<string>
  /** Pieces of a `.heapsnapshot` file. The process does nothing else while the snapshot is taken. */
  heapSnapshot(): AsyncIterable<Uint8Array>
}

export interface ProfileOptions {
  readonly durationMs: number
  /** Ends the profile early. */
  readonly signal: AbortSignal
}
