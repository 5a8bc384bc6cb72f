/** Scheduler configuration files: profiles, weights, extenders, custom plugins, and errors. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../up/process.ts'
import { performScenarios } from './perform-scenarios.ts'

const folder = await mkdtemp(join(tmpdir(), 'k8ts-scheduler-'))
after(() => rm(folder, { recursive: true, force: true }))

async function file(name: string, content: string | object): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** Filters out node-1 for pods that need a license, and prefers node-3. */
async function startExtender(): Promise<string> {
  const answer = (path: string, names: readonly string[]): unknown =>
    path === '/licences/filter'
      ? {
          NodeNames: names.filter(name => name !== 'node-1'),
          FailedNodes: { ...(names.includes('node-1') && { 'node-1': 'no licence for node-1' }) },
        }
      : names.map(name => ({ Host: name, Score: name === 'node-3' ? 10 : 0 }))
  const server = createServer((request, response) => {
    void bodyOf(request).then(({ NodeNames }) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer(request.url ?? '', NodeNames)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/licences`
}

async function bodyOf(request: IncomingMessage): Promise<{ readonly NodeNames: readonly string[] }> {
  return JSON.parse(Buffer.concat(await request.toArray()).toString()) as { NodeNames: readonly string[] }
}

const configurationHead = {
  apiVersion: 'kubescheduler.config.k8s.io/v1',
  kind: 'KubeSchedulerConfiguration',
}

const packing = { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }

const ownPlugin = `
const unschedulable: { reason: string } = { reason: 'another ending' }

export default () => ({
  name: 'SameEnding',
  preFilter: ({ pod }) => ({
    filter: ({ name }) => (name.at(-1) === pod.metadata.name.at(-1) ? undefined : unschedulable),
  }),
})
`

const configuration = {
  ...configurationHead,
  profiles: [
    { schedulerName: 'default-scheduler' },
    { schedulerName: 'packing-scheduler', pluginConfig: [packing] },
    {
      schedulerName: 'heavy-packing-scheduler',
      plugins: {
        score: {
          disabled: [{ name: 'NodeResourcesFit' }],
          enabled: [{ name: 'NodeResourcesFit', weight: 50 }],
        },
      },
      pluginConfig: [packing],
    },
    {
      schedulerName: 'own-scheduler',
      plugins: { filter: { enabled: [{ name: 'SameEnding' }] } },
      pluginConfig: [{ name: 'SameEnding', import: './same-ending.ts' }],
    },
  ],
  extenders: [
    {
      urlPrefix: await startExtender(),
      filterVerb: 'filter',
      prioritizeVerb: 'prioritize',
      weight: 10,
      nodeCacheCapable: true,
      managedResources: [{ name: 'example.com/licence', ignoredByScheduler: true }],
    },
  ],
}

const policy = {
  apiVersion: 'v1',
  kind: 'Policy',
  predicates: [
    { name: 'GeneralPredicates' },
    { name: 'HasShelf', argument: { labelsPresence: { labels: ['shelf'], presence: true } } },
  ],
  priorities: [{ name: 'MostRequestedPriority', weight: 1 }],
}

await file('same-ending.ts', ownPlugin)
performScenarios('scheduler-configuration', {
  simulatedNodes: 5,
  flags: ['--scheduler-config', await file('configuration.json', configuration)],
})
performScenarios('scheduler-policy', {
  simulatedNodes: 5,
  flags: ['--policy-config-file', await file('policy.json', policy)],
})

test('an invalid scheduler configuration is reported in one line with exit code 2', async () => {
  const check = async (flag: string, content: string | object | undefined, complaint: RegExp) => {
    const path = content === undefined ? join(folder, 'missing') : await file('wrong.yaml', content)
    const data = join(folder, 'data')
    const flags = ['--no-node', '--port', '0', '--store', 'memory', '--data-dir', data, flag, path]
    const { status, stderr } = run(...flags)
    assert.equal(status, 2, stderr)
    const [first = '', ...rest] = stderr.split('\n')
    assert.deepEqual(rest, ['See k8ts up --help', ''], stderr)
    assert.ok(first.startsWith(`k8ts up: ${flag} ${path}: `), first)
    assert.match(first, complaint)
    return existsSync(data)
  }
  const wrong = (fields: object) => ({ ...configurationHead, ...fields })
  const unknown = wrong({ profils: [] })
  assert.equal(await check('--scheduler-config', unknown, /unknown field "profils"$/), false)
  assert.equal(await check('--scheduler-config', undefined, /: there is no such file$/), false)
  const predicates = [{ name: 'Odd' }]
  const oddPolicy = { ...policy, predicates }
  assert.equal(await check('--policy-config-file', oddPolicy, /predicates\[0\]: "Odd" is unknown/), false)
  // Plugins validate their own arguments.
  const wild = { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'Wild' } } }
  const judged = wrong({ profiles: [{ pluginConfig: [wild] }] })
  await check(
    '--scheduler-config',
    judged,
    /NodeResourcesFit.*scoringStrategy\.type: Unsupported value: "Wild"/,
  )
})
