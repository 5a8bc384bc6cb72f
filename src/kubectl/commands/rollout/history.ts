import { defineCommand, type Invocation } from '../../command.ts'
import { intFlag } from '../../flag-types.ts'
import { objectPrinterOf, printFlags } from '../../printers/object-printer.ts'
import { TabWriter } from '../../printers/tab-writer.ts'
import { visitResources } from '../../resource/find-resources.ts'
import { objectName, type Info } from '../../resource/info.ts'
import { revisionsOf, type Revision } from '../../rollout/revision.ts'
import { rolloutFlags, rolloutQueryOf } from '../../rollout/rollout-query.ts'

const flags = {
  ...printFlags,
  ...rolloutFlags,
  revision: intFlag('Show the pod template of this revision.'),
}

export const command = defineCommand({
  usage: 'history (TYPE NAME | TYPE/NAME) [flags]',
  description: 'Shows the revisions of workloads, which "kubectl rollout undo" can restore.',
  examples: `  # The revisions of a deployment
  kubectl rollout history deployment/web

  # The pod template of a revision
  kubectl rollout history daemonset/agent --revision=3`,
  flags,
  async run(invocation) {
    const query = rolloutQueryOf(invocation)
    const { revision = 0 } = invocation.flags
    if (revision < 0) throw new Error(`revision must be a positive integer: ${revision}`)
    const print = await printerOf(invocation)
    await visitResources(invocation.factory, query, async info => {
      const revisions = await revisionsOf(invocation.factory, info, 'history')
      const selected = revision === 0 ? undefined : revisions.find(({ number }) => number === revision)
      const isMissing = revision !== 0 && selected === undefined
      // Without any revision, the answer is that there is no history.
      if (isMissing && (revisions.length > 0 || invocation.flags.output)) {
        throw new Error('unable to find the specified revision')
      }
      await print(info, { revisions, selected })
    })
  },
})

interface History {
  readonly revisions: readonly Revision[]
  /** The one that `--revision` selects. */
  readonly selected: Revision | undefined
}

async function printerOf({
  flags: given,
  factory,
  streams,
}: Invocation<typeof flags>): Promise<(info: Info, history: History) => Promise<void> | void> {
  const printObject = await objectPrinterOf({ flags: given, machine: factory.machine })
  if (printObject !== undefined) {
    return (_info, { revisions, selected }) => {
      for (const { object } of selected ? [selected] : revisions) streams.write(printObject(object))
    }
  }
  return async (info, { revisions, selected }) => {
    const text = selected === undefined ? tableOf(revisions) : await templateText(selected)
    const withRevision = given.revision ? `with revision #${given.revision}` : ''
    streams.write(`${objectName(info)} ${withRevision}\n${text}\n`)
  }
}

function tableOf(revisions: readonly Revision[]): string {
  if (revisions.length === 0) return 'No rollout history found.'
  let text = ''
  const table = new TabWriter({ minWidth: 0, padding: 2, write: written => (text += written) })
  table.write('REVISION\tCHANGE-CAUSE\n')
  for (const { number, changeCause } of revisions) table.write(`${number}\t${changeCause || '<none>'}\n`)
  table.flush()
  return text
}

async function templateText({ template, changeCause }: Revision): Promise<string> {
  const { podTemplateText } = await import('../../describe/pod-template-text.ts')
  const { changeCauseAnnotation } = await import('../../rollout/revision.ts')
  const { metadata = {} } = template
  if (changeCause === '') return podTemplateText(template)
  const annotations = { ...metadata.annotations, [changeCauseAnnotation]: changeCause }
  return podTemplateText({ ...template, metadata: { ...metadata, annotations } })
}
