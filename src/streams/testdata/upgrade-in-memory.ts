/** In-memory HTTP upgrades over a pair of streams. */
import { duplexPair, type Duplex } from 'node:stream'
import type { HttpConnect, HttpUpgrade, HttpUpgradeRequest } from '#/platform/http-client.ts'
import type { UpgradeExchange } from '../upgrade-exchange.ts'

export function upgradeInMemory(
  serve: (exchange: UpgradeExchange, query: URLSearchParams) => void,
): HttpConnect {
  return () => ({
    request: () => Promise.reject(new Error('only upgrades are answered')),
    upgrade: request => {
      const { promise, resolve, reject } = Promise.withResolvers<HttpUpgrade>()
      serve(exchangeOf(request, { resolve, reject }), new URL(request.path, 'http://server').searchParams)
      return promise
    },
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
}

interface Answer {
  readonly resolve: (upgrade: HttpUpgrade) => void
  readonly reject: (error: unknown) => void
}

function exchangeOf({ method, headers = {} }: HttpUpgradeRequest, answer: Answer): UpgradeExchange {
  const all: typeof headers = { connection: 'Upgrade', ...headers }
  let status = 0
  let sent: Record<string, string> = {}
  return {
    method,
    headers: Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)])),
    headerValues: name => [all[name] ?? []].flat(),
    respond: (code, answered) => {
      status = code
      sent = Object.fromEntries(Object.entries(answered).map(([name, value]) => [name, String(value)]))
    },
    end: (pieces = []) => {
      const body = (async function* () {
        yield* pieces
      })()
      answer.resolve({
        type: 'refused',
        response: { status, headers: sent, body, discard: () => undefined },
      })
    },
    hijack: () => {
      const [near, far] = duplexPair()
      for (const end of [near, far]) end.on('error', () => undefined)
      readHead(near).then(answer.resolve, answer.reject)
      return { connection: far, head: new Uint8Array() }
    },
  }
}

async function readHead(connection: Duplex): Promise<HttpUpgrade> {
  let head = Buffer.alloc(0)
  while (!head.includes('\r\n\r\n')) {
    const piece = connection.read() as Buffer | null
    if (piece === null) await new Promise<void>(resolve => void connection.once('readable', resolve))
    else head = Buffer.concat([head, piece])
  }
  const end = head.indexOf('\r\n\r\n')
  const [first = '', ...lines] = head.toString('latin1', 0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
  return {
    type: 'upgraded',
    status: Number(first.split(' ')[1]),
    headers,
    connection,
    head: head.subarray(end + 4),
  }
}
