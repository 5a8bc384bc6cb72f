/** `k8ts undo`: restores an earlier version of an object, also of a deleted one. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import { boolFlag, describeFlags, parseArgumentsAndFlags, stringFlag, UsageError } from '#/base/flags.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { listWrites } from '#/client/list-writes.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { formatFieldChange } from '#/history/format-field-change.ts'
import { formatMoment } from '#/history/moment.ts'
import { planUndo, type UndoPlan } from '#/history/plan-undo.ts'
import { nodeIOStreams } from '#/platform/node.ts'
import { clientFlags, connectClient, type ClientConnection } from './client-connection.ts'
import { momentOf, readAt } from './history/read-history.ts'
import {
  changesOfUndo,
  performUndo,
  previewUndo,
  readCurrent,
  readLiveOwners,
} from './history/undo-object.ts'
import { findTarget, objectWords, type ObjectTarget } from './object-words.ts'

const flags = {
  ...clientFlags,
  'to': stringFlag('TIME', 'the version: a revision of k8ts history, 10m, 14:30 or 2026-01-31T08:00:00Z'),
  'dry-run': boolFlag('only show what would change'),
  'yes': { ...boolFlag('do not ask for confirmation'), shorthand: 'y' },
}

const help = `Usage: k8ts undo KIND NAME --to TIME [-n NAMESPACE] [--dry-run] [-y]

Makes an object what it was at a revision or time: fields that changed get their former values, and fields that were
added since are removed, whichever manager owns them. The status, finalizers and owners are left as they are. A deleted
object is created again, with another uid. The changes are shown before they are made, by server-side apply as the field
manager k8ts-undo, with your rights. Only servers of k8ts keep earlier versions.

${describeFlags(flags)}
Examples:
  k8ts history deployment web
  k8ts undo deployment web --to 1042
  k8ts undo configmap settings -n shop --to 15m --dry-run
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    const given = objectWords(words, 'undo')
    const { to, yes = false, 'dry-run': dryRun = false } = values
    if (to === undefined) throw new UsageError('--to is required: a revision of k8ts history, or a time')
    if (!yes && !dryRun && !nodeIOStreams().stdin.isTerminal) {
      throw new UsageError('there is no terminal to ask for confirmation: add -y')
    }
    await using connection = await connectClient(values, 'k8ts-undo')
    const { client, namespace } = connection
    const target = await findTarget(client, { ...given, namespace })
    return await undo({ connection, target, to, terminal, yes, dryRun })
  },
}

interface UndoRun {
  readonly connection: ClientConnection
  readonly target: ObjectTarget
  readonly to: string
  readonly terminal: Terminal
  readonly yes: boolean
  readonly dryRun: boolean
}

async function undo(run: UndoRun): Promise<number> {
  const { connection, target, terminal } = run
  const { client } = connection
  const { path } = target
  const title = escapeControlCharacters(target.title)
  const { current, plan } = await readPlan(run)
  if (plan.type === 'unchanged') {
    terminal.write(`${title} is as it was: nothing to undo\n`)
    return 0
  }
  const preview = await previewUndo({ client, path }, plan)
  terminal.write(`${describePlan(title, { plan, current, preview })}\n`)
  if (run.dryRun) return 0
  if (!run.yes && !(await confirm())) {
    terminal.writeError('nothing was changed\n')
    return 1
  }
  await performUndo({ client, path }, plan, { current, preview })
  terminal.write(`${title} ${plan.type === 'recreate' ? 'created again' : 'restored'}\n`)
  return 0
}

interface CurrentPlan {
  readonly current: JsonObject | undefined
  readonly plan: UndoPlan
}

async function readPlan({ connection, target, to }: UndoRun): Promise<CurrentPlan> {
  const { client, clock } = connection
  const nowMs = clock.now()
  const moment = momentOf(to, 'to', nowMs)
  // Other servers would ignore the parameter `at`.
  const { writes } = await listWrites(client, { limit: 1 })
  await writes.return()
  const [version, current] = await Promise.all([
    readAt(client, target.path, moment),
    readCurrent(client, target.path),
  ])
  if (version === undefined) {
    throw new Error(`${target.title} did not exist at ${formatMoment(moment)}: see k8ts history`)
  }
  const metadata = current?.['metadata']
  if (isObject(metadata) && metadata['deletionTimestamp'] !== undefined) {
    throw new Error(`${target.title} is being deleted: repeat this when it is gone`)
  }
  const liveOwners = current === undefined ? await readLiveOwners(client, version) : new Set<string>()
  return { current, plan: planUndo({ current, target: version, liveOwners, nowMs }) }
}

interface ShownPlan extends CurrentPlan {
  readonly plan: Exclude<UndoPlan, { readonly type: 'unchanged' }>
  readonly preview: JsonObject
}

function describePlan(title: string, { plan, current, preview }: ShownPlan): string {
  const notes = plan.notes.map(note => `  note: ${escapeControlCharacters(note)}`)
  if (current === undefined) return [`${title} is created again`, ...notes].join('\n')
  const changes = changesOfUndo(current, preview).map(change => `  ${formatFieldChange(change)}`)
  return [`${title}:`, ...changes, ...notes].join('\n')
}

async function confirm(): Promise<boolean> {
  const answer = await nodeIOStreams().stdin.readLine({ prompt: 'Proceed? [y/N]: ' })
  return /^y(?:es)?$/i.test((answer ?? '').trim())
}
