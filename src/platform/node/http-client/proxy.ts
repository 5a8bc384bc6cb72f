import { isIP, type Socket } from 'node:net'

/** The server to which the proxy connects. */
export interface ProxyTarget {
  readonly host: string
  readonly port: number
}

/**
 * Makes a proxy connect to the target, on a connection to the proxy: CONNECT for `http` and `https`, SOCKS version 5
 * (RFC 1928 and 1929) for `socks5` and `socks5h`, where the proxy resolves names. The caller destroys the socket when
 * this rejects, and limits the time.
 */
export function requestTunnel(socket: Socket, proxy: URL, target: ProxyTarget): Promise<void> {
  return proxy.protocol.startsWith('socks5')
    ? requestSocksTunnel(socket, proxy, target)
    : requestHttpTunnel(socket, proxy, target)
}

/** Maximum size of the head of a response to CONNECT. */
const headBytesMax = 64 * 1024

async function requestHttpTunnel(socket: Socket, proxy: URL, { host, port }: ProxyTarget): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`]
  const { username, password } = credentialsOf(proxy)
  if (username !== '' || password !== '') {
    const encoded = Buffer.from(`${username}:${password}`).toString('base64')
    lines.push(`Proxy-Authorization: Basic ${encoded}`)
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  let head = Buffer.alloc(0)
  for (;;) {
    head = Buffer.concat([head, await read(socket)])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0 && head.length <= headBytesMax) continue
    const [, status, text = ''] =
      /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?\r\n/.exec(head.toString('latin1')) ?? []
    if (end < 0 || status === undefined) throw new Error('the proxy has sent an invalid response')
    if (!status.startsWith('2')) throw new Error(text === '' ? `the proxy has answered ${status}` : text)
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
    return
  }
}

const socksVersion = 5
const methods = { none: 0, password: 2 } as const
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const

const socksFailures: readonly string[] = [
  'succeeded',
  'general SOCKS server failure',
  'connection not allowed by ruleset',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
]

async function requestSocksTunnel(socket: Socket, proxy: URL, { host, port }: ProxyTarget): Promise<void> {
  const { username, password } = credentialsOf(proxy)
  const offered = username === '' ? [methods.none] : [methods.none, methods.password]
  socket.write(Uint8Array.of(socksVersion, offered.length, ...offered))
  const [version, method] = await read(socket, 2)
  if (version !== socksVersion) throw new Error(`unexpected protocol version ${version}`)
  if (method === methods.password && username !== '') await authenticate(socket, username, password)
  else if (method !== methods.none) throw new Error('no acceptable authentication methods')
  socket.write(
    Buffer.concat([
      Uint8Array.of(socksVersion, 1, 0),
      addressBytes(host),
      Uint8Array.of(port >> 8, port & 0xff),
    ]),
  )
  const [, reply = 1, , type] = await read(socket, 4)
  if (reply !== 0) throw new Error(socksFailures[reply] ?? `unknown code: ${reply}`)
  // The address that the proxy has bound, and its port.
  const lengthBytes =
    type === addressTypes.ipv4 ? 4 : type === addressTypes.ipv6 ? 16 : (await read(socket, 1)).readUInt8()
  await read(socket, lengthBytes + 2)
}

async function authenticate(socket: Socket, username: string, password: string): Promise<void> {
  const [name, secret] = [Buffer.from(username), Buffer.from(password)]
  if (name.length > 255 || secret.length > 255) throw new Error('invalid username/password')
  socket.write(Buffer.concat([Uint8Array.of(1, name.length), name, Uint8Array.of(secret.length), secret]))
  const [, status] = await read(socket, 2)
  if (status !== 0) throw new Error('username/password authentication failed')
}

function addressBytes(host: string): Uint8Array {
  const version = isIP(host)
  if (version === 4) return Uint8Array.of(addressTypes.ipv4, ...host.split('.').map(Number))
  if (version === 6) return Uint8Array.of(addressTypes.ipv6, ...ipv6Bytes(host))
  const name = Buffer.from(host)
  if (name.length > 255) throw new Error('FQDN too long')
  return Buffer.concat([Uint8Array.of(addressTypes.name, name.length), name])
}

function ipv6Bytes(host: string): number[] {
  // The URL parser writes an embedded IPv4 address in groups, too.
  const [left = '', right] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined): number[] =>
    text ? text.split(':').map(group => Number.parseInt(group, 16)) : []
  const [before, after] = [groups(left), groups(right)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  return [...before, ...zeros, ...after].flatMap(group => [group >> 8, group & 0xff])
}

function credentialsOf({ username, password }: URL): {
  readonly username: string
  readonly password: string
} {
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
}

/** Exactly this number of bytes, or what has been received. Nothing else is taken from the socket. */
async function read(socket: Socket, sizeBytes?: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(sizeBytes) as Buffer | null
    if (bytes !== null) return bytes
    if (socket.readableEnded || socket.destroyed) throw socket.errored ?? new Error('EOF')
    await new Promise<void>(resolve => {
      const events = ['readable', 'end', 'close'] as const
      const settle = (): void => {
        for (const event of events) socket.off(event, settle)
        resolve()
      }
      for (const event of events) socket.on(event, settle)
    })
  }
}
