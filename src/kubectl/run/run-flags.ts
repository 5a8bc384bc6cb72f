import type { FlagValues } from '#/base/flags.ts'
import type { Invocation } from '../command.ts'
import { sendFlags } from '../create/generated-object-sender.ts'
import { overrideFlags } from '../create/overrides.ts'
import { deletionFlags } from '../delete/delete-flags.ts'
import { boolFlag, intFlag, stringArrayFlag, stringFlag } from '../flag-types.ts'
import { podRunningTimeoutFlag } from '../pods/pod-flags.ts'
import { filenameFlags } from '../write-flags.ts'

export const runFieldManager = 'kubectl-run'

/** Accepted only with old generators. */
export const oldRunFlags = {
  generator: stringFlag('Old: what is created, such as run-pod/v1 or deployment/apps.v1.', { hidden: true }),
  hostport: intFlag('Old: port of the node for the port of the container.', { hidden: true }),
  limits: stringFlag('Old: limits of the container, such as cpu=200m,memory=512Mi.', { hidden: true }),
  replicas: intFlag('Old: number of replicas.', { hidden: true }),
  requests: stringFlag('Old: requests of the container, such as cpu=100m,memory=256Mi.', { hidden: true }),
  schedule: stringFlag('Old: when jobs are created, in the Cron format.', { hidden: true }),
  serviceaccount: stringFlag('Old: service account of the pod.', { hidden: true }),
}

export const runFlags = {
  ...oldRunFlags,
  ...sendFlags(runFieldManager),
  ...overrideFlags,
  ...deletionFlags,
  ...filenameFlags('Ignored.'),
  'annotations': stringArrayFlag('Annotation of the pod, KEY=VALUE; may be repeated.'),
  'attach': boolFlag(
    'Attach to the pod when it runs. True with --stdin unless it is given. The exit code is that of ' +
      'the container if it is not restarted.',
  ),
  'command': boolFlag('The arguments are the command of the container, and not its args.'),
  'detach-keys': stringFlag('Keys that detach the terminal.', { shownDefault: `'ctrl-p,ctrl-q'` }),
  'env': stringArrayFlag('Environment variable, NAME=VALUE; may be repeated.'),
  'expose': boolFlag('Create a service for the pod, too. Requires --port.'),
  'image': stringFlag('Image of the container.', { required: true }),
  'image-pull-policy': stringFlag('Always, IfNotPresent or Never. The server has a default.'),
  'labels': stringFlag('Comma-separated labels of the pod, instead of run=NAME.', { shorthand: 'l' }),
  'leave-stdin-open': boolFlag('Leave the stdin of the container open after the first attach.'),
  'pod-running-timeout': podRunningTimeoutFlag('1m0s'),
  'port': stringFlag('Port on which the container listens.'),
  'privileged': boolFlag('Run the container in privileged mode.'),
  'quiet': boolFlag('Print only what the container prints.', { shorthand: 'q' }),
  'restart': stringFlag('Restart policy of the pod: Always, OnFailure or Never.', {
    shownDefault: `'Always'`,
  }),
  'rm': boolFlag('Delete the pod when it has ended. Only when attaching to it.'),
  'stdin': boolFlag('Keep the stdin of the container open, even if nothing is attached.', { shorthand: 'i' }),
  'tty': boolFlag('Allocate a terminal for the container.', { shorthand: 't' }),
  'wait': boolFlag('Ignored.'),
}

export type RunInvocation = Invocation<typeof runFlags>
export type RunFlagValues = FlagValues<typeof runFlags>
