import { CriError, type ContainerRuntime, type CriErrorReason } from '#/cri/cri.ts'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import type { Random } from '#/platform/platform.ts'
import { isChange } from '../faulty-runtime.ts'

export interface RuntimeFault {
  readonly what: string
  readonly begin: () => void
  readonly end: () => void
}

type Method = Extract<keyof ContainerRuntime, string>

const methods: readonly Method[] = [
  'status',
  'runPodSandbox',
  'stopPodSandbox',
  'removePodSandbox',
  'podSandboxStatus',
  'listPodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'containerStatus',
  'listContainers',
  'imageStatus',
  'pullImage',
]

/** Methods that change the runtime. */
const changing: readonly Method[] = methods.filter(isChange)

const reasons: readonly CriErrorReason[] = ['unavailable', 'timeout', 'failed']

const delayMsMax = 5_000
const timesMax = 3

/** Draws a fault between the kubelet and the runtime of a node. */
export function drawRuntimeFault(runtime: SimulatedRuntime, random: Random): RuntimeFault {
  const { faults } = runtime
  const end = (): void => faults.clear()
  const pick = <T>(label: string, values: readonly T[]): T => values[random.integer(label, values.length)]!
  const error = new CriError(pick('runtime error', reasons), 'injected fault')
  const times = 1 + random.integer('runtime failures', timesMax)
  switch (random.integer('kind of runtime fault', 7)) {
    case 0:
      return { what: 'restarts', begin: () => faults.disconnect(), end: () => faults.reconnect() }
    case 1: {
      const delayMs = random.integer('runtime delay', delayMsMax)
      return { what: `delays calls by ${delayMs} ms`, begin: () => faults.delay('all', delayMs), end }
    }
    case 2: {
      const method = pick('hanging method', methods)
      const restart = (): void => {
        end()
        faults.disconnect()
        faults.reconnect()
      }
      const begin = (): void => faults.delay(method, Infinity)
      return { what: `hangs in ${method} and is restarted`, begin, end: restart }
    }
    case 3: {
      const method = pick('failing method', methods)
      const begin = (): void => faults.fail(method, error, times)
      return { what: `fails ${times} calls of ${method} with ${error.reason}`, begin, end }
    }
    case 4: {
      const method = pick('unanswered method', changing)
      const begin = (): void => faults.loseAnswers(method, error, times)
      return { what: `answers ${times} calls of ${method} with ${error.reason} after success`, begin, end }
    }
    case 5: {
      const begin = (): void => {
        faults.disconnectEvents()
        endSomeContainer(runtime, random)
      }
      return { what: 'loses its events', begin, end: () => faults.reconnectEvents() }
    }
    default: {
      const begin = (): void => faults.fail('pullImage', new CriError('failed', 'registry is down'), Infinity)
      return { what: 'cannot pull images', begin, end }
    }
  }
}

/** Ends a random running container or sandbox; returns a description. */
export function endSomeContainer(runtime: SimulatedRuntime, random: Random): string {
  const sandboxes = runtime.inspect().filter(({ state }) => state === 'ready')
  const sandbox = sandboxes[random.integer('pod that fails', Math.max(1, sandboxes.length))]
  if (sandbox === undefined) return 'runs no pod that could fail'
  const { metadata, containers } = sandbox
  const container = containers.find(({ state }) => state === 'running')
  switch (container === undefined ? 0 : random.integer('how a pod fails', 4)) {
    case 0:
      runtime.killSandbox(sandbox.id)
      return `loses the sandbox of ${metadata.name}`
    case 1:
      runtime.endContainer(container!.id, 137, true)
      return `kills ${metadata.name} out of memory`
    default: {
      const exitCode = random.integer('exit code', 3)
      runtime.endContainer(container!.id, exitCode)
      return `sees ${metadata.name} exit with ${exitCode}`
    }
  }
}
