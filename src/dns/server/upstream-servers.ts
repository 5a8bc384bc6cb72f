import type { Files, Log, Platform } from '#/platform/platform.ts'

export interface Server {
  readonly host: string
  readonly port: number
}

export interface ResolvConf {
  /** Path of the file. */
  readonly resolvConf: string
  /** Host that replaces loopback addresses in it, for a server in another network namespace. */
  readonly loopbackUpstream?: string
}

/** Maximum number of servers used. */
const serversMax = 5

/** Interval between checks of the file, which may change, e.g. when the machine changes networks. */
const freshMs = 5_000

/** The machine's name servers, from the current `resolv.conf`. */
export class UpstreamServers {
  readonly #platform: Pick<Platform, 'clock'> & { readonly files: Files; readonly log: Log }
  readonly #source: ResolvConf
  readonly #own: readonly Server[]
  #servers: readonly Server[] = []
  #modifiedMs: number | undefined
  #checkedMs = -Infinity

  /** `own` addresses are excluded to prevent forwarding loops. */
  constructor(
    platform: Pick<Platform, 'clock' | 'files' | 'log'>,
    source: ResolvConf,
    own: readonly Server[],
  ) {
    this.#platform = platform
    this.#source = source
    this.#own = own
  }

  async list(): Promise<readonly Server[]> {
    const { clock, files, log } = this.#platform
    const { resolvConf: path, loopbackUpstream } = this.#source
    if (clock.monotonicMs() - this.#checkedMs < freshMs) return this.#servers
    this.#checkedMs = clock.monotonicMs()
    try {
      const modifiedMs = (await files.stat(path))?.modifiedMs
      if (modifiedMs === this.#modifiedMs && modifiedMs !== undefined) return this.#servers
      const text = Buffer.from(await files.read(path)).toString()
      const isOwn = ({ host, port }: Server): boolean => {
        return this.#own.some(own => own.host === host && own.port === port)
      }
      this.#servers = reachableServers(parseNameServers(text), loopbackUpstream).filter(
        server => !isOwn(server),
      )
      this.#modifiedMs = modifiedMs
    } catch (error) {
      log.warn('Failed to read resolv.conf', { path, error })
    }
    return this.#servers
  }
}

function reachableServers(servers: readonly Server[], instead: string | undefined): readonly Server[] {
  if (instead === undefined) return servers
  const hosts = servers.map(({ host }) => (/^(127\.|::1$)/.test(host) ? instead : host))
  return [...new Set(hosts)].map(host => ({ host, port: 53 }))
}

/** The name servers of a `resolv.conf`. */
export function parseNameServers(text: string): readonly Server[] {
  const hosts = text
    .split('\n')
    .flatMap(line => /^\s*nameserver\s+([0-9a-fA-F:.]+(?:%\S+)?)\s*([#;].*)?$/.exec(line)?.[1] ?? [])
  return [...new Set(hosts)].slice(0, serversMax).map(host => ({ host, port: 53 }))
}
