import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { readSchedulerConfiguration } from './configuration.ts'
import { Extenders, type ExtenderSettings } from './extenders.ts'
import { podInfoOf } from './pod-info.ts'
import { emptySnapshot } from './snapshot.ts'
import { nodeOf, podOf, startTestCluster, stored, type TestCluster } from './test-cluster.ts'
import { testExtender, type TestExtender } from './test-extender.ts'

type Answer = Parameters<typeof testExtender>[0]

/** A cluster with one extender. */
async function startWith(
  t: TestContext,
  extender: string,
  answer: Answer,
): Promise<TestCluster & Pick<TestExtender, 'asked'>> {
  const program = testExtender(answer)
  const text = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://outside/v1", ${extender}}`
  const { profiles } = await readSchedulerConfiguration(text, {
    platform: new Simulation({ seed: 1 }).host('a'),
    connectHttp: program.connectHttp,
    folder: '/',
    importModule: async () => ({}),
  })
  return { ...(await startTestCluster(t, { profiles })), asked: program.asked }
}

interface NodesBody {
  readonly Pod: { readonly metadata: { readonly name: string } }
  readonly Nodes: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } | null
  readonly NodeNames: readonly string[] | null
}

/** The node names in a request, sent as names or as objects. */
function namesIn(body: Readonly<Record<string, unknown>>): readonly string[] {
  const { Nodes, NodeNames } = body as unknown as NodesBody
  return NodeNames ?? Nodes?.items.map(({ metadata }) => metadata.name) ?? []
}

const three = [nodeOf('a'), nodeOf('b'), nodeOf('c')]

for (const [form, extender] of [
  ['objects', 'filterVerb: filter'],
  ['names', 'filterVerb: filter, nodeCacheCapable: true'],
] as const) {
  test(`an extender filters nodes, sent as ${form}`, async t => {
    const cluster = await startWith(t, extender, (_path, body) => {
      const names = namesIn(body).filter(name => name === 'b')
      const items = names.map(name => ({ metadata: { name } }))
      return form === 'names' ? { NodeNames: names } : { Nodes: { items } }
    })
    await cluster.addNodes(...three)
    await cluster.addPods(podOf('p'))
    assert.deepEqual(await cluster.places(), { p: 'b' })
    const [{ path, body } = assert.fail()] = cluster.asked
    assert.equal(path, '/v1/filter')
    assert.equal((body as unknown as NodesBody).Pod.metadata.name, 'p')
    assert.deepEqual([...namesIn(body)].toSorted(), ['a', 'b', 'c'])
    assert.deepEqual(
      [body['Nodes'] === null, body['NodeNames'] === null],
      form === 'names' ? [true, false] : [false, true],
    )
  })
}

test('lower-case fields of an extender response are read, and its reasons are in the message', async t => {
  const cluster = await startWith(t, 'filterVerb: filter, nodeCacheCapable: true', () => ({
    nodeNames: [],
    failedNodes: { a: 'no license', b: 'no license' },
    failedAndUnresolvableNodes: { b: 'too far away' },
  }))
  await cluster.addNodes(...three)
  await cluster.addPods(podOf('p'))
  const { status } = await cluster.getPod('p')
  const [told, preemption] = status?.conditions?.[0]?.message?.split(/ no new claims .*?preemption: /) ?? []
  assert.equal(
    told,
    '0/3 nodes are available: 1 no license, 1 node(s) were filtered out by an extender, 1 too far away.',
  )
  assert.equal(
    preemption,
    '0/3 nodes are available: 1 No preemption victims found for incoming pod, ' +
      '2 Preemption is not helpful for scheduling.',
  )
})

test('scores of extenders are scaled, weighted and added', async t => {
  const cluster = await startWith(t, 'prioritizeVerb: rank, weight: 5, nodeCacheCapable: true', () => [
    { Host: 'c', Score: 10 },
    { host: 'a', score: 1 },
    { Host: 'elsewhere', Score: 1_000 },
  ])
  await cluster.addNodes(...three)
  await cluster.addPods(podOf('p'), podOf('q'))
  assert.deepEqual(await cluster.places(), { p: 'c', q: 'c' })
  const { scored = [] } = cluster.scheduler.decisionOn('default/p') ?? {}
  const given = Object.fromEntries(scored.map(({ node, scores }) => [node, scores['http://outside/v1']]))
  assert.deepEqual(given, { a: 50, b: 0, c: 500 })
})

test('an extender binds pods, and its error is reported', async t => {
  let tries = 0
  const cluster = await startWith(t, 'bindVerb: bind', () => (tries++ === 0 ? { Error: 'not today' } : {}))
  await cluster.addNodes(nodeOf('a'))
  await cluster.addPods(podOf('p'))
  const { status, metadata, spec } = await cluster.getPod('p')
  assert.equal(spec?.nodeName, undefined)
  const [condition] = status?.conditions ?? []
  assert.deepEqual([condition?.reason, condition?.message], ['SchedulerError', 'not today'])
  assert.deepEqual(cluster.asked[0], {
    path: '/v1/bind',
    body: { PodName: 'p', PodNamespace: 'default', PodUID: metadata.uid, Node: 'a' },
  })
  await cluster.advance(2_000)
  // The extender reports that it has bound the pod, so the default binder does not run.
  assert.equal(tries, 2)
  assert.deepEqual(await cluster.places(), { p: '' })
})

