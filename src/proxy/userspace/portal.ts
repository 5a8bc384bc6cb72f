/** The local end of a service port in the mode userspace: packets to the service are redirected to it. */
export interface Portal extends AsyncDisposable {
  /** Returns the port, which the kernel selects. */
  listen(host: string): Promise<number>
  /** Called after the balancer has other endpoints. */
  endpointsChanged(): void
}

/** A bound on connections or clients of all services of a node, which share the memory of one process. */
export class ConnectionLimit {
  readonly #max: number
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  /** False at the bound. */
  take(): boolean {
    if (this.#count >= this.#max) return false
    this.#count++
    return true
  }

  release(): void {
    this.#count--
  }
}
