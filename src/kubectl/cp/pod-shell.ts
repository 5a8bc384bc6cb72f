import type { CommandProcess, CommandResult } from '#/streams/streams.ts'
import { ExitError } from '../errors.ts'
import { execTarget } from '../exec/exec-target.ts'
import { openSession } from '../exec/open-session.ts'
import type { Factory } from '../factory.ts'
import { podIn, pods } from '../pods/pods-of.ts'

export interface PodShellOptions {
  readonly namespace: string
  readonly pod: string
  readonly container: string | undefined
}

export interface ShellCommand {
  readonly command: readonly string[]
  readonly stdin: boolean
  /** Called with what is to be printed about the choice of the container. */
  readonly warn: (text: string) => void
  readonly signal?: AbortSignal
}

/** Runs commands in a container. */
export class PodShell {
  readonly #factory: Factory
  readonly #options: PodShellOptions

  constructor(factory: Factory, options: PodShellOptions) {
    this.#factory = factory
    this.#options = options
  }

  /** Looks the pod up each time, since it may have ended. Throws Error. */
  async start({ command, stdin, warn, signal }: ShellCommand): Promise<CommandProcess> {
    const { namespace, pod: name, container } = this.#options
    const resources = await this.#factory.resources()
    const pod = podIn(await resources.get({ mapping: pods, namespace, name }))
    return openSession(this.#factory, {
      ...execTarget(pod, { container, warn }),
      command,
      streams: { stdin, stdout: true, stderr: true, tty: false },
      ...(signal && { signal }),
    })
  }

  /** Throws unless the command has succeeded. */
  check(result: CommandResult): void {
    if (result.type === 'failed') throw new Error(result.message)
    if (result.code === 0) return
    this.#factory.machine.streams.stderr.write(`command terminated with exit code ${result.code}\n`)
    throw new ExitError(result.code)
  }
}