const failures: readonly [string, unknown, string][] = [
  ['cannot be reached', undefined, 'connection refused'],
  ['responds with an error', 500, 'failed filter with extender at URL http://outside/v1/filter, code 500'],
  ['reports a failure', { Error: 'out of order' }, 'out of order'],
  [
    'returns a node that was not in the request',
    { NodeNames: ['x'] },
    'extender "http://outside/v1" claims a filtered node "x" which is not found in the input node list',
  ],
]

for (const [what, answer, message] of failures) {
  test(`an extender that ${what} fails the scheduling of the pod, unless it is ignorable`, async t => {
    const strict = await startWith(t, 'filterVerb: filter, nodeCacheCapable: true', () => answer)
    const lenient = await startWith(
      t,
      'filterVerb: filter, nodeCacheCapable: true, ignorable: true',
      () => answer,
    )
    for (const cluster of [strict, lenient]) {
      await cluster.addNodes(nodeOf('a'))
      await cluster.addPods(podOf('p'))
    }
    assert.deepEqual(await lenient.places(), { p: 'a' })
    assert.deepEqual(await strict.places(), { p: '' })
    const [condition] = (await strict.getPod('p')).status?.conditions ?? []
    assert.deepEqual([condition?.reason, condition?.message], ['SchedulerError', message])
    // The pod is retried with backoff.
    await strict.advance(20_000)
    assert.ok(strict.asked.length >= 4 && strict.asked.length <= 6, `${strict.asked.length} tries`)
  })
}

test('an extender with managedResources is called only for pods that request one of them', async t => {
  const cluster = await startWith(
    t,
    'filterVerb: filter, nodeCacheCapable: true, ' +
      'managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]',
    (_path, body) => ({ NodeNames: namesIn(body) }),
  )
  await cluster.addNodes(nodeOf('n'))
  await cluster.addPods(
    podOf('plain'),
    podOf('a', { others: { 'example.com/a': '2' } }),
    podOf('b', { others: { 'example.com/b': '2' } }),
  )
  assert.deepEqual(await cluster.places(), { plain: 'n', a: 'n', b: '' })
  assert.deepEqual(
    cluster.asked.map(({ body }) => (body as unknown as NodesBody).Pod.metadata.name),
    ['a'],
  )
})

const settings: ExtenderSettings = {
  urlPrefix: 'http://outside',
  preemptVerb: 'preempt',
  weight: 1,
  timeoutMs: 1_000,
  isNodeCacheCapable: true,
  managedResources: new Set(),
  isIgnorable: false,
}

/** `n1: a b!1` are the victims a and b on n1, with one PodDisruptionBudget violation. */
function review(answer: object, changes: Partial<ExtenderSettings> = {}): Promise<unknown> {
  const program = testExtender(() => answer)
  const platform = new Simulation({ seed: 1 }).host('a')
  const extenders = new Extenders({ platform, ...program, extenders: [{ ...settings, ...changes }] })
  const known = new Map(['a', 'b', 'c'].map(uid => [uid, podInfoOf(stored(podOf(uid, { uid })))]))
  const snapshot = {
    get: (name: string) => (name === 'n1' ? { pods: [...known.values()] } : undefined),
  }
  const extension = extenders.hooks({ snapshot: () => snapshot as never })
  const evictions = [
    { node: 'n1', victims: [known.get('a')!], pdbViolations: 0 },
    { node: 'n2', victims: [known.get('b')!], pdbViolations: 1 },
  ]
  return Promise.resolve(extension?.processPreemption?.(podInfoOf(stored(podOf('p'))), evictions)).then(
    left =>
      left?.map(
        ({ node, victims, pdbViolations }) =>
          `${node}: ${victims.map(({ uid }) => uid).join(' ')}!${pdbViolations}`,
      ),
    (error: unknown) => String(error),
  )
}

test('an extender removes preemption candidates or changes their victims', async () => {
  const answer = (byNode: object): object => ({ NodeNameToMetaVictims: byNode })
  assert.deepEqual(await review(answer({})), [])
  assert.deepEqual(
    await review(answer({ n1: { Pods: [{ UID: 'a' }, { uid: 'c' }], NumPDBViolations: 2 } })),
    ['n1: a c!2'],
  )
  assert.equal(
    await review(answer({ n1: { Pods: [] } })),
    'Error: expected at least one victim pod on node "n1"',
  )
  assert.deepEqual(await review(answer({ n1: { Pods: [] } }), { isIgnorable: true }), [])
  assert.equal(
    await review(answer({ n1: { Pods: [{ UID: 'z' }] } })),
    'Error: extender: http://outside claims to preempt pod (UID: z) on node: n1, but the pod is not found on that node',
  )
  const { preemptVerb: _none, ...rest } = settings
  assert.deepEqual(await review({}, { ...rest, preemptVerb: '' }), ['n1: a!0', 'n2: b!1'])
})

test('an extender call fails after its timeout', async () => {
  const simulation = new Simulation({ seed: 1 })
  const silent = testExtender(() => new Promise(() => undefined))
  const slow = { ...settings, filterVerb: 'filter', timeoutMs: 2_000 }
  const extenders = new Extenders({ platform: simulation.host('a'), ...silent, extenders: [slow] })
  const extension = extenders.hooks({ snapshot: () => emptySnapshot })!
  const filtered = { feasible: [{ name: 'a' }], nodeToStatus: new Map() }
  await assert.rejects(
    simulation.run(Promise.resolve(extension.filter(podInfoOf(stored(podOf('p'))), filtered as never))),
    /^Error: failed filter with extender at URL http:\/\/outside\/filter: timed out after 2000 ms$/,
  )
  assert.ok(simulation.nowMs >= 2_000 && simulation.nowMs < 3_000)
})
