/** `k8ts history`: the versions of an object, with who wrote them and what they changed. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import {
  boolFlag,
  describeFlags,
  enumFlag,
  integerFlag,
  parseArgumentsAndFlags,
  stringFlag,
} from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { changesOf, isStatusOnly, type VersionStep } from '#/history/describe-version.ts'
import { formatVersionChanges, formatVersionTable } from '#/history/format-versions.ts'
import { clientFlags, connectClient, type ClientConnection } from './client-connection.ts'
import { formatOutput } from './history/format-output.ts'
import { momentOf, versionSteps } from './history/read-history.ts'
import { findTarget, objectWords } from './object-words.ts'

const flags = {
  ...clientFlags,
  diff: boolFlag('show all changed fields of each version'),
  limit: integerFlag('N', 'maximum number of versions (default 20)'),
  since: stringFlag('TIME', 'only versions since a time or revision: 1h, 14:30, 2026-01-31T08:00:00Z, 1042'),
  spec: boolFlag('leave out versions that change only the status'),
  output: { ...enumFlag(['json', 'yaml'], 'the versions with the whole objects'), shorthand: 'o' },
}

const help = `Usage: k8ts history KIND NAME [--diff] [--limit N] [--since TIME] [--spec] [-o json|yaml]

Lists the versions of an object, newest first: when it was written, by which user or component, with which verb, and
what changed. Objects that were deleted are found by their name. Versions are kept for a day and up to a size, see
--history-max-age and --history-max-size of k8ts up. Only servers of k8ts keep them.

${describeFlags(flags)}
Examples:
  k8ts history deployment web
  k8ts history deployment web --spec --diff
  k8ts history pod web-0 -n shop --since 10m
  k8ts history configmap settings -o json | jq '.items[].origin.user'
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    const given = objectWords(words, 'history')
    await using connection = await connectClient(values, 'k8ts-history')
    const { client, namespace, clock } = connection
    const target = await findTarget(client, { ...given, namespace })
    const steps = await readSteps(connection, target.path, values)
    if (steps.length === 0) {
      terminal.writeError(`no version of ${escapeControlCharacters(target.title)} is kept\n`)
      return 1
    }
    if (values.output !== undefined) {
      terminal.write(await formatOutput(historyOf(steps, values), values.output))
      return 0
    }
    const nowMs = clock.now()
    terminal.write(values.diff ? formatVersionChanges(steps, nowMs) : formatVersionTable(steps, nowMs))
    return 0
  },
}

interface HistoryFlags {
  readonly diff?: boolean
  readonly limit?: number
  readonly since?: string
  readonly spec?: boolean
}

async function readSteps(
  { client, clock }: ClientConnection,
  path: string,
  { limit = 20, since, spec }: HistoryFlags,
): Promise<readonly VersionStep[]> {
  const start = since === undefined ? undefined : momentOf(since, 'since', clock.now())
  const found: VersionStep[] = []
  if (limit === 0) return found
  for await (const step of versionSteps(client, path, limit)) {
    const { revision, time } = step.version
    if (start?.type === 'revision' && revision < start.revision) break
    if (start?.type === 'time' && Date.parse(time) < start.timeMs) break
    if (spec && isStatusOnly(step)) continue
    found.push(step)
    if (found.length === limit) break
  }
  return found
}

function historyOf(steps: readonly VersionStep[], { diff }: HistoryFlags): object {
  const items = steps.map(step => ({ ...step.version, ...(diff && { changes: changesOf(step) }) }))
  return { apiVersion: 'k8ts.io/v1alpha1', kind: 'ObjectHistory', metadata: {}, items }
}
