/**
 * Sends and receives in a network namespace for a test: as a program it executes commands from stdin, one
 * line of JSON each; `NetworkAgent` sends them. Its servers answer each message with their name and the
 * sender's address.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type Protocol = 'tcp' | 'udp'

interface Serve {
  readonly does: 'serve'
  readonly protocol: Protocol
  readonly host: string
  readonly port: number
  readonly name: string
  readonly keeps: boolean
}

interface Ask {
  readonly does: 'ask'
  readonly protocol: Protocol
  readonly host: string
  readonly port: number
  /** 0 selects a free port. */
  readonly localPort: number
  readonly timeoutMs: number
}

interface Echo {
  readonly does: 'echo'
  readonly port: number
}

interface Open {
  readonly does: 'open'
  readonly host: string
  readonly port: number
}

interface Exchange {
  readonly does: 'exchange'
  /** Id of the command that opened it. */
  readonly connection: number
  readonly timeoutMs: number
}

/** Opens connections that stay open; an answer of `held` names the servers of those that still are. */
interface Hold {
  readonly does: 'hold' | 'held'
  readonly host: string
  readonly port: number
  readonly count: number
}

type Command = Serve | Ask | Echo | Open | Exchange | Hold

export interface Conversation {
  /** Sends and waits for the same: `echo`, or `silence`, or the error code. */
  readonly exchange: (timeoutMs?: number) => Promise<string>
}

function parseAddress(at: string): { readonly host: string; readonly port: number } {
  const colon = at.lastIndexOf(':')
  return { host: at.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(at.slice(colon + 1)) }
}

export class NetworkAgent {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, (answer: string) => void>()
  #count = 0

  constructor(namespace: string) {
    const program = [process.execPath, fileURLToPath(import.meta.url)]
    const command = ['ip', 'netns', 'exec', namespace, ...program]
    this.#process = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#process.stdout! }).on('line', line => {
      const { id, answer } = JSON.parse(line) as { readonly id: number; readonly answer: string }
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  /** Resolves when it listens. */
  serve(name: string, protocol: Protocol, port: number, host = '0.0.0.0'): Promise<void> {
    return this.#serve({ does: 'serve', protocol, host, port, name, keeps: false })
  }

  /** A TCP server that leaves connections open. */
  serveKeeping(name: string, port: number): Promise<void> {
    return this.#serve({ does: 'serve', protocol: 'tcp', host: '0.0.0.0', port, name, keeps: true })
  }

  async #serve(command: Serve): Promise<void> {
    const { host, port } = command
    const answer = await this.#tell(command)
    if (answer !== 'listening') throw new Error(`cannot listen at ${host}:${port}: ${answer}`)
  }

  /**
   * `name address`: the server's name and the client address that it saw; or the error code, or `silence`.
   */
  ask(protocol: Protocol, at: string, { localPort = 0, timeoutMs = 3_000 } = {}): Promise<string> {
    return this.#tell({ does: 'ask', protocol, ...parseAddress(at), localPort, timeoutMs })
  }

  /** Opens a TCP connection to an `echo` server that stays open for `exchange`. Resolves to its id. */
  async open(at: string): Promise<Conversation> {
    const { host, port } = parseAddress(at)
    const id = this.#count
    const answer = await this.#tell({ does: 'open', host, port })
    if (answer !== 'open') throw new Error(`cannot connect to ${at}: ${answer}`)
    return {
      exchange: (timeoutMs = 3_000) => this.#tell({ does: 'exchange', connection: id, timeoutMs }),
    }
  }

  /** Resolves when it listens; it returns what it receives. */
  async echo(port: number): Promise<void> {
    const answer = await this.#tell({ does: 'echo', port })
    if (answer !== 'listening') throw new Error(`cannot listen at ${port}: ${answer}`)
  }

  /** Opens connections to servers that `keep` them; resolves when each has an answer. */
  async hold(at: string, count: number): Promise<void> {
    const [host = '', port] = at.split(':')
    const answer = await this.#tell({ does: 'hold', host, port: Number(port), count })
    if (answer !== 'open') throw new Error(`cannot connect to ${at}: ${answer}`)
  }

