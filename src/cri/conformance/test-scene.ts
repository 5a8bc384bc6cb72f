import assert from 'node:assert/strict'
import type { Platform } from '#/platform/platform.ts'
import {
  CriError,
  type ContainerConfig,
  type ContainerRuntime,
  type ContainerStatus,
  type CriErrorReason,
  type SandboxConfig,
} from '../cri.ts'
import { containerConfig, sandboxConfig } from '../test-configs.ts'

/** A runtime under test with the environment that the suite needs. */
export interface RuntimeSubject {
  readonly runtime: ContainerRuntime
  /** The platform that the runtime runs on: its clock and the files that hold its logs. */
  readonly platform: Platform
  /**
   * Name of a present image that contains busybox. Simulated runtimes key their container scripts by the
   * names in `programs`.
   */
  readonly image: string
  /** Absolute path of a directory used only by this suite. */
  readonly folder: string
  /** Parent cgroup of the sandboxes. */
  readonly cgroupParent: string
  /** Awaits a promise while the platform's clock advances. */
  run<T>(promise: Promise<T>): Promise<T>
  /** Restarts the runtime abruptly; its containers keep running. */
  restart(): Promise<void>
  /** Kills the sandbox process from outside the runtime. */
  killSandbox(id: string): Promise<void>
}

/**
 * The containers of the suite: name and real command. A simulated runtime goes by the names and interprets
 * `echo`, `exit`, `sleep` and `cat` (see `simulated-command.ts`).
 */
export const programs = {
  /** Runs forever and ignores SIGTERM, as PID 1 does unless it installs a handler. */
  deaf: ['sleep', '100000'],
  /** Exits with code 5 on SIGTERM; logs a line once the handler is installed. */
  obedient: ['sh', '-c', "trap 'exit 5' TERM; echo listening; while :; do sleep 0.05; done"],
  talker: ['sh', '-c', 'echo one; echo two >&2; exit 3'],
  quick: ['true'],
  /** The program does not exist, so the container cannot start. */
  absent: ['/no/such/program'],
  /** Exceeds its memory limit of 16 MiB. */
  // containerd registers for OOM events of a container after its start, and misses earlier ones.
  hungry: ['sh', '-c', 'sleep 1; text=0123456789; while :; do text=$text$text; done'],
  /** Copies stdin to stdout. */
  copier: ['cat'],
  /** Echo server on port 8080. */
  server: ['nc', '-ll', '-p', '8080', '-e', 'cat'],
} as const

export type ProgramName = keyof typeof programs

/** The runtime as seen by one test. Its pods are removed when the test ends. */
export class Scene implements AsyncDisposable {
  readonly subject: RuntimeSubject
  readonly runtime: ContainerRuntime
  readonly #sandboxes: string[] = []

  constructor(subject: RuntimeSubject) {
    this.subject = subject
    this.runtime = subject.runtime
  }

  /** Creates a pod with a running sandbox. */
  async pod(more: Partial<SandboxConfig> = {}): Promise<ScenePod> {
    const sandbox = { ...this.sandboxConfig(), ...more }
    const sandboxId = await this.runtime.runPodSandbox(sandbox)
    this.#sandboxes.push(sandboxId)
    return { scene: this, sandbox, sandboxId, uid: sandbox.metadata.uid }
  }

  sandboxConfig(): SandboxConfig {
    const { platform, folder, cgroupParent } = this.subject
    const uid = platform.random.uuid('conformance')
    const name = `pod-${uid.slice(0, 8)}`
    return sandboxConfig(uid, {
      metadata: { name, namespace: 'conformance', uid, attempt: 0 },
      hostname: name,
      logFolder: `${folder}/logs/${uid}`,
      annotations: { 'example.com/note': 'kept' },
      cgroupParent,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#sandboxes) {
      await this.runtime.stopPodSandbox(id)
      await this.runtime.removePodSandbox(id)
    }
  }
}

export interface ScenePod {
  readonly scene: Scene
  readonly sandbox: SandboxConfig
  readonly sandboxId: string
  readonly uid: string
}

export async function create(
  pod: ScenePod,
  name: ProgramName,
  more: Partial<ContainerConfig> = {},
): Promise<string> {
  const { runtime, subject } = pod.scene
  const image = await runtime.imageStatus(subject.image)
  assert.ok(image, `the image ${subject.image} is there`)
  const config = containerConfig(name, {
    image: image.id,
    userImage: subject.image,
    command: programs[name],
    labels: { ...pod.sandbox.labels, 'io.kubernetes.container.name': name },
    annotations: { 'example.com/hash': '4711' },
    ...more,
  })
  return runtime.createContainer({ sandboxId: pod.sandboxId, sandbox: pod.sandbox, config })
}

/** Creates and starts a container. Resolves with its id. */
export async function start(
  pod: ScenePod,
  name: ProgramName,
  more: Partial<ContainerConfig> = {},
): Promise<string> {
  const id = await create(pod, name, more)
  await pod.scene.runtime.startContainer(id)
  return id
}

/** The container `obedient`, once it handles SIGTERM. */
export async function startObedient(pod: ScenePod): Promise<string> {
  const { scene } = pod
  const id = await start(pod, 'obedient')
  const { logPath } = await scene.runtime.containerStatus(id)
  await until(scene, 'it listens', async () => {
    const lines: readonly string[] = await logLines(scene, logPath).catch(() => [])
    return lines.includes('stdout F listening') || undefined
  })
  return id
}

/** Waits until the container has exited. Resolves with its status. */
export async function ended(scene: Scene, id: string): Promise<ContainerStatus> {
  return until(scene, `${id} has ended`, async () => {
    const status = await scene.runtime.containerStatus(id)
    return status.state === 'exited' ? status : undefined
  })
}

/** Polls until `ask` returns a value. The timeout is generous, so that only a real failure reaches it. */
export async function until<T>(scene: Scene, what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await scene.subject.platform.clock.sleep(attemptMs)
  }
  return assert.fail(`it never came to this: ${what}`)
}

const attemptMs = 20
const attemptsMax = 3_000

export async function refuses(
  promise: Promise<unknown>,
  ...reasons: readonly CriErrorReason[]
): Promise<void> {
  await assert.rejects(promise, error => {
    assert.ok(error instanceof CriError, `CriError, not ${String(error)}`)
    assert.ok(
      reasons.includes(error.reason),
      `${reasons.join(' or ')}, not ${error.reason}: ${error.message}`,
    )
    assert.notEqual(error.message, '')
    return true
  })
}

/** Log lines without their timestamps. */
export async function logLines(scene: Scene, path: string): Promise<readonly string[]> {
  const text = Buffer.from(await scene.subject.platform.files.read(path)).toString()
  const lines = text.split('\n').slice(0, -1)
  for (const line of lines) assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) /)
  return lines.map(line => line.replace(/^\S+ /, ''))
}
