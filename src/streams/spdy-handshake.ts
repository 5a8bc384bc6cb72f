/** Upgrade from HTTP/1.1 to SPDY/3.1 with one of Kubernetes' subprotocols. */
import type { HijackedConnection } from '#/platform/http.ts'
import { refuse, type UpgradeExchange } from './upgrade-exchange.ts'

export const spdyUpgrade = 'SPDY/3.1'

/** The subprotocol of port-forward. */
export const portForwardProtocol = 'portforward.k8s.io'

export interface AcceptedSpdy extends HijackedConnection {
  readonly protocol: string
}

/** Answers the request. Undefined if it is refused. */
export function acceptSpdy(
  exchange: UpgradeExchange,
  supported: readonly string[],
): AcceptedSpdy | undefined {
  const { headers, hijack } = exchange
  const values = exchange.headerValues('x-stream-protocol-version')
  if (values.length === 0) {
    const count = Object.keys(headers).length
    const header = 'header X-Stream-Protocol-Version'
    const message = `unable to upgrade: ${header} does not exist in request with ${count} headers`
    return refuse(exchange, { status: 400, message })
  }
  const requested = values
    .flatMap(value => value.split(','))
    .map(each => each.trim())
    .filter(each => each !== '')
  if (requested.length === 0) {
    const header = `header X-Stream-Protocol-Version contains [${values.join(' ')}]`
    const message = `unable to upgrade: ${header}, but no valid protocols`
    return refuse(exchange, { status: 400, message })
  }
  const protocol = requested.find(each => supported.includes(each))
  if (protocol === undefined) {
    const lists = `client supports [${requested.join(' ')}], server accepts [${supported.join(' ')}]`
    const message = `unable to upgrade: unable to negotiate protocol: ${lists}`
    const acceptedVersions = { 'x-accepted-stream-protocol-versions': supported }
    return refuse(exchange, { status: 403, message, headers: acceptedVersions })
  }
  const isSpdy = headers['upgrade']?.toLowerCase().includes('spdy/3.1') === true
  if (!isSpdy || hijack === undefined) {
    const message = 'unable to upgrade: missing upgrade headers in request'
    return refuse(exchange, { status: 400, message })
  }
  const taken = hijack()
  taken.connection.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      `Upgrade: ${spdyUpgrade}`,
      `X-Stream-Protocol-Version: ${protocol}`,
      '\r\n',
    ].join('\r\n'),
  )
  return { ...taken, protocol }
}
