/**
 * The API servers of a cluster as a host knows them: a file, written by `k8ts join` and kept up to date from the
 * EndpointSlice `default/kubernetes`, so that a host finds its API servers after a restart, too.
 */
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { abortable } from '#/base/abort.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ApiServerBalancer, ServerList } from './api-server-balancer.ts'
import { formatServerAddress, parseServerAddress } from './server-address.ts'

export interface ApiServerListOptions {
  readonly platform: Platform
  /** Path of the file. */
  readonly path: string
  /**
   * Connects through the balancer. Needs the right to list and watch EndpointSlices named `kubernetes` in namespace
   * `default`.
   */
  readonly client: Client
  readonly balancer: Pick<ApiServerBalancer, 'setServers'>
  /** The content of the file. */
  readonly servers: ServerList
}

export class ApiServerList {
  readonly #options: ApiServerListOptions
  #current: ServerList
  /** The content of the file. */
  #written: ServerList
  #changed = Promise.withResolvers<void>()

  constructor(options: ApiServerListOptions) {
    this.#options = options
    this.#current = options.servers
    this.#written = options.servers
  }

  /** Follows the EndpointSlice until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#options
    const selection = { namespace: 'default', fieldSelector: 'metadata.name=kubernetes' }
    const informer = new Informer({ platform, client, resource: endpointSlices, selection })
    informer.addEventHandler((_key, { newObject }) => {
      if (newObject) this.#update(newObject)
    })
    await Promise.all([informer.run(signal), this.#write(signal)])
  }

  #update(slice: EndpointSlice): void {
    const servers = planServerList(slice, this.#current.servers)
    if (servers === this.#current.servers) return
    this.#options.platform.log.info('API servers changed', { servers })
    this.#current = { ...this.#current, servers }
    this.#options.balancer.setServers(this.#current)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Writes the file after each change, and again after a failure. */
  async #write(signal: AbortSignal): Promise<void> {
    const { platform, path } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const { promise } = this.#changed
      const current = this.#current
      if (current === this.#written) {
        await abortable(promise, signal).catch(() => undefined)
        continue
      }
      try {
        await writeServerList(platform, path, current)
        this.#written = current
        failures = 0
      } catch (error) {
        platform.log.error('Failed to write the list of API servers', { path, error })
        const delayMs = backoffMs(++failures, pauses, platform.random.fraction('list of API servers'))
        await platform.clock.sleep(delayMs, signal).catch(() => undefined)
      }
    }
  }
}

/** Pauses after failures to write the file. */
const pauses: Backoff = { initialMs: 1_000, maxMs: 5 * 60_000, factor: 4, jitter: 0.2 }

const serversMax = 100

/**
 * The list that follows from the EndpointSlice: sorted addresses of ready endpoints. The same array if nothing changes.
 * A slice without endpoints changes nothing: API servers that all have just been restarted are still at their old
 * addresses.
 */
export function planServerList(slice: EndpointSlice, current: readonly string[]): readonly string[] {
  const port = (slice.ports?.find(({ name }) => name === 'https') ?? slice.ports?.[0])?.port
  const hosts = (slice.endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses)
  const addresses = hosts.flatMap(host => {
    return parseServerAddress(formatServerAddress({ host, port: port ?? 0 })) ?? []
  })
  const servers = [...new Set(addresses.map(formatServerAddress))].sort().slice(0, serversMax)
  const isSame = servers.length === current.length && new Set(servers).isSupersetOf(new Set(current))
  return servers.length === 0 || isSame ? current : servers
}

/** Without `bootstrapServers` in the file, they are the servers: those from the time of joining. */
export async function readServerList({ files }: Pick<Platform, 'files'>, path: string): Promise<ServerList> {
  const fail = (why: string): never => {
    throw new Error(`the list of API servers in ${path} is invalid: ${why}; run k8ts join again`)
  }
  let content: unknown
  try {
    content = JSON.parse(Buffer.from(await files.read(path)).toString())
  } catch (cause) {
    throw new Error(`cannot read the list of API servers in ${path}: ${messageOf(cause)}`, { cause })
  }
  if (typeof content !== 'object' || content === null) return fail('it is not a JSON object')
  const { servers, bootstrapServers, ...rest }: Record<string, unknown> = { ...content }
  const [unknownField] = Object.keys(rest)
  if (unknownField !== undefined) return fail(`unknown field "${unknownField}"`)
  const list = (name: string, value: unknown): readonly string[] => {
    if (!Array.isArray(value) || value.length === 0)
      return fail(`${name}: must be a list of addresses HOST:PORT`)
    if (value.length > serversMax) return fail(`${name}: has more than ${serversMax} addresses`)
    const addresses = value.map((text: unknown, index) => {
      const address = typeof text === 'string' ? parseServerAddress(text) : undefined
      return address ? formatServerAddress(address) : fail(`${name}[${index}]: is not an address HOST:PORT`)
    })
    return [...new Set(addresses)]
  }
  const valid = list('servers', servers)
  return {
    servers: valid,
    bootstrapServers: bootstrapServers === undefined ? valid : list('bootstrapServers', bootstrapServers),
  }
}

/** Atomic: a crash leaves the old list or the new one. */
export async function writeServerList(
  { files }: Pick<Platform, 'files'>,
  path: string,
  { servers, bootstrapServers }: ServerList,
): Promise<void> {
  await files.write(path, `${JSON.stringify({ servers, bootstrapServers }, undefined, 2)}\n`)
}
