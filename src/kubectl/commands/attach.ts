import { defineCommand } from '../command.ts'
import { attachToPod } from '../exec/attach-to-pod.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { containerFlag, podRunningTimeoutFlag, podTimeoutMs } from '../pods/pod-flags.ts'
import { compareForAttach } from '../pods/pod-order.ts'
import { podsOf } from '../pods/pods-of.ts'
import { requireResources } from '../resource/find-resources.ts'

const flags = {
  'container': containerFlag,
  'detach-keys': stringFlag('Keys that detach the terminal, which the process does not receive.', {
    shownDefault: `'ctrl-p,ctrl-q'`,
  }),
  'pod-running-timeout': podRunningTimeoutFlag('1m0s'),
  'quiet': boolFlag('Print only the output of the container.', { shorthand: 'q' }),
  'stdin': boolFlag('Pass stdin to the container.', { shorthand: 'i' }),
  'tty': boolFlag('Use this terminal for the container. Requires --stdin from a terminal.', {
    shorthand: 't',
  }),
}

export const command = defineCommand({
  usage: 'attach (POD | TYPE/NAME) -c CONTAINER',
  description:
    'Attaches to the main process of a running container: prints its output and, with --stdin, passes input to it.',
  examples: `  # The output of the default container of a pod
  kubectl attach web-0

  # The output of another container
  kubectl attach web-0 -c sidecar

  # Use the shell that a container runs. Ctrl-P Ctrl-Q leaves it running
  kubectl attach web-0 -c shell -i -t

  # The output of a pod of a replica set
  kubectl attach rs/web`,
  flags,
  async run(invocation) {
    const { args, flags, factory } = invocation
    const timeoutMs = podTimeoutMs(flags['pod-running-timeout'])
    if (args.length === 0) throw new Error('at least 1 argument is required for attach')
    if (args.length > 2) {
      const given = `saw ${args.length}: [${args.join(' ')}]`
      throw new Error(`expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) ${given}`)
    }
    const [info] = await requireResources(factory, {
      args,
      latest: true,
      ...(args.length === 1 && { defaultType: 'pods' }),
    })
    const refusal = 'cannot attach to'
    const [pod] = await podsOf(factory, info!, { timeoutMs, compare: compareForAttach, refusal })
    const { phase } = pod.status ?? {}
    if (phase === 'Succeeded' || phase === 'Failed') {
      throw new Error(`cannot attach a container in a completed pod; current phase is ${phase}`)
    }
    await attachToPod(factory, {
      pod,
      container: flags.container,
      stdin: flags.stdin ?? false,
      tty: flags.tty ?? false,
      quiet: flags.quiet ?? false,
      detachKeys: flags['detach-keys'],
    })
  },
})
