/** exec, attach, port-forward and run. */
import { CriError } from '#/cri/cri.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { acceptCommand, readCommandOptions } from '#/streams/command-server.ts'
import { acceptPortForward } from '#/streams/port-forward-server.ts'
import { runCommand } from '#/streams/run-command.ts'
import { runPortForward } from '#/streams/run-port-forward.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import type { UpgradeExchange } from '#/streams/upgrade-exchange.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { findContainer } from '../pod-containers.ts'
import { respondBytes, respondText } from './responses.ts'
import type { ServerRequest } from './routes.ts'

/** Timeout of `/run` commands; the output is returned as a whole. */
const runMsMax = 600_000

export async function exec(request: ServerRequest): Promise<void> {
  const { query, runtime, exchange } = request
  using session = enterSession(request)
  const id = session && findRunning(request)
  if (id === undefined) return
  const command = query.getAll('command')
  const streams = readCommandOptions(query)
  if (streams === undefined) return respondText(exchange, 400, noStreams)
  if (command.length === 0) return respondText(exchange, 400, 'a command must be given\n')
  await connect(request, streams, signal =>
    runtime.exec({ containerId: id, command, ...streams }, { signal }),
  )
}

export async function attach(request: ServerRequest): Promise<void> {
  const { query, runtime, exchange, parameters } = request
  using session = enterSession(request)
  const id = session && findRunning(request)
  if (id === undefined) return
  const options = readCommandOptions(query)
  if (options === undefined) return respondText(exchange, 400, noStreams)
  // The TTY setting is the container's, not the request's.
  const found = findContainer(findPod(request)!, parameters['container'] ?? '')
  const tty = found?.container.tty ?? false
  const streams = { ...options, tty, stderr: options.stderr && !tty }
  await connect(request, streams, signal => runtime.attach(id, streams, { signal }))
}

const noStreams = 'you must specify at least 1 of stdin, stdout, stderr\n'

async function connect(
  { exchange, platform, signal }: ServerRequest,
  options: CommandOptions,
  start: (signal: AbortSignal) => Promise<CommandProcess>,
): Promise<void> {
  const client = await acceptCommand({
    exchange: endingWith(signal, exchange),
    options,
    clock: platform.clock,
  })
  if (client !== undefined) await runCommand({ client, start })
}

/** Closes the upgraded connection when the server stops. */
function endingWith(signal: AbortSignal, exchange: HttpExchange): UpgradeExchange {
  const { method, headers, hijack } = exchange
  return {
    method,
    headers,
    headerValues: name => exchange.headerValues(name),
    respond: (status, answered) => exchange.respond(status, answered),
    end: pieces => exchange.end(pieces),
    ...(hijack && {
      hijack: () => {
        const taken = hijack()
        const cut = (): void => void taken.connection.destroy()
        signal.addEventListener('abort', cut, { once: true })
        taken.connection.once('close', () => signal.removeEventListener('abort', cut))
        return taken
      },
    }),
  }
}

export async function forwardPorts(request: ServerRequest): Promise<void> {
  const { exchange, query, platform, runtime, view, signal } = request
  using session = enterSession(request)
  if (session === undefined) return
  const pod = findPod(request)!
  const id = view.sandboxId(pod.metadata.uid)
  const name = `${pod.metadata.name}_${pod.metadata.namespace}`
  if (id === undefined) return respondText(exchange, 500, `pod not found (${JSON.stringify(name)})`)
  const client = await acceptPortForward({
    exchange: endingWith(signal, exchange),
    query,
    clock: platform.clock,
  })
  if (client === undefined) return
  const uid = pod.metadata.uid
  await runPortForward({
    client,
    connect: port => runtime.portForward(id, port),
    describeFailure: (port, { message }) => {
      // Some runtimes already add this prefix.
      if (message.startsWith(forwardingFailed)) return message
      return `${forwardingFailed} ${port} to pod ${id}, uid ${uid}: ${message}`
    },
  })
}

const forwardingFailed = 'error forwarding port'

/** Runs a command and returns its output as the response. */
export async function run(request: ServerRequest): Promise<void> {
  const { exchange, query, runtime } = request
  using session = enterSession(request)
  const id = session && findRunning(request)
  if (id === undefined) return
  const command = (query.get('cmd') ?? '').split(' ')
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync({
      containerId: id,
      command,
      timeoutMs: runMsMax,
    })
    const bytes = Buffer.concat([stdout, stderr])
    if (exitCode === 0) return respondBytes(exchange, { status: 200, mediaType: 'text/plain', bytes })
    respondText(exchange, 500, `command '${command.join(' ')}' exited with ${exitCode}: ${bytes.toString()}`)
  } catch (error) {
    if (!(error instanceof CriError)) throw error
    respondText(exchange, 500, error.message)
  }
}

/** A session with the pod in the path. If undefined, the response has been sent. */
function enterSession(request: ServerRequest): Disposable | undefined {
  const { exchange, sessionLimits } = request
  const pod = findPod(request)
  const session = pod && sessionLimits.enter(pod.metadata.uid)
  if (pod === undefined) respondText(exchange, 404, 'pod does not exist')
  else if (session === undefined) respondText(exchange, 429, tooManySessions)
  return session
}

const tooManySessions = 'too many exec, attach and port-forward sessions, try again later\n'

function findPod({ view, parameters }: ServerRequest): KubeletPod | undefined {
  const { namespace = '', pod: name = '', uid } = parameters
  const pod = view.pod(namespace, name)
  return uid === undefined || pod?.metadata.uid === uid ? pod : undefined
}

/** Runtime id of the running container in the path. If undefined, the response has been sent. */
function findRunning(request: ServerRequest): string | undefined {
  const { view, exchange, parameters } = request
  const pod = findPod(request)!
  const { container = '' } = parameters
  const id = view.containerId(pod.metadata.uid, container)
  if (id === undefined) respondText(exchange, 500, `container not found (${JSON.stringify(container)})`)
  return id
}
