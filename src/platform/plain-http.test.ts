import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { PlainHttpServer, type PlainRequest } from './plain-http.ts'
import { Simulation } from './simulated.ts'

async function start() {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('node')
  const requests: PlainRequest[] = []
  const server = await simulation.run(
    PlainHttpServer.start({
      platform,
      host: platform.address,
      port: 80,
      answer: request => {
        requests.push(request)
        return { status: 200, mediaType: 'text/plain', text: 'fine', headers: { 'X-A': 'b' } }
      },
    }),
  )
  const send = async (sent: string): Promise<string> => {
    const connection = await simulation.run(platform.network.connect({ host: platform.address, port: 80 }))
    connection.write(sent)
    const received = text(connection)
    await simulation.advance(10_000)
    return simulation.run(received)
  }
  return { simulation, server, requests, send }
}

test('a request is answered, and the connection closed', async () => {
  const { requests, send } = await start()
  assert.equal(
    await send('GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n'),
    [
      'HTTP/1.1 200 OK',
      'Content-Type: text/plain',
      'X-Content-Type-Options: nosniff',
      'X-A: b',
      'Content-Length: 4',
      'Connection: close',
      '',
      'fine',
    ].join('\r\n'),
  )
  assert.deepEqual(requests, [{ method: 'GET', path: '/metrics', accept: 'text/plain' }])
  assert.match(await send('HEAD / HTTP/1.1\r\n\r\n'), /Content-Length: 4\r\nConnection: close\r\n\r\n$/)
})

test('malformed, large and slow requests are not answered', async () => {
  const { requests, send } = await start()
  assert.match(await send('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.equal(await send('GET / HTTP/1.1\r\n'), '')
  assert.equal(await send(`GET / HTTP/1.1\r\nA: ${'x'.repeat(10_000)}\r\n\r\n`), '')
  assert.deepEqual(requests, [])
})
