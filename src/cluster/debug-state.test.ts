/** A real API server, controllers and scheduler, in virtual time. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { ApiServer } from '#/apiserver/api-server.ts'
import { startTestServer } from '#/apiserver/test-server.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { administrator, userOf } from '#/kubeadm/identities.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ControlPlane } from './control-plane.ts'
import { debugState } from './debug-state.ts'

const user = userOf(administrator)

interface Row {
  readonly [field: string]: unknown
}

interface World {
  readonly simulation: Simulation
  readonly client: Client
  readonly apiServer: ApiServer
  readonly controlPlane: ControlPlane
  /** The answer as a client gets it. */
  readonly read: (path: string) => Record<string, Row[]>
}

async function start(t: TestContext): Promise<World> {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('control-plane')
  const cleanup: (() => unknown)[] = []
  const later = { after: (work: () => unknown) => void cleanup.push(work) }
  const { server: apiServer } = await simulation.run(startTestServer(later as TestContext, platform, {}))
  const controlPlane = new ControlPlane({ platform, server: apiServer, controllers: controllersOf() })
  controlPlane.start()
  t.after(async () => {
    await simulation.run(controlPlane.stop())
    for (const work of cleanup) await simulation.run(Promise.resolve(work()))
  })
  const client = controlPlane.clientAs(user.username, user.groups)
  const read: World['read'] = path => {
    const state = debugState(path, { apiServer, controlPlane })
    return JSON.parse(JSON.stringify(state)) as Record<string, Row[]>
  }
  return { simulation, client, apiServer, controlPlane, read }
}

async function createPods({ simulation, client }: World): Promise<void> {
  const container = { name: 'main', image: 'main' }
  const node = {
    metadata: { name: 'n1' },
    status: {
      allocatable: { cpu: '2', memory: '1Gi', pods: '9' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
  await simulation.run(client.create(nodes, node))
  for (const [name, cpu] of [
    ['fits', '1'],
    ['big', '8'],
  ] as const) {
    const spec = { containers: [{ ...container, resources: { requests: { cpu } } }] }
    await simulation.run(client.create(pods, { metadata: { name, namespace: 'default' }, spec }))
  }
  await simulation.advance(2_000)
}

test('/debug/components shows queues with their totals, and informers that are current', async t => {
  const world = await start(t)
  await createPods(world)
  const { workQueues = [], informers = [], schedulingQueue } = world.read('/debug/components')
  const queue = workQueues.find(({ name }) => name === 'serviceaccount-controller')
  assert.ok(queue && Number(queue['done']) > 0, 'it has created the default service accounts')
  assert.equal(queue['done'], queue['adds'])
  assert.deepEqual(schedulingQueue, { active: 0, backoff: 0, unschedulable: 1, gated: 0, inFlight: 0 })
  const ofPods = informers.filter(({ resource, apiVersion }) => resource === 'pods' && apiVersion === 'v1')
  assert.deepEqual(
    ofPods.map(({ component, objects }) => [component, objects]),
    [
      ['kube-controller-manager', 2],
      ['kube-scheduler', 2],
    ],
  )
  for (const { resourceVersion, lastChange } of ofPods) assert.equal(Number(resourceVersion), lastChange)
})

test('/debug/scheduling lists decisions, the latest first, and has the nodes of each by pod', async t => {
  const world = await start(t)
  await createPods(world)
  const { decisions = [] } = world.read('/debug/scheduling')
  assert.deepEqual(
    decisions.map(({ pod, node, feasibleNodes }) => [pod, node, feasibleNodes]),
    [
      ['default/big', undefined, 0],
      ['default/fits', 'n1', 1],
    ],
  )
  const { rejected } = world.read('/debug/scheduling/default/big')
  assert.deepEqual(rejected, [{ node: 'n1', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] }])
  assert.equal(debugState('/debug/scheduling/default/absent', world), undefined)
})

test('/debug/watches lists a watch with its client and selectors until it ends', async t => {
  const world = await start(t)
  const { simulation, apiServer, controlPlane, read } = world
  const client = controlPlane.clientAs('ann', ['system:masters'])
  const ofAnn = (): Row[] =>
    (read('/debug/watches')['watches'] ?? []).filter(({ user: name }) => name === 'ann')
  assert.deepEqual(ofAnn(), [])
  const ended = new AbortController()
  const watch = client.watch(pods, { namespace: 'shop', labelSelector: 'app=web', signal: ended.signal })
  const first = watch[Symbol.asyncIterator]().next()
  first.catch(() => undefined)
  await simulation.advance(100)
  const [row = assert.fail('no watch'), ...others] = ofAnn()
  assert.deepEqual(others, [])
  const { user: name, apiVersion, resource, namespace, labelSelector, fieldSelector, backlog } = row
  assert.deepEqual(
    { name, apiVersion, resource, namespace, labelSelector, fieldSelector, backlog },
    {
      name: 'ann',
      apiVersion: 'v1',
      resource: 'pods',
      namespace: 'shop',
      labelSelector: 'app=web',
      fieldSelector: '',
      backlog: 0,
    },
  )
  ended.abort()
  await simulation.advance(100)
  assert.deepEqual(ofAnn(), [])
  assert.equal(debugState('/debug/watches', { apiServer: undefined, controlPlane }), undefined)
  assert.equal(debugState('/debug/components', { apiServer, controlPlane: undefined }), undefined)
})
