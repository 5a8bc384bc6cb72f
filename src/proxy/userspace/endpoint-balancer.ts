import { LruMap } from '#/base/lru-map.ts'
import type { ServiceEndpoint } from '../plan.ts'

/** Clients of one service port whose endpoint is remembered; past that the one unseen for longest is forgotten. */
const clientsMax = 10_000

/**
 * Chooses the endpoints of one service port: in turn, or the one that the client had before, if the service has session
 * affinity.
 */
export class EndpointBalancer {
  readonly #clients = new LruMap<string, { readonly endpoint: string; readonly untilMs: number }>(clientsMax)
  #endpoints: readonly ServiceEndpoint[] = []
  #affinitySeconds: number | undefined
  #next = 0

  set(endpoints: readonly ServiceEndpoint[], affinitySeconds: number | undefined): void {
    this.#endpoints = endpoints
    this.#affinitySeconds = affinitySeconds
  }

  /** All endpoints in the order in which they should be tried. */
  order(client: string, nowMs: number): readonly ServiceEndpoint[] {
    const count = this.#endpoints.length
    if (count === 0) return []
    const known = this.#affinitySeconds === undefined ? undefined : this.#clients.get(client)
    const at = known && known.untilMs > nowMs ? this.#indexOf(known.endpoint) : -1
    const first = at >= 0 ? at : this.#next % count
    if (at < 0) this.#next = (first + 1) % count
    return [...this.#endpoints.slice(first), ...this.#endpoints.slice(0, first)]
  }

  /** Called when the client uses the endpoint. */
  used(client: string, endpoint: ServiceEndpoint, nowMs: number): void {
    if (this.#affinitySeconds === undefined) return
    const untilMs = nowMs + this.#affinitySeconds * 1_000
    this.#clients.set(client, { endpoint: endpointKey(endpoint), untilMs })
  }

  has(endpoint: ServiceEndpoint): boolean {
    return this.#indexOf(endpointKey(endpoint)) >= 0
  }

  #indexOf(key: string): number {
    return this.#endpoints.findIndex(endpoint => endpointKey(endpoint) === key)
  }
}

export function endpointKey({ address, port }: ServiceEndpoint): string {
  return `${address} ${port}`
}
