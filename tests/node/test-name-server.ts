/** A scripted name server over UDP and TCP that records its queries. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import {
  emptyResponse,
  parseDnsMessage,
  plainUdpBytesMax,
  serializeDnsMessage,
  tcpBytesMax,
  type DnsMessage,
} from '#/dns/dns-message.ts'

export interface TestNameServer {
  readonly host: string
  readonly port: number
  /** `udp name type`, in order. */
  readonly asked: string[]
}

/** Returns the response; undefined to send none. */
export type Say = (
  query: DnsMessage,
  transport: 'udp' | 'tcp',
) => Partial<DnsMessage> | undefined | Promise<undefined>

export async function startTestNameServer(
  t: Pick<TestContext, 'after'>,
  say: Say,
  host = '127.0.0.1',
): Promise<TestNameServer> {
  const asked: string[] = []
  const answer = async (bytes: Uint8Array, transport: 'udp' | 'tcp'): Promise<Uint8Array | undefined> => {
    const query = parseDnsMessage(bytes)
    const [question] = query?.questions ?? []
    if (!query || !question) return undefined
    asked.push(`${transport} ${question.name} ${question.type}`)
    const said = await say(query, transport)
    if (!said) return undefined
    const { id, questions } = query
    const bytesMax = transport === 'tcp' ? tcpBytesMax : plainUdpBytesMax
    return serializeDnsMessage({ ...emptyResponse, id, questions, ...said }, bytesMax)
  }
  const connections = new Set<Socket>()
  const server = createServer(socket => {
    connections.add(socket.on('error', () => undefined))
    socket.on('data', bytes => {
      void answer(Buffer.from(bytes).subarray(2), 'tcp').then(message => {
        if (message)
          socket.write(Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]))
      })
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = createSocket('udp4')
  socket.on('message', (bytes, from) => {
    void answer(bytes, 'udp').then(message => message && socket.send(message, from.port, from.address))
  })
  socket.bind(port, host)
  await once(socket, 'listening')
  t.after(() => {
    socket.close()
    server.close()
    for (const connection of connections) connection.destroy()
  })
  return { host, port, asked }
}
