import { defineCommand } from '../../command.ts'
import { withPodSpec } from '../../set/pod-spec.ts'
import { recordedSetFlags } from '../../set/set-flags.ts'
import { findSetObjects, setObjects, validateSetFlags } from '../../set/set-objects.ts'
import { dryRunOf } from '../../write-flags.ts'

export const command = defineCommand({
  usage: 'serviceaccount (-f FILENAME | TYPE NAME) SERVICE_ACCOUNT',
  description: `Sets the service account of the pods of replication controllers, deployments, daemon sets,
jobs, cron jobs, replica sets and stateful sets.`,
  examples: `  # The service account of a deployment
  kubectl set serviceaccount deployment web robot

  # Print the changed object of a file, without the server
  kubectl set sa -f web.yaml robot --local -o yaml`,
  flags: recordedSetFlags,
  async run(invocation) {
    const { args, flags, streams } = invocation
    validateSetFlags({ flags: { ...flags, all: false } }, { dryRun: dryRunOf(flags['dry-run'], streams) })
    const serviceAccountName = args.at(-1)
    if (serviceAccountName === undefined) throw new Error('serviceaccount is required')
    const resources = flags.local ? [] : args.slice(0, -1)
    await setObjects(invocation, {
      infos: await findSetObjects(invocation, { resources }),
      operation: 'serviceaccount updated',
      failure: 'failed to patch ServiceAccountName ',
      sendsUnchanged: true,
      change: object => withPodSpec(object, spec => ({ ...spec, serviceAccountName })),
    })
  },
})
