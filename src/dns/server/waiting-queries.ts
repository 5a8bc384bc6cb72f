/** Maximum number of queries that wait for upstream servers, and of those from one address. */
const waitingMax = 5_000
const waitingOfClientMax = 500

/** Bounds the queries that wait for upstream servers, so that one client cannot use the share of all others. */
export class WaitingQueries {
  readonly #byClient = new Map<string, number>()
  #count = 0

  /** False when there are too many already. */
  add(client: string): boolean {
    const own = this.#byClient.get(client) ?? 0
    if (this.#count >= waitingMax || own >= waitingOfClientMax) return false
    this.#byClient.set(client, own + 1)
    this.#count++
    return true
  }

  delete(client: string): void {
    const own = this.#byClient.get(client) ?? 0
    if (own > 1) this.#byClient.set(client, own - 1)
    else this.#byClient.delete(client)
    this.#count--
  }
}
