/** exec, attach, port-forward and run. */
import type { KeyedLimitsOptions } from '#/base/keyed-limits.ts'
import { CriError } from '#/cri/cri.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { acceptCommand, readCommandOptions } from '#/streams/command-server.ts'
import { acceptPortForward } from '#/streams/port-forward-server.ts'
import { runCommand } from '#/streams/run-command.ts'
import { runPortForward } from '#/streams/run-port-forward.ts'
import type { CommandOptions, CommandProcess, CommandResult } from '#/streams/streams.ts'
import type { UpgradeExchange } from '#/streams/upgrade-exchange.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { findContainer } from '../pod-containers.ts'
import { sandboxCheckPeriodMs } from '../unresponsive-sandboxes.ts'
import { respondBytes, respondText } from './responses.ts'
import type { ServerRequest, SharedRequest } from './routes.ts'

/**
 * Of exec, attach, run and port-forward, per pod and node. Each exec is a process beside the container and several
 * goroutines of its shim; hundreds at once in one pod make shims hang.
 */
export const sessionLimits: KeyedLimitsOptions = { perKey: 32, total: 256 }

/** Timeout of `/run` commands; the output is returned as a whole. */
const runMsMax = 600_000

/**
 * Time for which an exec session still counts when its command did not exit, for example because the client
 * disconnected: the runtime starts the command all the same, so that clients that come and go would have no bound.
 */
const unfinishedMs = 10_000

export async function exec(request: SharedRequest): Promise<void> {
  const { query, runtime, exchange, platform, signal: stopping } = request
  using session = enterSession(request)
  const id = session && findRunning(request)
  if (id === undefined) return
  const command = query.getAll('command')
  const streams = readCommandOptions(query)
  if (streams === undefined) return respondText(exchange, 400, noStreams)
  if (command.length === 0) return respondText(exchange, 400, 'a command must be given\n')
  const result = await connect(request, streams, signal =>
    runtime.exec({ containerId: id, command, ...streams }, { signal }),
  )
  if (result?.type === 'failed') await platform.clock.sleep(unfinishedMs, stopping).catch(() => undefined)
}

export async function attach(request: SharedRequest): Promise<void> {
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

/** Undefined if the client was refused. */
async function connect(
  request: SharedRequest,
  options: CommandOptions,
  start: (signal: AbortSignal) => Promise<CommandProcess>,
): Promise<CommandResult | undefined> {
  const { exchange, platform, node, signal } = request
  const { uid } = findPod(request)!.metadata
  const client = await acceptCommand({
    exchange: endingWith(signal, exchange),
    options,
    clock: platform.clock,
    idleTimeoutMs: node.streamingConnectionIdleTimeoutMs,
  })
  if (client === undefined) return undefined
  return whileResponding(request, uid, unresponsive => runCommand({ client, start, signal: unresponsive }))
}

/**
 * Checks the pod's sandbox during the work, whose signal is aborted when it does not respond. Runtimes open a session
 * before they ask the shim to start the command, so that a session without output may be one that never starts.
 */
async function whileResponding<T>(
  { platform, node, view }: SharedRequest,
  uid: string,
  work: (unresponsive: AbortSignal) => Promise<T>,
): Promise<T> {
  const unresponsive = new AbortController()
  const ended = new AbortController()
  const check = async (): Promise<void> => {
    while (!unresponsive.signal.aborted) {
      await platform.clock.sleep(sandboxCheckPeriodMs(node), ended.signal)
      if (!(await view.isSandboxResponding(uid))) unresponsive.abort(new CriError('timeout', notResponding))
    }
  }
  check().catch(() => undefined)
  try {
    return await work(unresponsive.signal)
  } finally {
    ended.abort()
  }
}

const notResponding = 'the sandbox of the pod does not respond and is killed, try again later'

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

export async function forwardPorts(request: SharedRequest): Promise<void> {
  const { exchange, query, platform, runtime, node, view, signal } = request
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
    idleTimeoutMs: node.streamingConnectionIdleTimeoutMs,
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
    const { stdout, stderr, exitCode } = await whileResponding(
      request,
      findPod(request)!.metadata.uid,
      signal => runtime.execSync({ containerId: id, command, timeoutMs: runMsMax }, { signal }),
    )
    const bytes = Buffer.concat([stdout, stderr])
    if (exitCode === 0) return respondBytes(exchange, { status: 200, mediaType: 'text/plain', bytes })
    respondText(exchange, 500, `command '${command.join(' ')}' exited with ${exitCode}: ${bytes.toString()}`)
  } catch (error) {
    if (!(error instanceof CriError)) throw error
    respondText(exchange, 500, error.message)
  }
}

/** A session with the pod in the path. If undefined, the response has been sent. */
function enterSession(request: SharedRequest): Disposable | undefined {
  const { exchange, sessionLimits } = request
  const pod = findPod(request)
  const session = pod && sessionLimits.enter(pod.metadata.uid)
  if (pod === undefined) respondText(exchange, 404, 'pod does not exist')
  else if (session === undefined) respondText(exchange, 429, tooManySessions)
  return session
}

const tooManySessions =
  'too many exec, attach and port-forward sessions: ' +
  `${sessionLimits.perKey} per pod and ${sessionLimits.total} per node are allowed, try again later\n`

function findPod({ view, parameters }: SharedRequest): KubeletPod | undefined {
  const { namespace = '', pod: name = '', uid } = parameters
  const pod = view.pod(namespace, name)
  return uid === undefined || pod?.metadata.uid === uid ? pod : undefined
}

/** Runtime id of the running container in the path. If undefined, the response has been sent. */
function findRunning(request: SharedRequest): string | undefined {
  const { view, exchange, parameters } = request
  const pod = findPod(request)!
  const { container = '' } = parameters
  const id = view.containerId(pod.metadata.uid, container)
  if (id === undefined) respondText(exchange, 500, `container not found (${JSON.stringify(container)})`)
  return id
}
