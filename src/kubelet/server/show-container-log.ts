/** Serves container logs. */
import type { KeyedLimitsOptions } from '#/base/keyed-limits.ts'
import { CriError, type ContainerRuntime, type ContainerStatus } from '#/cri/cri.ts'
import { findContainer } from '../pod-containers.ts'
import { respondStream, respondText } from './responses.ts'
import { chooseLog } from './choose-log.ts'
import { readContainerLog, type LogSource } from './container-log.ts'
import { readLogQuery } from './log-query.ts'
import { logFileSource, type LogReaderOptions } from './log-reader.ts'
import type { SharedRequest } from './routes.ts'

export interface ContainerLogs {
  /** Undefined if the runtime does not know the container. */
  find(containerId: string): Promise<FoundLog | undefined>
}

export interface FoundLog {
  readonly source: LogSource
  readonly isRunning: () => Promise<boolean>
}

/** Log streams per pod and node: a followed log holds a file, a watch and a connection as long as its client reads. */
export const logLimits: KeyedLimitsOptions = { perKey: 64, total: 512 }

const tooManyStreams =
  `too many log streams: ${logLimits.perKey} per pod and ${logLimits.total} per node are allowed, ` +
  'try again later\n'

export async function showContainerLog(request: SharedRequest): Promise<void> {
  const { exchange, platform, view, parameters, containerLogs, logLimits: limits } = request
  const { namespace = '', pod: name = '', container = '' } = parameters
  const asked = readLogQuery(request.query, platform.clock.now())
  if (asked === undefined) return respondText(exchange, 422, '{"message": "Invalid request."}')
  const pod = view.pod(namespace, name)
  if (pod === undefined) return respondText(exchange, 404, `pod ${JSON.stringify(name)} does not exist`)
  if (findContainer(pod, container) === undefined) {
    const text = `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`
    return respondText(exchange, 404, text)
  }
  using stream = limits.enter(pod.metadata.uid)
  if (stream === undefined) return respondText(exchange, 429, tooManyStreams)
  const chosen = chooseLog(pod, container, asked.previous)
  if ('problem' in chosen) return respondText(exchange, 400, chosen.problem)
  const { containerId } = chosen
  const log = await containerLogs.find(containerId)
  if (log === undefined) {
    return respondText(exchange, 400, `unable to retrieve container logs for ${containerId}`)
  }
  await show(request, { uid: pod.metadata.uid, log, asked })
}

interface Shown {
  readonly uid: string
  readonly log: FoundLog
  readonly asked: NonNullable<ReturnType<typeof readLogQuery>>
}

async function show({ exchange, view, signal }: SharedRequest, { uid, log, asked }: Shown): Promise<void> {
  const { selection, tailLines } = asked
  const gone = new AbortController()
  exchange.onClose(() => gone.abort())
  const follow = asked.follow && {
    isRunning: log.isRunning,
    onChange: (callback: () => void) => view.onPodChange(uid, callback),
  }
  const pieces = readContainerLog({
    source: log.source,
    selection,
    ...(tailLines !== undefined && { tailLines }),
    ...(follow && { follow }),
    signal: AbortSignal.any([gone.signal, signal]),
  })
  await respondStream(exchange, 'text/plain; charset=utf-8', pieces)
}

/** The log files of a container runtime. */
export function runtimeLogs(
  runtime: Pick<ContainerRuntime, 'containerStatus'>,
  files: Omit<LogReaderOptions, 'path'>,
): ContainerLogs {
  return {
    find: async id => {
      const status = await findStatus(runtime, id)
      return (
        status && {
          source: logFileSource({ ...files, path: status.logPath }),
          isRunning: () => isRunning(runtime, id),
        }
      )
    },
  }
}

/** Containers keep running while the runtime does not answer. */
async function isRunning(runtime: Pick<ContainerRuntime, 'containerStatus'>, id: string): Promise<boolean> {
  try {
    return (await findStatus(runtime, id))?.state === 'running'
  } catch (error) {
    if (error instanceof CriError && (error.reason === 'unavailable' || error.reason === 'timeout'))
      return true
    throw error
  }
}

async function findStatus(
  runtime: Pick<ContainerRuntime, 'containerStatus'>,
  id: string,
): Promise<ContainerStatus | undefined> {
  try {
    return await runtime.containerStatus(id)
  } catch (error) {
    if (error instanceof CriError && error.reason === 'not-found') return undefined
    throw error
  }
}