  /** The names of the servers of the connections that are still open, one for each, sorted. */
  async held(): Promise<readonly string[]> {
    return (await this.#tell({ does: 'held', host: '', port: 0, count: 0 })).split(' ').filter(Boolean)
  }

  async stop(): Promise<void> {
    const isOver = this.#process.exitCode !== null || this.#process.signalCode !== null
    const exited = isOver ? undefined : once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }

  #tell(command: Command): Promise<string> {
    const id = this.#count++
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#waiting.set(id, resolve)
    this.#process.stdin!.write(`${JSON.stringify({ id, ...command })}\n`)
    return promise
  }
}

if (import.meta.main) {
  createInterface({ input: process.stdin })
    .on('line', line => void obey(JSON.parse(line) as Command & { readonly id: number }))
    .once('close', () => process.exit())
}

async function obey(command: Command & { readonly id: number }): Promise<void> {
  const does = perform(command)
  const answer = await does.catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
  process.stdout.write(`${JSON.stringify({ id: command.id, answer })}\n`)
}

function perform(command: Command & { readonly id: number }): Promise<string> {
  switch (command.does) {
    case 'serve':
      return serve(command)
    case 'ask':
      return ask(command)
    case 'echo':
      return echo(command)
    case 'open':
      return open(command)
    case 'exchange':
      return exchange(command)
    case 'hold':
      return hold(command)
    case 'held':
      return Promise.resolve([...held.values()].toSorted().join(' '))
  }
}

async function echo({ port }: Echo): Promise<string> {
  const server = createServer(socket => socket.on('error', () => undefined).pipe(socket))
  server.listen(port, '::')
  await once(server, 'listening')
  return 'listening'
}

const connections = new Map<number, Socket>()

async function open({ id, host, port }: Open & { readonly id: number }): Promise<string> {
  const socket = createConnection({ host, port })
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  connections.set(id, socket)
  return 'open'
}

async function exchange({ connection, timeoutMs }: Exchange): Promise<string> {
  const socket = connections.get(connection)
  if (socket === undefined || socket.destroyed) return 'closed'
  socket.write('x')
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(timeoutMs) })
    return 'echo'
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 'silence'
    throw error
  }
}

/** Open connections, with the names of their servers. */
const held = new Map<Socket, string>()

async function hold({ host, port, count }: Hold): Promise<string> {
  const opened = Array.from({ length: count }, async () => {
    const socket = createConnection({ host, port })
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    held.set(socket, bytes.toString().split(' ')[0] ?? '')
    socket.on('error', () => undefined).once('close', () => held.delete(socket))
  })
  await Promise.all(opened)
  return 'open'
}

async function serve({ protocol, host, port, name, keeps }: Serve): Promise<string> {
  if (protocol === 'udp') {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    socket.on('message', (_bytes, from) => socket.send(`${name} ${from.address}`, from.port, from.address))
    socket.bind(port, host)
    await once(socket, 'listening')
  } else {
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      const answer = `${name} ${socket.remoteAddress}`
      if (keeps) socket.write(answer)
      else socket.end(answer)
    })
    server.listen(port, host)
    await once(server, 'listening')
  }
  return 'listening'
}

function ask({ protocol, host, port, localPort, timeoutMs }: Ask): Promise<string> {
  return new Promise((resolve, reject) => {
    const end = protocol === 'udp' ? askUdp() : askTcp()
    const timer = setTimeout(() => finish('silence'), timeoutMs)

    function finish(answer: string): void {
      clearTimeout(timer)
      end()
      resolve(answer)
    }

    function askTcp(): () => void {
      const socket = createConnection({ host, port, ...(localPort > 0 && { localPort }) })
      let answer = ''
      socket.on('data', bytes => (answer += bytes.toString()))
      socket.once('end', () => finish(answer))
      socket.once('error', reject)
      return () => socket.destroy()
    }

    function askUdp(): () => void {
      const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
      socket.once('message', bytes => finish(bytes.toString()))
      // Connected, so that ICMP errors are reported.
      socket.bind(localPort, () => socket.connect(port, host, () => socket.send('hello')))
      socket.on('error', error => {
        clearTimeout(timer)
        reject(error)
      })
      return () => socket.close()
    }
  })
}
