/**
 * The baseline for the API server: a bare Node HTTP/2 server that returns fixed bytes. Runs as a separate
 * process.
 */
import { readFileSync } from 'node:fs'
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

const [certPath = '', keyPath = '', ...bodies] = process.argv.slice(2)
const answers = new Map(bodies.map(path => [`/${path.split('/').at(-1)}`, readFileSync(path)]))
const server = createSecureServer({ cert: readFileSync(certPath), key: readFileSync(keyPath) })
server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  const body = answers.get(headers[':path'] ?? '') ?? Buffer.from('{}')
  stream.respond({ ':status': 200, 'content-type': 'application/json', 'content-length': body.length })
  stream.end(body)
})
server.listen(0, '127.0.0.1', () => console.log(`listening ${(server.address() as AddressInfo).port}`))
