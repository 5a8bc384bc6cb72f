/**
 * Sends the same requests to two API servers and reports in which answers they differ:
 *
 *     node tools/compare-servers.ts --ours ours.conf --theirs theirs.conf --report differences.jsonl
 *     node tools/compare-servers.ts --ours ours.conf --theirs theirs.conf --request 'v1/pods create rich'
 *
 * Works with any Kubernetes. Most requests are dry runs; others create objects with the label `compare-servers`, most
 * of them in the namespace `compare-servers`, and remove them at the end. Nothing else of the clusters is changed, but
 * `theirs` is meant to be a cluster for tests. Exits with 1 when answers differ in more than free text.
 */
import { createWriteStream } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  createClusterObjects,
  removeClusterObjects,
  removeObjects,
} from './compare-servers/cluster-objects.ts'
import { ServerPair, type Comparison } from './compare-servers/pair.ts'
import { planRequests, type Plan } from './compare-servers/plan.ts'
import { readDocuments } from './compare-servers/read-documents.ts'
import { reportLine, sideBySide } from './compare-servers/report.ts'
import type { PlannedRequest, Sequence } from './compare-servers/request.ts'
import { runSequences } from './compare-servers/run-sequences.ts'
import { ServerConnection } from './compare-servers/server-connection.ts'
import { Summary } from './compare-servers/summary.ts'

const usage = `usage: node tools/compare-servers.ts --ours KUBECONFIG --theirs KUBECONFIG [--only REGEX]
         [--report FILE] [--request ID]

  --ours, --theirs   kubeconfigs of the two servers; the users must be allowed to impersonate
  --only REGEX       only requests whose id matches
  --report FILE      all differences as JSON lines
  --request ID       sends one request, after those that it depends on, and prints both answers
`

const { values } = parseArgs({
  options: {
    ours: { type: 'string' },
    theirs: { type: 'string' },
    only: { type: 'string' },
    report: { type: 'string' },
    request: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  process.stdout.write(usage)
} else if (values.ours === undefined || values.theirs === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  process.exitCode = await compare(values.ours, values.theirs)
}

async function compare(ours: string, theirs: string): Promise<number> {
  await using pair = new ServerPair(await ServerConnection.open(ours), await ServerConnection.open(theirs))
  await Promise.all(pair.both.map(createClusterObjects))
  const documents = await readDocuments(pair)
  const removeAll = (): Promise<unknown> =>
    Promise.all(pair.both.map(server => removeObjects(server, documents.resources)))
  const plan = planRequests(documents)
  try {
    await removeAll()
    return values.request === undefined
      ? await compareAll(pair, plan)
      : await compareOne(pair, plan, values.request)
  } finally {
    await removeAll()
    await Promise.all(pair.both.map(removeClusterObjects))
  }
}

async function compareAll(pair: ServerPair, plan: Plan): Promise<number> {
  const only = new RegExp(values.only ?? '')
  const summary = new Summary()
  const report = values.report === undefined ? undefined : createWriteStream(values.report)
  const total = [plan.fixtures, plan.independent, plan.lifeCycles.flat()].flat().length
  const onResult = (comparison: Comparison): void => {
    if (!only.test(comparison.request.id)) return
    summary.add(comparison)
    const { request, theirs } = comparison
    const isExample = / (?:create|fixture) (?:rich|minimal)$/.test(request.id)
    if (isExample && theirs.status >= 400) process.stderr.write(`refused example: ${request.id}\n`)
    if (comparison.differences.length > 0) report?.write(reportLine(comparison))
    if (summary.sent % 500 === 0)
      process.stderr.write(`${summary.sent} of ${total} requests, ${summary.differing} differ\n`)
  }
  await runSequences(pair, alone(plan.fixtures), onResult)
  await runSequences(pair, alone(plan.independent.filter(({ id }) => only.test(id))), onResult)
  const chosen = plan.lifeCycles.filter(steps => steps.some(({ id }) => only.test(id)))
  await runSequences(pair, chosen, onResult)
  report?.end()
  process.stdout.write(summary.format())
  return summary.differing === 0 ? 0 : 1
}

async function compareOne(pair: ServerPair, plan: Plan, id: string): Promise<number> {
  const isWanted = (request: PlannedRequest): boolean => request.id === id
  const life = plan.lifeCycles.find(steps => steps.some(isWanted))
  const request = [...plan.fixtures, ...plan.independent].find(isWanted)
  if (life === undefined && request === undefined) throw new Error(`there is no request ${id}`)
  let code = 0
  const show = (comparison: Comparison): void => {
    if (!isWanted(comparison.request)) return
    process.stdout.write(sideBySide(comparison))
    code = comparison.differences.length === 0 ? 0 : 1
  }
  await runSequences(pair, alone(plan.fixtures), show)
  if (life !== undefined) await runSequences(pair, [life], show)
  else if (!plan.fixtures.some(isWanted)) await runSequences(pair, [[request!]], show)
  return code
}

function alone(requests: readonly PlannedRequest[]): readonly Sequence[] {
  return requests.map(request => [request])
}
