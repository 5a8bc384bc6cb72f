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

/** A runtime under test, and what the suite must know to use it. */
export interface RuntimeSubject {
  readonly runtime: ContainerRuntime
  /** The one that the runtime lives on: its time, and the files that it writes logs into. */
  readonly platform: Platform
  /** The name of an image that is there, with busybox in it; `container` is the script of each name below. */
  readonly image: string
  /** An absolute folder that nobody else writes into. */
  readonly folder: string
  /** Where sandboxes may have their control groups. */
  readonly cgroupParent: string
  /** Waits for a promise in the time of the platform. */
  run<T>(promise: Promise<T>): Promise<T>
  /** The runtime ends without a word and comes back; its containers go on. */
  restart(): Promise<void>
  /** Somebody kills the sandbox's own process. */
  killSandbox(id: string): Promise<void>
}

/**
 * The containers of the suite: a name and what really does it. A runtime that only seems to run containers goes by the
 * names, and knows `echo`, `exit`, `sleep` and `cat` (see `simulated-command.ts`).
 */
export const programs = {
  /** Runs for ever, and does not listen to SIGTERM, as no first process of a container does by itself. */
  deaf: ['sleep', '100000'],
  /** Ends with 5 when it is told to, once it has said that it listens. */
  obedient: ['sh', '-c', "trap 'exit 5' TERM; echo listening; while :; do sleep 0.05; done"],
  talker: ['sh', '-c', 'echo one; echo two >&2; exit 3'],
  quick: ['true'],
  /** There is no such program: it cannot be started. */
  absent: ['/no/such/program'],
  /** Takes more than the 16 MiB that it may. */
  hungry: ['sh', '-c', 'text=0123456789; while :; do text=$text$text; done'],
  /** Says again what it is told. */
  copier: ['cat'],
  /** Listens on port 8080 and says again what it is told. */
  server: ['nc', '-ll', '-p', '8080', '-e', 'cat'],
} as const

export type ProgramName = keyof typeof programs

/** One test's view of the runtime: pods of its own, which are gone at its end. */
export class Scene implements AsyncDisposable {
  readonly subject: RuntimeSubject
  readonly runtime: ContainerRuntime
  readonly #sandboxes: string[] = []

  constructor(subject: RuntimeSubject) {
    this.subject = subject
    this.runtime = subject.runtime
  }

  /** A pod with a sandbox that runs. */
  async pod(more: Partial<SandboxConfig> = {}): Promise<ScenePod> {
    const sandbox = { ...this.sandboxConfig(), ...more }
    const sandboxId = await this.runtime.runSandbox(sandbox)
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
      await this.runtime.stopSandbox(id)
      await this.runtime.removeSandbox(id)
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

/** Resolves with the id when it has been started. */
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

/** Its status once it has ended. */
export async function ended(scene: Scene, id: string): Promise<ContainerStatus> {
  return until(scene, `${id} has ended`, async () => {
    const status = await scene.runtime.containerStatus(id)
    return status.state === 'exited' ? status : undefined
  })
}

/** Asks again until there is an answer. It gives up only where waiting on could not help. */
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

/** The lines of a container's log without their times. */
export async function logLines(scene: Scene, path: string): Promise<readonly string[]> {
  const text = Buffer.from(await scene.subject.platform.files.read(path)).toString()
  const lines = text.split('\n').slice(0, -1)
  for (const line of lines) assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) /)
  return lines.map(line => line.replace(/^\S+ /, ''))
}
