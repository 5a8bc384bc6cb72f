/** `k8ts diff`: what changed in a namespace or the cluster between two moments. */
import {
  boolFlag,
  describeFlags,
  enumFlag,
  parseArgumentsAndFlags,
  stringFlag,
  UsageError,
} from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { formatObjectDiffs, type ObjectDiff } from '#/history/object-diff.ts'
import { clientFlags, connectClient, type ClientConnection } from './client-connection.ts'
import { formatOutput } from './history/format-output.ts'
import { momentOf } from './history/read-history.ts'
import { readObjectDiffs, type ObjectDiffList } from './history/read-object-diffs.ts'
import { requireResource } from './object-words.ts'

const flags = {
  ...clientFlags,
  'all-namespaces': { ...boolFlag('all namespaces and cluster-scoped objects'), shorthand: 'A' },
  'from': stringFlag('TIME', 'first moment: a revision, 10m, 14:30 or 2026-01-31T08:00:00Z'),
  'to': stringFlag('TIME', 'second moment (default: now)'),
  'spec': boolFlag('leave out the status of objects'),
  'output': { ...enumFlag(['json', 'yaml'], 'the differences for programs'), shorthand: 'o' },
}

const help = `Usage: k8ts diff --from TIME [--to TIME] [-n NAMESPACE | -A] [KIND [NAME]] [--spec] [-o json|yaml]

Shows which objects were added, removed and changed between two moments, with the changed fields and who wrote them.
Only objects that you may get are compared. Events and Leases have no history. Only servers of k8ts keep one.

${describeFlags(flags)}
Examples:
  k8ts diff --from 10m --spec
  k8ts diff --from 14:00 --to 14:30 -A
  k8ts diff --from 1042 --to 1077 deployment web -n shop
  k8ts diff --from 1h -A -o json | jq -r '.items[] | select(.type == "removed") | .object.name'
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    if (values.from === undefined) throw new UsageError('--from is required: the first of the two moments')
    if (words.length > 2) throw new UsageError('usage: k8ts diff --from TIME [--to TIME] [KIND [NAME]]')
    const given = words.length === 1 ? (words[0] ?? '').split('/') : words
    await using connection = await connectClient(values, 'k8ts-diff')
    const list = await readDiffs(connection, { ...values, from: values.from, given })
    if (!list.isComplete) terminal.writeError('only objects that you may get are compared\n')
    if (values.output === undefined) terminal.write(formatObjectDiffs(list.diffs, list))
    else terminal.write(await formatOutput(diffListOf(list), values.output))
    return 0
  },
}

interface DiffFlags {
  readonly 'all-namespaces'?: boolean
  readonly 'from': string
  readonly 'to'?: string
  readonly 'spec'?: boolean
  readonly 'given': readonly string[]
}

async function readDiffs(
  { client, namespace, clock }: ClientConnection,
  { from: fromText, to: toText, spec: specOnly = false, given, ...options }: DiffFlags,
): Promise<ObjectDiffList> {
  const nowMs = clock.now()
  const from = momentOf(fromText, 'from', nowMs)
  const to = toText === undefined ? undefined : momentOf(toText, 'to', nowMs)
  if (from.type === 'time' && from.timeMs > nowMs) throw new UsageError('--from must not be in the future')
  const isReversed =
    (to?.type === 'time' && from.type === 'time' && to.timeMs < from.timeMs) ||
    (to?.type === 'revision' && from.type === 'revision' && to.revision < from.revision)
  if (isReversed) throw new UsageError('--to must not be before --from')
  const [kind, name] = given
  const resource = kind ? await requireResource(client, kind) : undefined
  const isWide = options['all-namespaces'] || resource?.scope === 'Cluster'
  return readObjectDiffs(client, {
    from,
    to,
    namespace: isWide ? undefined : namespace,
    resource,
    name: name || undefined,
    specOnly,
  })
}

function diffListOf({ from, to, diffs }: ObjectDiffList): object {
  return {
    apiVersion: 'k8ts.io/v1alpha1',
    kind: 'ObjectDiffList',
    metadata: {},
    from,
    to,
    items: diffs.map(itemOf),
  }
}

function itemOf({ type, object, writes, authors, changes }: ObjectDiff): object {
  return { type, object, writes, authors, changes }
}
