/**
 * The real machine for programs that run one command and exit: as in `node.ts`, but without what only components need,
 * such as servers and the event loop watchdog, since loading it takes longer than most commands.
 */
import type { ServeLocalHttp } from './http.ts'
import type { HttpConnect } from './http-client.ts'
import { nodeClock } from './node/clock.ts'
import { nodeFiles } from './node/files.ts'
import { connectHttp } from './node/http-client.ts'
import { standardErrorLog, type LogOptions } from './node/log.ts'
import { nodeNetwork } from './node/network.ts'
import { nodeProcesses } from './node/processes.ts'
import { nodeRandom } from './node/random.ts'
import type { Platform } from './platform.ts'

export { environmentVariables } from './node/environment.ts'
export { nodeIOStreams } from './node/io-streams.ts'

export function shortLivedPlatform({ log }: { readonly log: LogOptions }): Platform {
  const clock = nodeClock()
  return {
    clock,
    random: nodeRandom(),
    network: nodeNetwork(),
    files: nodeFiles(),
    processes: nodeProcesses(),
    log: standardErrorLog(clock, log),
  }
}

/** HTTP/1.1 only: a single request is faster without the negotiation and the code of HTTP/2. */
export const connectHttp1: HttpConnect = options => connectHttp({ ...options, protocol: 'http1' })

export const serveLocalHttp: ServeLocalHttp = async options => {
  const { NodeLocalHttpServer } = await import('./node/local-http.ts')
  return NodeLocalHttpServer.start(options)
}
