/** In-memory HTTP upgrades over a pair of streams. */
import type { HttpConnect } from '#/platform/http-client.ts'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import type { UpgradeExchange } from '../upgrade-exchange.ts'

export function upgradeInMemory(
  serve: (exchange: UpgradeExchange, query: URLSearchParams) => void,
): HttpConnect {
  const client = inProcessHttp(exchange => {
    serve(exchange, new URL(exchange.target, 'http://server').searchParams)
  })
  return () => client
}
