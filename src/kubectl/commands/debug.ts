import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { attachOrPrintLog, printPodLog } from '../exec/attach-or-print-log.ts'
import { containerStatusOf } from '../pods/containers.ts'
import { waitForPod } from '../run/wait-for-pod.ts'
import { defineCommand } from '../command.ts'
import {
  checkDebugFlags,
  debugFlags,
  parseProfile,
  splitDebugArguments,
  type DebugInvocation,
} from '../debug/debug-flags.ts'
import { Debugger, type DebugContainer } from '../debug/debugger.ts'
import { requireResources } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'

export const command = defineCommand({
  usage: 'debug (POD | TYPE[[.VERSION].GROUP]/NAME) [ -- COMMAND [args...] ]',
  description: `Creates a container to debug a pod or a node with.

* In a running pod: an ephemeral container is added, for example with tools that the image of the pod does not have. The
  pod is not restarted. An ephemeral container cannot be removed or changed.
* With a copy of a pod: --copy-to creates it, with a container added, or with other images or another command.
* On a node: a pod is created that runs in the namespaces of the node and has its files below /host.

The profile decides what the container may do. If the pod is configured for a user other than root, some capabilities of
the profile may not work.`,
  examples: `  # A shell in a running pod
  kubectl debug web-0 -it --image=busybox

  # The same, with the processes of a container
  kubectl debug web-0 -it --image=busybox --target=nginx

  # A shell in a copy of a pod
  kubectl debug web-0 -it --image=busybox --copy-to=web-debug

  # A copy of a pod in which a container runs a shell instead of its command
  kubectl debug web-0 -it --copy-to=web-debug --container=nginx -- sh

  # A copy of a pod with other images
  kubectl debug web-0 --copy-to=web-debug --set-image=nginx=nginx:debug,sidecar=busybox

  # A shell on a node, which may do everything
  kubectl debug node/node-1 -it --image=busybox --profile=sysadmin`,
  flags: debugFlags,
  async run(invocation) {
    const { flags, streams } = invocation
    const profile = parseProfile(invocation)
    const { readCustomProfile, checkCustomProfile } = flags.custom
      ? await import('../debug/custom-profile.ts')
      : {}
    const customProfile = await readCustomProfile?.(invocation.factory.machine, flags.custom!)
    checkDebugFlags(invocation, splitDebugArguments(invocation))
    if (flags.target && !flags.quiet) {
      streams.write(
        `Targeting container ${JSON.stringify(flags.target)}. If you don't see processes ` +
          "from this container it may be because the container runtime doesn't support this feature.\n",
      )
    }
    if (flags.tty && !flags.stdin) throw new Error('-i/--stdin is required for containers with -t/--tty=true')
    if (customProfile !== undefined) checkCustomProfile?.(customProfile)
    if (profile === 'legacy') {
      streams.stderr.write(
        '--profile=legacy is deprecated and planned to be removed in v1.39. ' +
          'It is recommended to specify other profile, for example "--profile=general".\n',
      )
    }
    const tool = new Debugger(invocation, { profile, customProfile })
    for await (const info of targetsOf(invocation)) await attach(invocation, await tool.debug(info))
  },
})

/** Each is read when the one before it has been debugged. */
async function* targetsOf(invocation: DebugInvocation): AsyncGenerator<Info, void, undefined> {
  const { flags, factory } = invocation
  const { targets } = splitDebugArguments(invocation)
  if (flags.filename?.length) {
    yield* await requireResources(factory, { args: targets, filenames: flags.filename })
    return
  }
  for (const target of targets) {
    yield* await requireResources(factory, { args: [target], defaultType: 'pods', latest: true })
  }
}

/** Waits until the container runs, and attaches to it. Prints its log if it has ended already. */
async function attach(
  { flags, factory, streams }: DebugInvocation,
  { pod: { metadata }, container }: DebugContainer,
): Promise<void> {
  const { stdin = false, tty = false, attach: isAttached = stdin } = flags
  if (!isAttached || container === undefined) return
  const quiet = flags.quiet ?? false
  const isStarted = (pod: Pod): boolean => {
    const { running, terminated, waiting } = stateOf(containerStatusOf(pod, container))
    if (running || terminated) return true
    if (!quiet && waiting?.message)
      streams.stderr.write(`Warning: container ${container}: ${waiting.message}\n`)
    return false
  }
  const { namespace = '', name = '' } = metadata
  const pod = await waitForPod(factory, { namespace, name, until: isStarted })
  if (stateOf(containerStatusOf(pod, container)).terminated) {
    await printPodLog(factory, { pod, container, quiet })
  } else {
    await attachOrPrintLog(factory, { pod, container, stdin, tty, quiet })
  }
}

function stateOf(status: ContainerStatus | undefined): NonNullable<ContainerStatus['state']> {
  return status?.state ?? {}
}
