import assert from 'node:assert/strict'
import { mkdtempDisposable, stat } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { HttpExchange } from '../http.ts'
import { NodeLocalHttpServer } from './local-http.ts'

async function echo(exchange: HttpExchange): Promise<void> {
  const body = Buffer.from(await exchange.readBody(1_000)).toString()
  exchange.respond(200, {})
  exchange.end([Buffer.from(`${exchange.method} ${exchange.target} ${body}`)])
}

async function ask(options: { readonly port?: number; readonly socketPath?: string }): Promise<string> {
  const sent = request({ host: '127.0.0.1', method: 'POST', path: '/a?b', ...options, agent: false })
  sent.end('body')
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return text(response)
}

test('requests are served without TLS on a port', async () => {
  const address = { host: '127.0.0.1', port: 0 }
  await using server = await NodeLocalHttpServer.start({ address, onExchange: each => void echo(each) })
  const port = 'port' in server.address ? server.address.port : 0
  assert.equal(await ask({ port }), 'POST /a?b body')
  const onExchange = (): void => undefined
  await assert.rejects(NodeLocalHttpServer.start({ address: { host: '127.0.0.1', port }, onExchange }), {
    code: 'EADDRINUSE',
  })
})

test('only the user can connect to a unix socket', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'k8ts-socket-'))
  const path = join(folder.path, 'socket')
  await using _ = await NodeLocalHttpServer.start({ address: { path }, onExchange: each => void echo(each) })
  assert.equal((await stat(path)).mode & 0o777, 0o700)
  assert.equal(await ask({ socketPath: path }), 'POST /a?b body')
})
