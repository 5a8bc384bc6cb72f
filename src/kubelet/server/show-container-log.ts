/** Serves container logs. */
import { CriError, type ContainerStatus } from '#/cri/cri.ts'
import { findContainer } from '../pod-containers.ts'
import { respondStream, respondText } from './responses.ts'
import { chooseLog } from './choose-log.ts'
import { readContainerLog } from './container-log.ts'
import { readLogQuery } from './log-query.ts'
import type { ServerRequest } from './routes.ts'

export async function showContainerLog(request: ServerRequest): Promise<void> {
  const { exchange, platform, view, parameters } = request
  const { namespace = '', pod: name = '', container = '' } = parameters
  const asked = readLogQuery(request.query, platform.clock.now())
  if (asked === undefined) return respondText(exchange, 422, '{"message": "Invalid request."}')
  const pod = view.pod(namespace, name)
  if (pod === undefined) return respondText(exchange, 404, `pod ${JSON.stringify(name)} does not exist`)
  if (findContainer(pod, container) === undefined) {
    const text = `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`
    return respondText(exchange, 404, text)
  }
  const chosen = chooseLog(pod, container, asked.previous)
  if ('problem' in chosen) return respondText(exchange, 400, chosen.problem)
  const { containerId } = chosen
  const status = await findStatus(request, containerId)
  if (status === undefined) {
    return respondText(exchange, 400, `unable to retrieve container logs for ${containerId}`)
  }
  await show(request, { uid: pod.metadata.uid, status, asked })
}

interface Shown {
  readonly uid: string
  readonly status: ContainerStatus
  readonly asked: NonNullable<ReturnType<typeof readLogQuery>>
}

async function show(request: ServerRequest, { uid, status, asked }: Shown): Promise<void> {
  const { exchange, platform, linux, view, signal } = request
  const { selection, tailLines } = asked
  const gone = new AbortController()
  exchange.onClose(() => gone.abort())
  const follow = asked.follow && {
    isRunning: () => isRunning(request, status.id),
    onChange: (callback: () => void) => view.onPodChange(uid, callback),
  }
  const pieces = readContainerLog({
    files: platform.files,
    linuxFiles: linux.files,
    path: status.logPath,
    selection,
    ...(tailLines !== undefined && { tailLines }),
    ...(follow && { follow }),
    signal: AbortSignal.any([gone.signal, signal]),
  })
  await respondStream(exchange, 'text/plain; charset=utf-8', pieces)
}

/** Containers keep running while the runtime does not answer. */
async function isRunning(request: ServerRequest, id: string): Promise<boolean> {
  try {
    return (await findStatus(request, id))?.state === 'running'
  } catch (error) {
    if (error instanceof CriError && (error.reason === 'unavailable' || error.reason === 'timeout'))
      return true
    throw error
  }
}

/** Undefined if the runtime does not know the container. */
async function findStatus({ runtime }: ServerRequest, id: string): Promise<ContainerStatus | undefined> {
  try {
    return await runtime.containerStatus(id)
  } catch (error) {
    if (error instanceof CriError && error.reason === 'not-found') return undefined
    throw error
  }
}
