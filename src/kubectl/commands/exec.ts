import { defineCommand, type Invocation } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { execTarget } from '../exec/exec-target.ts'
import { planTerminal, runTerminalSession } from '../exec/terminal-session.ts'
import { boolFlag, stringSliceFlag } from '../flag-types.ts'
import { containerFlag, podRunningTimeoutFlag, podTimeoutMs } from '../pods/pod-flags.ts'
import { compareForAttach } from '../pods/pod-order.ts'
import { podsOf } from '../pods/pods-of.ts'
import { requireResources } from '../resource/find-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'

const flags = {
  'container': containerFlag,
  'filename': stringSliceFlag('File or URL with the object to execute the command in.', { shorthand: 'f' }),
  'pod-running-timeout': podRunningTimeoutFlag('1m0s'),
  'quiet': boolFlag('Print only the output of the command.', { shorthand: 'q' }),
  'stdin': boolFlag('Pass stdin to the command.', { shorthand: 'i' }),
  'tty': boolFlag('Run the command with a terminal. Requires --stdin from a terminal.', { shorthand: 't' }),
}

type ExecInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]',
  description: `Executes a command in a container.

The command is not run in a shell, unless it is one. kubectl exits with the exit code of the command.`,
  examples: `  # Run a command in the default container of a pod
  kubectl exec web-0 -- date

  # Run a command in another container
  kubectl exec web-0 -c sidecar -- date

  # A shell in this terminal
  kubectl exec -it web-0 -- sh

  # A command that reads from a pipe
  tar cf - data | kubectl exec -i web-0 -- tar xf - -C /tmp

  # A command with wildcards, which only a shell expands
  kubectl exec web-0 -- sh -c 'ls /var/log/*.log'

  # A command in a pod of a deployment
  kubectl exec deployment/web -- date`,
  flags,
  async run(invocation) {
    const { flags, factory, streams } = invocation
    const { resource, words } = splitArguments(invocation)
    const timeoutMs = podTimeoutMs(flags['pod-running-timeout'])
    if (resource === undefined && !flags.filename?.length) {
      throw new Error('pod, type/name or --filename must be specified')
    }
    if (words.length === 0) throw new Error('you must specify at least one command for the container')
    const pod = await findPod(invocation, { resource, timeoutMs })
    const { stdin = false, tty = false, quiet = false } = flags
    const warn = (text: string): void => {
      if (!quiet) streams.stderr.write(`${text}\n`)
    }
    await runTerminalSession(factory, {
      ...execTarget(pod, { container: flags.container, warn }),
      command: words,
      stdin,
      isRaw: planTerminal(streams, { stdin, tty, quiet }),
    })
  },
})

interface ExecArguments {
  /** Absent with `--filename`. */
  readonly resource: string | undefined
  readonly words: readonly string[]
}

function splitArguments({ args, dashIndex, flags }: ExecInvocation): ExecArguments {
  if (dashIndex === undefined && (args.length > 1 || (args.length > 0 && flags.filename?.length))) {
    throw new CommandUsageError(
      'exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead',
    )
  }
  return {
    resource: dashIndex === 0 ? undefined : args[0],
    words: dashIndex === undefined ? [] : args.slice(dashIndex),
  }
}

async function findPod(
  { flags, factory }: ExecInvocation,
  { resource, timeoutMs }: { readonly resource: string | undefined; readonly timeoutMs: number },
): Promise<Pod> {
  const [info, ...more] = await requireResources(factory, {
    latest: true,
    ...(flags.filename && { filenames: flags.filename }),
    ...(resource !== undefined && { args: [resource], defaultType: 'pods' }),
  })
  if (info === undefined || more.length > 0) throw new Error('cannot exec into multiple objects at a time')
  const [pod] = await podsOf(factory, info, {
    timeoutMs,
    compare: compareForAttach,
    refusal: 'cannot attach to',
  })
  return pod
}
