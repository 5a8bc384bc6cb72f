/**
 * A load generator for HTTP/1.1: each connection sends a request, waits for its response, and sends the next
 * one. `load.ts PORT CONNECTIONS SECONDS`; prints JSON.
 */
import { connect } from 'node:net'

const [port = 0, connections = 1, seconds = 1] = process.argv.slice(2).map(Number)

const fields = [
  'Host: web.example.com',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Language: en-US,en;q=0.5',
  'Accept-Encoding: gzip, deflate, br',
]
const request = Buffer.from(`GET /products/42?color=green HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
const warmUpMs = 1_500
const durations: number[] = []
let failures = 0
let endMs = Infinity

const running = Array.from({ length: connections }, run)
await new Promise(resolve => setTimeout(resolve, warmUpMs))
const warmUpRequests = durations.length
durations.length = 0
const startedMs = performance.now()
endMs = startedMs + seconds * 1_000
await Promise.all(running)
durations.sort((a, b) => a - b)
const elapsedSeconds = (performance.now() - startedMs) / 1_000
const p99 = durations[Math.floor(durations.length * 0.99)] ?? NaN
const total = durations.length + warmUpRequests
console.log(JSON.stringify({ total, perSecond: durations.length / elapsedSeconds, p99Ms: p99, failures }))

/** Expects responses with a content-length, each in few pieces. */
function run(): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    let sentMs = 0
    let missing = 0
    const send = (): void => {
      sentMs = performance.now()
      if (sentMs > endMs) return void socket.destroy()
      socket.write(request)
    }
    socket.on('connect', send)
    socket.on('data', (bytes: Buffer) => {
      if (missing === 0) {
        const head = bytes.indexOf('\r\n\r\n')
        const text = bytes.toString('latin1', 0, head + 2)
        const length = /content-length: (\d+)\r\n/i.exec(text)
        if (head === -1 || length === null || !text.startsWith('HTTP/1.1 200')) {
          failures++
          return void socket.destroy()
        }
        missing = Number(length[1]) + head + 4
      }
      missing -= bytes.length
      if (missing > 0) return
      missing = 0
      durations.push(performance.now() - sentMs)
      send()
    })
    socket.on('error', () => failures++)
    socket.on('close', () => resolve())
  })
}
