/**
 * Stops and removes every sandbox and container of a runtime, with their networks. Failures are retried,
 * since other processes may hold resources, and reported in the end.
 */
import type { Platform } from '#/platform/platform.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'

type PodRuntime = Pick<ContainerRuntime, 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>

/** Rejects with the last failure when pods cannot be removed. */
export async function removePods(
  runtime: PodRuntime,
  { clock }: Platform,
  signal?: AbortSignal,
): Promise<void> {
  const options = signal && { signal }
  for (let attempt = 1; ; attempt++) {
    const ids = (await runtime.listPodSandbox({}, options)).map(({ id }) => id)
    if (ids.length === 0) return
    const failures: unknown[] = []
    const work = async (): Promise<void> => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
        try {
          await runtime.stopPodSandbox(id, options)
          await runtime.removePodSandbox(id, options)
        } catch (error) {
          failures.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: atOnceMax }, work))
    if (failures.length > 0 && attempt >= attemptsMax) throw failures.at(-1)
    if (failures.length > 0) await clock.sleep(attempt * delayMs, signal)
  }
}

const atOnceMax = 8
const attemptsMax = 5
const delayMs = 200
