import { defineCommand, type Invocation } from '../../command.ts'
import { Deadline } from '../../deadline.ts'
import { boolFlag, durationFlag, intFlag } from '../../flag-types.ts'
import { visitResources } from '../../resource/find-resources.ts'
import type { Info } from '../../resource/info.ts'
import { watchObject } from '../../resource/watch-object.ts'
import { rolloutFlags, rolloutQueryOf } from '../../rollout/rollout-query.ts'
import { rolloutStatusReaderOf } from '../../rollout/rollout-status.ts'

const flags = {
  ...rolloutFlags,
  revision: intFlag('Fail if this is not the revision that is rolled out; 0 for any.'),
  timeout: durationFlag('Time to wait for the end of the rollout; 0 for no limit.'),
  watch: boolFlag('Wait until the rollout is done.', { shorthand: 'w', shownDefault: 'true' }),
}

export const command = defineCommand({
  usage: 'status (TYPE NAME | TYPE/NAME) [flags]',
  description: `Shows the progress of rollouts, and waits until they are done; with --watch=false it does
not wait. If another rollout begins meanwhile, the command waits for that one. --revision=N fails then.`,
  examples: `  # Wait for the rollout of a deployment
  kubectl rollout status deployment/web

  # At most for a minute
  kubectl rollout status deployment/web --timeout=1m`,
  flags,
  async run(invocation) {
    const { factory, streams } = invocation
    const query = rolloutQueryOf(invocation)
    const { revision = 0 } = invocation.flags
    if (revision < 0) throw new Error(`revision must be a positive integer: ${revision}`)
    const count = await visitResources(factory, query, info => showStatus(invocation, info))
    if (count === 0) {
      streams.stderr.write(`No resources found in ${(await factory.namespace()).namespace} namespace.\n`)
    }
  },
})

async function showStatus(
  { flags: given, factory, streams }: Invocation<typeof flags>,
  info: Info,
): Promise<void> {
  const { revision = 0, watch = true, timeout = 0 } = given
  const { kind, group } = info.mapping
  const groupKind = group === '' ? kind : `${kind}.${group}`
  const read = rolloutStatusReaderOf(groupKind)
  if (read === undefined) throw new Error(`no status viewer has been implemented for ${groupKind}`)
  using deadline = new Deadline(factory.machine, timeout > 0 ? timeout : undefined)
  const resources = await factory.resources()
  const { clock } = factory.machine.platform
  for await (const { object } of watchObject({ resources, clock, info }, deadline.signal)) {
    if (object === undefined) throw new Error('object has been deleted')
    const { text, isDone } = read(object, revision)
    streams.write(text)
    if (isDone || !watch) return
  }
}
