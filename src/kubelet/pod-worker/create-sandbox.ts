import { sandboxConfigOf } from '../container-config.ts'
import type { SandboxContext } from '../container-input.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'
import { podLogFolder } from '../pod-paths.ts'
import type { PodSteps } from '../pod-steps.ts'

export interface SandboxCreation {
  readonly pod: KubeletPod
  readonly attempt: number
  /** Cancels waiting for a slot, but not a call in progress. */
  readonly signal: AbortSignal
  readonly steps: PodSteps
}

export interface CreatedSandbox {
  readonly id: string
  /** Duration of the runtime call. */
  readonly tookMs: number
}

/** Resolves when the sandbox is running. */
export async function createSandbox(
  dependencies: PodWorkerDependencies,
  creation: SandboxCreation,
): Promise<CreatedSandbox> {
  const { pod, attempt, signal, steps } = creation
  const { platform, linux, runtime, cgroups, recorder, node, sandboxSemaphore, metrics } = dependencies
  const [context] = await Promise.all([
    sandboxContext(dependencies, pod, attempt),
    steps.run('cgroup', undefined, () => cgroups.ensure(pod)),
    linux.files.makeFolderUnsynced(podLogFolder(node, pod), 0o755),
  ])
  const { config, warnings } = sandboxConfigOf(pod, context)
  for (const { reason, message } of warnings) recorder.record(pod, { type: 'Warning', reason, message })
  return sandboxSemaphore.use(async () => {
    signal.throwIfAborted()
    const { clock } = platform
    const beganMs = clock.monotonicMs()
    try {
      const id = await steps.run('sandbox', undefined, () => runtime.runPodSandbox(config))
      return { id, tookMs: Math.round(clock.monotonicMs() - beganMs) }
    } catch (error) {
      metrics.starts.sandboxErrors.with(config.runtimeHandler).add()
      throw error
    } finally {
      const seconds = (clock.monotonicMs() - beganMs) / 1_000
      metrics.starts.sandboxDuration.with(config.runtimeHandler).observe(seconds)
    }
  })
}

/** Node-dependent input of the sandbox configuration; container creation repeats it. */
export async function sandboxContext(
  dependencies: PodWorkerDependencies,
  pod: KubeletPod,
  attempt: number,
): Promise<SandboxContext> {
  const { platform, node } = dependencies
  const [resolvConf, handler] = await Promise.all([
    readText(platform.files, node.resolvConf),
    dependencies.handlerOf(pod),
  ])
  return { attempt, node, machine: dependencies.machine(), resolvConf, ...(handler && { handler }) }
}

async function readText(files: PodWorkerDependencies['platform']['files'], path: string): Promise<string> {
  if (path === '') return ''
  try {
    return Buffer.from(await files.read(path)).toString()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
