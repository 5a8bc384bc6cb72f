/** Starts the same pods directly in the container runtime, as the baseline for this machine. */
import { join } from 'node:path'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import type { TestContainerd } from '../../tests/node/test-containerd.ts'
import { busyboxReference } from '../../tests/node/test-images.ts'

/** Returns the startup time of each pod in milliseconds, with `atOnce` started concurrently. */
export async function runBarePods(
  node: TestContainerd,
  { names, atOnce }: { readonly names: readonly string[]; readonly atOnce: number },
): Promise<readonly number[]> {
  const waiting = [...names]
  const took: number[] = []
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const startedMs = performance.now()
      await runBarePod(node, name)
      took.push(performance.now() - startedMs)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return took
}

async function runBarePod({ runtime, folder, cgroupParent }: TestContainerd, name: string): Promise<void> {
  const logFolder = join(folder, 'logs', name)
  const sandbox = sandboxConfig(name, { logFolder, cgroupParent: join(cgroupParent, name) })
  const sandboxId = await runtime.runPodSandbox(sandbox)
  const command = ['sh', '-c', 'trap "exit 0" TERM; sleep 1000000 & wait']
  const config = containerConfig('main', { image: busyboxReference, command })
  await runtime.startContainer(await runtime.createContainer({ sandboxId, sandbox, config }))
}
