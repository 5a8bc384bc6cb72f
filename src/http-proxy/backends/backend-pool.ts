/** The endpoints of a backend, and which of them gets a request. */
import type { Backend } from '../proxy-configuration.ts'
import { Endpoint, endpointKey, type EndpointOptions } from './endpoint.ts'

export type BackendPoolOptions = Omit<EndpointOptions, 'backend' | 'at' | 'joinedMs'>

export interface EndpointChoice {
  /** Of the client, for affinity. */
  readonly clientAddress: string
  /** Endpoints that could not be reached for this request. */
  readonly excluded: readonly Endpoint[]
  readonly nowMs: number
}

export class BackendPool {
  readonly #options: BackendPoolOptions
  #backend: Backend
  #endpoints: readonly Endpoint[] = []
  #next = 0

  constructor(backend: Backend, options: BackendPoolOptions) {
    this.#options = options
    this.#backend = backend
    this.apply(backend)
  }

  get backend(): Backend {
    return this.#backend
  }

  get endpoints(): readonly Endpoint[] {
    return this.#endpoints
  }

  /** Endpoints that stay keep their connections; those that leave finish their requests. */
  apply(backend: Backend): void {
    const isSame = this.#backend.protocol === backend.protocol && isSameTls(this.#backend, backend)
    this.#backend = backend
    const old = new Map(this.#endpoints.map(endpoint => [endpoint.key, endpoint]))
    const joinedMs = old.size > 0 ? this.#options.platform.clock.monotonicMs() : undefined
    const endpoints = new Map<string, Endpoint>()
    for (const at of backend.endpoints) {
      const key = endpointKey(at)
      const kept = isSame ? old.get(key) : undefined
      if (kept) old.delete(key)
      if (!endpoints.has(key))
        endpoints.set(key, kept ?? new Endpoint({ ...this.#options, backend, at, joinedMs }))
    }
    this.#endpoints = [...endpoints.values()]
    for (const endpoint of old.values()) endpoint.remove()
  }

  remove(): void {
    for (const endpoint of this.#endpoints) endpoint.remove()
    this.#endpoints = []
  }

  /** Undefined if there is none that is not excluded. */
  choose(choice: EndpointChoice): Endpoint | undefined {
    const endpoints = this.#endpoints
    if (endpoints.length <= 1) {
      const [only] = endpoints
      return only && choice.excluded.includes(only) ? undefined : only
    }
    if (this.#backend.hasClientAffinity) return chooseByClient(endpoints, choice)
    this.#next = (this.#next + 1) % endpoints.length
    return chooseLeastOutstanding(endpoints, choice, this.#next)
  }
}

/** Beginning with the next one in turn, so that idle endpoints get requests in turn. */
function chooseLeastOutstanding(
  endpoints: readonly Endpoint[],
  { excluded, nowMs }: EndpointChoice,
  first: number,
): Endpoint | undefined {
  let best: Endpoint | undefined
  let bestLoad = Infinity
  let fallback: Endpoint | undefined
  const looked = Math.min(endpoints.length, candidatesMax)
  for (let index = 0; index < looked; index++) {
    const endpoint = endpoints[(first + index) % endpoints.length]!
    if (excluded.includes(endpoint)) continue
    if (endpoint.penaltyEndMs > nowMs) {
      if (fallback === undefined || endpoint.penaltyEndMs < fallback.penaltyEndMs) fallback = endpoint
      continue
    }
    const load = (endpoint.outstanding + 1) / endpoint.share(nowMs)
    if (load >= bestLoad) continue
    best = endpoint
    bestLoad = load
  }
  return best ?? fallback
}

/** Endpoints that are compared for one request. */
const candidatesMax = 32

/** Rendezvous hashing: a client changes its endpoint only when that one leaves. */
function chooseByClient(
  endpoints: readonly Endpoint[],
  { clientAddress, excluded, nowMs }: EndpointChoice,
): Endpoint | undefined {
  const usable = endpoints.filter(endpoint => !excluded.includes(endpoint))
  const healthy = usable.filter(endpoint => endpoint.penaltyEndMs <= nowMs)
  let best: Endpoint | undefined
  let bestHash = -1
  for (const endpoint of healthy.length > 0 ? healthy : usable) {
    const value = hash(`${clientAddress} ${endpoint.key}`)
    if (value <= bestHash) continue
    best = endpoint
    bestHash = value
  }
  return best
}

/** FNV-1a with the finalizer of MurmurHash3, so that similar texts have unrelated values. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

function isSameTls(one: Backend, other: Backend): boolean {
  return one.tls?.serverName === other.tls?.serverName && one.tls?.ca === other.tls?.ca
}
