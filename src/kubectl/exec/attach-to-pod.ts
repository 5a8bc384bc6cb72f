import type { Pod } from '#/api/generated/core/v1.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { chooseContainer } from '../pods/containers.ts'
import { DetachKeys, parseDetachKeys, usualDetachKeys } from './detach-keys.ts'
import { planTerminal, runTerminalSession } from './terminal-session.ts'

export interface AttachOptions {
  readonly pod: Pod
  /** The default container of the pod if it is absent or empty. */
  readonly container?: string | undefined
  readonly stdin: boolean
  readonly tty: boolean
  /** Prints only what the container prints. */
  readonly quiet: boolean
  readonly detachKeys?: string | undefined
}

/**
 * Attaches this program's streams to the main process of a running container, until it ends or the user detaches.
 * Throws Error.
 */
export async function attachToPod(factory: Factory, options: AttachOptions): Promise<void> {
  const { pod, stdin, quiet, detachKeys } = options
  const { streams } = factory.machine
  const warn = (text: string): void => {
    if (!quiet) streams.stderr.write(`${text}\n`)
  }
  const { container, list } = chosenContainer(options, warn)
  if (options.tty && !container.tty) {
    warn(`error: Unable to use a TTY - container ${container.name} did not allocate one`)
  }
  // A container with a terminal cannot be attached to without one.
  const isRaw = planTerminal(streams, { stdin, tty: container.tty ?? false, quiet })
  warn(
    'All commands and output from this session will be recorded in container logs, ' +
      'including credentials and sensitive information passed through the command prompt.',
  )
  warn("If you don't see a command prompt, try pressing enter.")
  const { name = '', namespace = '' } = pod.metadata
  await runTerminalSession(factory, {
    namespace,
    pod: name,
    container: container.name,
    subresource: 'attach',
    stdin,
    isRaw,
    redraws: true,
    ...(isRaw && { detachKeys: new DetachKeys(parseDetachKeys(detachKeys || usualDetachKeys)) }),
  })
  if (quiet || !isRaw) return
  const again = `using 'kubectl attach ${name} -c ${container.name} -n ${namespace} -i -t'`
  streams.write(
    list === 'ephemeralContainers'
      ? 'Session ended, the ephemeral container will not be restarted but may be reattached ' +
          `${again} if it is still running\n`
      : `Session ended, resume ${again} command\n`,
  )
}

function chosenContainer({ pod, container: name }: AttachOptions, warn: (text: string) => void) {
  try {
    return chooseContainer(pod, { name, warn })
  } catch (error) {
    throw new Error(`cannot attach to the container: ${messageOf(error)}`, { cause: error })
  }
}
