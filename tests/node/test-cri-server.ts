/**
 * A CRI server with scripted responses: for features that no runtime on this machine has, such as CRI events,
 * and for states that a real one passes too quickly.
 */
import * as grpc from '@grpc/grpc-js'
import { map, message, type Message } from '#/base/protobuf.ts'

// The messages are defined again, with CRI's field numbers: an error in the tested code must not be repeated
// here.
const VersionResponse = message({ runtimeName: [2, 'string'], runtimeVersion: [3, 'string'] })
const Metadata = message({ name: [1, 'string'] })
const ContainerStatus = message({
  id: [1, 'string'],
  metadata: [2, Metadata],
  state: [3, 'int32'],
  finishedAt: [6, 'int64'],
  exitCode: [7, 'int32'],
  reason: [10, 'string'],
  labels: [12, map('string', 'string')],
})
const ContainerStatusResponse = message({ status: [1, ContainerStatus] })
const Container = message({
  id: [1, 'string'],
  podSandboxId: [2, 'string'],
  metadata: [3, Metadata],
  state: [6, 'int32'],
  labels: [8, map('string', 'string')],
})
const ListContainersResponse = message({ containers: [1, Container, 'repeated'] })
const ListPodSandboxResponse = message({ items: [1, message({ id: [1, 'string'] }), 'repeated'] })
const PodSandboxStatus = message({ metadata: [2, message({ uid: [2, 'string'] })], state: [3, 'int32'] })
const PodSandboxStatusResponse = message({ status: [1, PodSandboxStatus] })
const PodSandboxId = message({ podSandboxId: [1, 'string'] })
const ContainerEventResponse = message({
  containerId: [1, 'string'],
  containerEventType: [2, 'int32'],
  podSandboxStatus: [4, PodSandboxStatus],
})
const ContainerId = message({ containerId: [1, 'string'] })
const Timestamp = message({ seconds: [1, 'int64'], nanos: [2, 'int32'] })
const TaskExit = message({
  containerId: [1, 'string'],
  id: [2, 'string'],
  exitStatus: [4, 'uint32'],
  exitedAt: [5, Timestamp],
})
const Any = message({ typeUrl: [1, 'string'], value: [2, 'bytes'] })
const Envelope = message({ namespace: [2, 'string'], topic: [3, 'string'], event: [4, Any] })

export type ServedContainer = Parameters<typeof ContainerStatus.encode>[0]

export interface CriServerOptions {
  readonly socketPath: string
  readonly hasCriEvents?: boolean
  readonly hasContainerdEvents?: boolean
  /** What it calls itself; `test` when absent. */
  readonly version?: { readonly runtimeName: string; readonly runtimeVersion: string }
}

const criEvents = '/runtime.v1.RuntimeService/GetContainerEvents'
const containerdEvents = '/containerd.services.events.v1.Events/Subscribe'

export class TestCriServer implements AsyncDisposable {
  /** By id: returns the response of `ContainerStatus`, called for each request. */
  readonly containers = new Map<string, () => ServedContainer>()
  /** Ids of sandboxes that are ready; all containers are in the sandbox `s1`. */
  readonly readySandboxes = new Set<string>()
  readonly #server = new grpc.Server()
  readonly #options: CriServerOptions
  readonly #subscribers = {
    [criEvents]: new Set<grpc.ServerWritableStream<Buffer, Buffer>>(),
    [containerdEvents]: new Set<grpc.ServerWritableStream<Buffer, Buffer>>(),
  }

  private constructor(options: CriServerOptions) {
    this.#options = options
  }

  static async start(options: CriServerOptions): Promise<TestCriServer> {
    const server = new TestCriServer(options)
    server.#register()
    const credentials = grpc.ServerCredentials.createInsecure()
    await new Promise<void>((resolve, reject) => {
      server.#server.bindAsync(`unix:${options.socketPath}`, credentials, error => {
        if (error) reject(error)
        else resolve()
      })
    })
    return server
  }

  /** How many follow the events of CRI, and those of containerd. */
  get subscribers(): { readonly cri: number; readonly containerd: number } {
    return { cri: this.#subscribers[criEvents].size, containerd: this.#subscribers[containerdEvents].size }
  }

  tellCri(event: Parameters<typeof ContainerEventResponse.encode>[0]): void {
    for (const subscriber of this.#subscribers[criEvents])
      subscriber.write(Buffer.from(ContainerEventResponse.encode(event)))
  }

  /** A process of a container has ended. */
  tellExit(exit: Parameters<typeof TaskExit.encode>[0]): void {
    const event = { typeUrl: 'containerd.events.TaskExit', value: TaskExit.encode(exit) }
    const envelope = Buffer.from(Envelope.encode({ namespace: 'k8s.io', topic: '/tasks/exit', event }))
    for (const subscriber of this.#subscribers[containerdEvents]) subscriber.write(envelope)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
  }

  #register(): void {
    const { version = { runtimeName: 'test', runtimeVersion: '1' } } = this.#options
    this.#answer('Version', VersionResponse, () => version)
    this.#answer('ListPodSandbox', ListPodSandboxResponse, () => ({ items: [] }))
    this.#answer('ListContainers', ListContainersResponse, () => ({
      containers: [...this.containers.values()].map(status => ({ ...status(), podSandboxId: 's1' })),
    }))
    this.#answer('ContainerStatus', ContainerStatusResponse, request => {
      const status = this.containers.get(ContainerId.decode(request).containerId)
      return status && { status: status() }
    })
    this.#answer('PodSandboxStatus', PodSandboxStatusResponse, request => {
      const { podSandboxId } = PodSandboxId.decode(request)
      return this.readySandboxes.has(podSandboxId) ? { status: { state: 0 } } : undefined
    })
    if (this.#options.hasCriEvents) this.#stream(criEvents)
    if (this.#options.hasContainerdEvents) this.#stream(containerdEvents)
  }

  /** Undefined means NotFound. */
  #answer<In>(
    name: string,
    response: Message<unknown, In>,
    answer: (request: Buffer) => In | undefined,
  ): void {
    const handle: grpc.handleUnaryCall<Buffer, Buffer> = ({ request }, callback) => {
      const found = answer(request)
      if (found === undefined) callback({ code: grpc.status.NOT_FOUND, details: 'not found' })
      else callback(null, Buffer.from(response.encode(found)))
    }
    this.#server.register(`/runtime.v1.RuntimeService/${name}`, handle, identity, identity, 'unary')
  }

  #stream(name: typeof criEvents | typeof containerdEvents): void {
    const subscribers = this.#subscribers[name]
    const handle: grpc.handleServerStreamingCall<Buffer, Buffer> = call => {
      subscribers.add(call)
      call.on('cancelled', () => subscribers.delete(call))
    }
    this.#server.register(name, handle, identity, identity, 'serverStream')
  }
}

function identity(bytes: Buffer): Buffer {
  return bytes
}
