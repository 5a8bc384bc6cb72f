import { message } from '#/base/protobuf.ts'
import { PodSandboxStatus } from './sandbox-messages.ts'

/** Events of CRI v1, and those of containerd itself. Names and numbers are theirs. */
export const ContainerEventResponse = message({
  containerId: [1, 'string'],
  podSandboxStatus: [4, PodSandboxStatus],
})

export const SubscribeRequest = message({ filters: [1, 'string', 'repeated'] })

const Any = message({ typeUrl: [1, 'string'], value: [2, 'bytes'] })

export const Envelope = message({ namespace: [2, 'string'], topic: [3, 'string'], event: [4, Any] })

/** What all events about tasks begin with. */
export const TaskEvent = message({ containerId: [1, 'string'] })

/** `id` is the process: the container's own, or one that was started in it beside. */
export const TaskExit = message({ containerId: [1, 'string'], id: [2, 'string'] })
