/**
 * The time to open a connection: as a program with `serve` it accepts connections, with two sockets it connects to each
 * in turn and prints the medians in microseconds.
 */
import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'

const port = 8080
const rounds = 1_000
/** Not measured. */
const warmUpRounds = 100

const [first = '', second = ''] = process.argv.slice(2)
if (first === 'serve')
  createServer(socket => socket.on('error', () => undefined).end()).listen(port, '0.0.0.0')
else console.log(JSON.stringify(await compare([first, second])))

async function compare(targets: readonly string[]): Promise<readonly number[]> {
  const timings = targets.map((): number[] => [])
  for (let round = -warmUpRounds; round < rounds; round++)
    for (const [index, target] of targets.entries()) {
      const timing = await connect(target)
      if (round >= 0) timings[index]!.push(timing)
    }
  return timings.map(each => Math.round(each.toSorted((a, b) => a - b)[rounds / 2]!))
}

async function connect(target: string): Promise<number> {
  const [host = '', to] = target.split(':')
  for (let tries = 0; ; tries++)
    try {
      const startedMs = performance.now()
      const socket = createConnection({ host, port: Number(to) })
      await once(socket, 'connect')
      const microseconds = (performance.now() - startedMs) * 1_000
      socket.destroy()
      return microseconds
    } catch (error) {
      // The server is starting.
      if (tries > 100) throw error
      await setTimeout(50)
    }
}
