import type { GrpcChannel } from '#/platform/grpc.ts'
import type { RuntimeVersion } from '../cri.ts'
import { Empty } from './common-messages.ts'
import { ContainerEventResponse, Envelope, SubscribeRequest, TaskEvent, TaskExit } from './event-messages.ts'

/** An event for a container or for the pause container of a sandbox. */
export interface RuntimeEvent {
  readonly containerId: string
  /** Set if the event contains it. */
  readonly podUid?: string
  /** CRI shows `settled` and `deleted` already, the others at any moment. */
  readonly type: 'settled' | 'deleted' | 'started' | 'exited' | 'out-of-memory'
}

/**
 * A stream of events that a runtime may or may not implement. Throws GrpcError when it is unavailable or
 * breaks.
 */
export type EventSource = (channel: GrpcChannel, signal: AbortSignal) => AsyncIterable<RuntimeEvent>

/** In order of preference. */
export function eventSourcesOf({ name, version }: RuntimeVersion): readonly EventSource[] {
  // containerd 1.7 sends each CRI event to one subscriber only, which may be one that has disconnected.
  const isLossy = name === 'containerd' && /^v?1\./.test(version)
  return isLossy ? [containerdEvents] : [criEvents, containerdEvents]
}

async function* criEvents(channel: GrpcChannel, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
  const stream = channel.stream('/runtime.v1.RuntimeService/GetContainerEvents', { signal })
  await stream.send(Empty.encode({}))
  stream.end()
  for await (const bytes of stream) {
    const { containerId, containerEventType, podSandboxStatus } = ContainerEventResponse.decode(bytes)
    const podUid = podSandboxStatus?.metadata?.uid
    const type = containerEventType === deletedEvent ? 'deleted' : 'settled'
    yield { containerId, type, ...(podUid && { podUid }) }
  }
}

/** CRI's number for it. */
const deletedEvent = 3

/** For containerd before 2.0. */
async function* containerdEvents(channel: GrpcChannel, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
  for await (const bytes of subscribe(channel, Object.keys(topics), signal)) {
    const event = taskEventOf(bytes)
    if (event) yield event
  }
}

/** Events of containerd itself, as encoded envelopes. Those that happened before are not sent. */
export async function* subscribe(
  channel: GrpcChannel,
  wanted: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const stream = channel.stream('/containerd.services.events.v1.Events/Subscribe', {
    signal,
    metadata: { 'containerd-namespace': namespace },
  })
  const filters = wanted.map(topic => `namespace==${namespace},topic=="${topic}"`)
  await stream.send(SubscribeRequest.encode({ filters }))
  stream.end()
  yield* stream
}

/** containerd namespace of the CRI containers. */
const namespace = 'k8s.io'

const topics: Readonly<Record<string, RuntimeEvent['type']>> = {
  '/tasks/start': 'started',
  '/tasks/exit': 'exited',
  '/tasks/oom': 'out-of-memory',
}

/** Undefined for events that do not concern a container as a whole, such as the exit of an exec process. */
export function taskEventOf(envelope: Uint8Array): RuntimeEvent | undefined {
  const { topic, event } = Envelope.decode(envelope)
  const type = topics[topic]
  if (type === undefined || event === undefined) return undefined
  if (type === 'exited') {
    const { containerId, id } = TaskExit.decode(event.value)
    return id === '' || id === containerId ? { containerId, type } : undefined
  }
  return { containerId: TaskEvent.decode(event.value).containerId, type }
}
