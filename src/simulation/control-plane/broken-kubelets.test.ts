import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllersOf } from '#/controllers/controllers.ts'
import type { ContainerRuntime, ContainerStatus, ContainerSummary, CreateContainer } from '#/cri/cri.ts'
import { simulateControlPlane } from '../control-plane.ts'

/** Maximum number of seeds within which a checker must detect the broken kubelet. */
const seedsMax = 200

/** Methods that replace those of the runtime, as the broken kubelet calls them. */
type Breakage = (runtime: ContainerRuntime) => Partial<ContainerRuntime>

test('a kubelet that forgets to remove a sandbox is detected', async () => {
  const breakage: Breakage = runtime => {
    const forgotten = new Set<string>()
    return {
      removePodSandbox: async id => void forgotten.add(id),
      listPodSandbox: async (...parameters) => {
        return (await runtime.listPodSandbox(...parameters)).filter(({ id }) => !forgotten.has(id))
      },
      listContainers: async (...parameters) => {
        const containers = await runtime.listContainers(...parameters)
        return containers.filter(({ sandboxId }) => !forgotten.has(sandboxId))
      },
    }
  }
  await check(breakage, /has a sandbox of pod .*, which is not bound to it/)
})

test('a kubelet that takes a sandbox for stopped although the call failed leaves it running', async () => {
  const breakage: Breakage = runtime => {
    const forgotten = new Set<string>()
    return {
      stopPodSandbox: id => runtime.stopPodSandbox(id).catch(() => void forgotten.add(id)),
      listPodSandbox: async (...parameters) => {
        return (await runtime.listPodSandbox(...parameters)).filter(({ id }) => !forgotten.has(id))
      },
    }
  }
  await check(
    breakage,
    /running sandboxes|has a sandbox of pod .*, which is not bound to it|its sandbox is running/,
  )
})

test('a kubelet that starts a container twice after an unknown outcome is detected', async () => {
  const breakage: Breakage = runtime => {
    const requests = new Map<string, CreateContainer>()
    return {
      createContainer: async request => {
        const id = await runtime.createContainer(request)
        requests.set(id, request)
        return id
      },
      startContainer: async id => {
        const request = requests.get(id)
        await runtime.startContainer(id).catch(async () => {
          if (request === undefined) return
          const { config } = request
          const again = { ...request, config: { ...config, attempt: config.attempt + 1 } }
          await runtime.startContainer(await runtime.createContainer(again))
        })
      },
    }
  }
  await check(breakage, /two running containers/)
})

test('a kubelet that reports Running for a dead container is detected', async () => {
  const breakage: Breakage = runtime => {
    const stopped = new Set<string>()
    const isHidden = ({ id, state }: ContainerSummary | ContainerStatus): boolean => {
      return state === 'exited' && !stopped.has(id)
    }
    return {
      stopContainer: (id, ...rest) => runtime.stopContainer(stopped.add(id) && id, ...rest),
      listContainers: async (...parameters) => {
        const containers = await runtime.listContainers(...parameters)
        return containers.map(each => (isHidden(each) ? { ...each, state: 'running' } : each))
      },
      containerStatus: async (...parameters) => {
        const container = await runtime.containerStatus(...parameters)
        return isHidden(container) ? { ...container, state: 'running' } : container
      },
    }
  }
  await check(breakage, /not running, but its status shows running/)
})

test('a kubelet that does not look at its pods after missed events is detected', async () => {
  const breakage: Breakage = runtime => ({
    containerEvents: async function* (signal) {
      let count = 0
      for await (const uid of runtime.containerEvents(signal)) {
        // The runtime loses many events here: otherwise it rarely is the last one of a pod that gets lost.
        if (uid !== undefined && ++count % 4 !== 0) yield uid
      }
    },
  })
  await check(breakage, /but its status shows|has no running sandbox/)
})

test('a kubelet that ignores all events of its containers is detected', async () => {
  const breakage: Breakage = () => ({
    containerEvents: async function* (signal) {
      yield undefined
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    },
  })
  await check(breakage, /but its status shows|has no running sandbox/)
})

/** Runs seeds with broken kubelets until a checker reports the expected violation. */
async function check(breakage: Breakage, expected: RegExp): Promise<void> {
  const seenRuntime = (runtime: ContainerRuntime): ContainerRuntime => {
    const replaced = breakage(runtime)
    return new Proxy(runtime, {
      get: (own, name) => {
        const value: unknown = Reflect.get(replaced, name, replaced) ?? Reflect.get(own, name, own)
        return typeof value === 'function' ? (value.bind(own) as unknown) : value
      },
    })
  }
  for (let seed = 0; seed < seedsMax; seed++) {
    const { violations } = await simulateControlPlane(seed, { controllers: controllersOf(), seenRuntime })
    if (violations.some(violation => expected.test(violation))) return
  }
  assert.fail(`no checker reported the violation within ${seedsMax} seeds`)
}
