import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { ensureCertificate, type KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { nodeCrypto } from '#/platform/node.ts'
import type { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

/** A client certificate for any user. */
export function certificateOf(
  { platform, certificates }: StreamingCluster,
  commonName: string,
  organizations: readonly string[] = [],
): Promise<KeyAndCertificate> {
  const profile = { commonName, organizations, usage: 'client', names: [] } as const
  const { ca } = certificates
  return ensureCertificate({ platform, crypto: nodeCrypto() }, { profile, ca, existing: undefined })
}

export interface RawRequest {
  readonly port: number
  readonly line: string
  readonly headers?: Readonly<Record<string, string>>
  readonly identity?: KeyAndCertificate
}

export interface RawAnswer {
  readonly status: number
  readonly head: string
  /** The part received so far. */
  readonly body: string
  readonly socket: TLSSocket
}

export const webSocket: Readonly<Record<string, string>> = {
  'connection': 'upgrade',
  'upgrade': 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'v5.channel.k8s.io',
}

/** Sends one HTTP/1.1 request and returns the response headers. */
export async function ask({ certificates }: StreamingCluster, request: RawRequest): Promise<RawAnswer> {
  const { port, line, headers = {}, identity } = request
  const ca = certificates.ca.cert
  const socket = connect({ host: '127.0.0.1', port, ca, ...identity, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
  let text = ''
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1')
  })
  await waitUntil(() => socket.closed || isWhole(text))
  const [head = '', ...body] = text.split('\r\n\r\n')
  const [, status = '0'] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? []
  return { status: Number(status), head, body: body.join('\r\n\r\n'), socket }
}

function isWhole(text: string): boolean {
  const [head = '', body] = text.split('\r\n\r\n')
  const [, length] = /^content-length: (\d+)/im.exec(head) ?? []
  return body !== undefined && (length === undefined || body.length >= Number(length))
}
