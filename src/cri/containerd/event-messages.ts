import { message, type MessageOf } from '#/base/protobuf.ts'
import { PodSandboxStatus } from './sandbox-messages.ts'

/** Event messages of CRI v1 and of containerd. Names and field numbers are theirs. */
export const ContainerEventResponse = message({
  containerId: [1, 'string'],
  containerEventType: [2, 'int32'],
  podSandboxStatus: [4, PodSandboxStatus],
})

export const SubscribeRequest = message({ filters: [1, 'string', 'repeated'] })

const Any = message({ typeUrl: [1, 'string'], value: [2, 'bytes'] })

export const Envelope = message({ namespace: [2, 'string'], topic: [3, 'string'], event: [4, Any] })

/** Common prefix of all task events. */
export const TaskEvent = message({ containerId: [1, 'string'] })

const Timestamp = message({ seconds: [1, 'int64'], nanos: [2, 'int32'] })
export type Timestamp = MessageOf<typeof Timestamp>

/** `id` is the process: the container's own, or that of a command that was run in it. */
export const TaskExit = message({
  containerId: [1, 'string'],
  id: [2, 'string'],
  exitStatus: [4, 'uint32'],
  exitedAt: [5, Timestamp],
})

/** `id` as in `TaskExit`. */
export const TaskDelete = message({
  containerId: [1, 'string'],
  exitStatus: [3, 'uint32'],
  exitedAt: [4, Timestamp],
  id: [5, 'string'],
})
