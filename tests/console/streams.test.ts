/** Many streaming responses over one WebSocket, with a real API server. */
import assert from 'node:assert/strict'
import { once, setMaxListeners } from 'node:events'
import { after, test, type TestContext } from 'node:test'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { bearer, startConsole, tokenProtocol, type ConsoleClient } from './console-client.ts'

const cluster = await Cluster.start({ clock: 'real' })
after(() => cluster.stop())

interface StreamMessage {
  readonly id: number
  readonly status?: number
  readonly data?: string
  readonly end?: true
  readonly error?: string
}

interface Streams {
  readonly client: ConsoleClient
  readonly token: string
  readonly socket: WebSocket
  readonly send: (message: object) => void
  /** Resolves with what has arrived of a stream when the condition holds for it. */
  readonly until: (id: number, condition: (received: Received) => boolean) => Promise<Received>
}

interface Received {
  readonly status: number | undefined
  readonly text: string
  readonly end: StreamMessage | undefined
}

async function openStreams(t: TestContext): Promise<Streams> {
  const kubeconfig = await cluster.kubeconfig()
  const client = await startConsole(t, { kubeconfig, folder: await temporaryFolder(t) })
  const token = await client.signIn()
  const url = `ws://127.0.0.1:${client.server.port}/streams`
  const socket = new WebSocket(url, ['streams.console.k8ts.io', tokenProtocol(token)])
  t.after(() => socket.close())
  setMaxListeners(0, socket)
  const received = new Map<number, Received>()
  socket.addEventListener('message', ({ data }) => {
    const { id, ...message } = JSON.parse(String(data)) as StreamMessage
    const { status, text, end } = received.get(id) ?? { text: '', status: undefined, end: undefined }
    received.set(id, {
      status: message.status ?? status,
      text: text + (message.data ?? ''),
      end: message.end ? { id, ...message } : end,
    })
  })
  await once(socket, 'open')
  return {
    client,
    token,
    socket,
    send: message => socket.send(JSON.stringify(message)),
    async until(id, condition) {
      for (;;) {
        const found = received.get(id)
        if (found !== undefined && condition(found)) return found
        await once(socket, 'message')
      }
    },
  }
}

const watch = '/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0'
const hasEnded = ({ end }: Received): boolean => end !== undefined

test('many watches share one connection, and each ends when the page closes it', async t => {
  const { send, until } = await openStreams(t)
  const ids = Array.from({ length: 20 }, (_, index) => index)
  for (const id of ids) send({ open: id, path: `${watch}&fieldSelector=metadata.name%3Dmap-${id}` })
  await Promise.all(ids.map(id => until(id, ({ status }) => status === 200)))
  await cluster.client.create(configMaps, { metadata: { name: 'map-7', namespace: 'default' } })
  const { text } = await until(7, ({ text }) => text.endsWith('\n'))
  assert.equal(JSON.parse(text).object.metadata.name, 'map-7')
  send({ close: 7 })
  assert.deepEqual((await until(7, hasEnded)).end, { id: 7, end: true })
  send({ open: 100, path: '/api/v1/namespaces/none', accept: 'application/json' })
  const missing = await until(100, hasEnded)
  assert.equal(missing.status, 404)
  assert.equal(JSON.parse(missing.text).reason, 'NotFound')
  assert.equal((await until(8, () => true)).text, '', 'a stream gets only what it has asked for')
})

test('signing out closes the connection with all its streams', async t => {
  const { client, token, socket, send, until } = await openStreams(t)
  send({ open: 1, path: watch })
  await until(1, ({ status }) => status === 200)
  const closed = once(socket, 'close')
  const other = await client.open(`/api-server${watch}`, { headers: bearer(token) })
  await client.ask('/session', { method: 'DELETE', headers: bearer(token) })
  await closed
  other.resume()
  await assert.rejects(once(other, 'end'), { code: 'ECONNRESET' })
})

test('the number of streams is bounded', async t => {
  const { send, until } = await openStreams(t)
  for (let id = 0; id <= 200; id++) send({ open: id, path: watch })
  assert.deepEqual((await until(200, hasEnded)).end, { id: 200, end: true, error: 'too many streams' })
})

const violations: readonly unknown[] = [
  'no object',
  { open: 'x', path: '/api' },
  { open: 1 },
  { open: 1, path: 'http://evil.example/' },
  { open: 1, path: '/../x' },
  { open: 1, path: '/a b' },
  { open: 1, path: `/${'x'.repeat(70_000)}` },
]

test('a message that is not valid ends the connection', async t => {
  for (const message of violations) {
    const { socket } = await openStreams(t)
    socket.send(JSON.stringify(message))
    const [{ code }] = (await once(socket, 'close')) as [CloseEvent]
    assert.ok([1008, 1009].includes(code), `${JSON.stringify(message).slice(0, 50)}: ${code}`)
  }
})
