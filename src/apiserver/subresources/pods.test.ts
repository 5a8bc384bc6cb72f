import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { part, startTestServer, type TestServer } from '../test-server.ts'

const pods = '/api/v1/namespaces/default/pods'
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'

const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
}

const eviction = { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'web' } }

test('a pod can be bound only once', async t => {
  const { request } = await serverWithPod(t)
  const bind = (node: string): ReturnType<typeof request> =>
    request('POST', `${pods}/web/binding`, {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name: 'web' },
      target: { kind: 'Node', name: node },
    })
  assert.equal((await bind('n1')).code, 201)
  const pod = (await request('GET', `${pods}/web`)).body
  assert.equal(String(pod['spec']!['nodeName']), 'n1')
  assert.equal(Number(pod.metadata['generation']), 1, 'nobody wants anything else of it')
  assert.match(JSON.stringify(part(pod, 'status')['conditions']), /"type":"PodScheduled","status":"True"/u)
  const again = await bind('n2')
  assert.deepEqual([again.code, again.body.reason], [409, 'Conflict'])
  assert.match(again.body.message ?? '', /already assigned to node "n1"/u)
})

test('an invalid Binding is refused', async t => {
  const { request } = await serverWithPod(t)
  const check = async (binding: object, expected: readonly [number, string]): Promise<void> => {
    const body = { kind: 'Binding', apiVersion: 'v1', metadata: { name: 'web' }, ...binding }
    const answer = await request('POST', `${pods}/web/binding`, body)
    assert.deepEqual([answer.code, answer.body.message], expected)
  }
  const unsupported = 'target.kind: Unsupported value: "Other": supported values: "Node", "<empty>"'
  await check({ target: { kind: 'Other', name: 'n1' } }, [500, unsupported])
  await check({ target: {} }, [500, 'target.name: Required value'])
  const other = { metadata: { name: 'b' }, target: { name: 'n1' } }
  await check(other, [400, 'name in URL does not match name in Binding object'])
})

test('an Eviction is accepted in both versions and must name the pod', async t => {
  const { request } = await serverWithPod(t)
  const evict = (apiVersion: string, name?: string): ReturnType<typeof request> =>
    request('POST', `${pods}/web/eviction?dryRun=All`, { kind: 'Eviction', apiVersion, metadata: { name } })
  assert.equal((await evict('policy/v1', 'web')).code, 201)
  assert.equal((await evict('policy/v1beta1', 'web')).code, 201)
  assert.equal((await evict('policy/v2', 'web')).code, 400)
  assert.equal((await evict('policy/v1')).body.message, 'name in URL does not match name in Eviction object')
})

test('a bound pod is deleted after its grace period', async t => {
  const { request } = await serverWithPod(t)
  await bindTo(request, 'n1')
  const marked = await request('DELETE', `${pods}/web`)
  assert.deepEqual([marked.code, Number(marked.body.metadata['deletionGracePeriodSeconds'])], [200, 30])
  assert.ok(marked.body.metadata['deletionTimestamp'])
  assert.equal(
    (await request('DELETE', `${pods}/web?gracePeriodSeconds=5`)).body.metadata['deletionGracePeriodSeconds'],
    5,
  )
  assert.equal((await request('GET', `${pods}/web`)).code, 200)
  await request('DELETE', `${pods}/web?gracePeriodSeconds=0`)
  assert.equal((await request('GET', `${pods}/web`)).code, 404)
})

test('an eviction is rejected without allowed disruptions, and decrements them otherwise', async t => {
  const { request } = await serverWithPod(t)
  await bindTo(request, 'n1')
  await request('PATCH', `${pods}/web/status`, { status: { phase: 'Running', conditions: [ready] } }, merge)
  const status = await addBudget(request)
  await status(0)
  const evict = () => request('POST', `${pods}/web/eviction`, eviction)
  const refused = await evict()
  assert.deepEqual([refused.code, refused.body.reason], [429, 'TooManyRequests'])
  assert.equal(refused.body.details?.causes?.[0]?.reason, 'DisruptionBudget')
  await status(1)
  assert.equal((await evict()).code, 201)
  const charged = part((await request('GET', `${budgets}/b`)).body, 'status')
  assert.equal(Number(charged['disruptionsAllowed']), 0)
  assert.deepEqual(Object.keys(charged['disruptedPods'] ?? {}), ['web'])
  assert.ok((await request('GET', `${pods}/web`)).body.metadata['deletionTimestamp'])
})

test('an evicted pod gets the DisruptionTarget condition, except for dry run and changed pods', async t => {
  const { request } = await serverWithPod(t)
  await bindTo(request, 'n1')
  await request('PATCH', `${pods}/web/status`, { status: { phase: 'Running', conditions: [ready] } }, merge)
  const evict = (deleteOptions: object) =>
    request('POST', `${pods}/web/eviction`, { ...eviction, deleteOptions })
  const target = async () => {
    const { body } = await request('GET', `${pods}/web`)
    const text = JSON.stringify(part(body, 'status')['conditions'])
    return [
      /"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"/u.test(text),
      body.metadata,
    ] as const
  }
  assert.equal((await evict({ dryRun: ['All'] })).code, 201)
  assert.equal((await evict({ preconditions: { uid: 'other' } })).code, 409)
  assert.equal((await evict({ preconditions: { resourceVersion: '1' } })).code, 409)
  const [saidEarly, { resourceVersion }] = await target()
  assert.equal(saidEarly, false)
  const evicted = await evict({ preconditions: { resourceVersion } })
  assert.equal(evicted.code, 201, evicted.text)
  const [said, metadata] = await target()
  assert.ok(said && metadata['deletionTimestamp'])
})

test('a pod that becomes ready during eviction is checked against its budget', async t => {
  const { request } = await serverWithPod(t)
  await bindTo(request, 'n1')
  const setStatus = await addBudget(request)
  await setStatus(0)
  const outcomes = new Set<string>()
  for (let delay = 0; delay < 60; delay++) {
    await request('DELETE', `${pods}/web?gracePeriodSeconds=0`)
    await request('POST', pods, { ...pod, spec: { ...pod.spec, nodeName: 'n1' } })
    await request('PATCH', `${pods}/web/status`, { status: { phase: 'Running' } }, merge)
    const evicting = request('POST', `${pods}/web/eviction`, eviction)
    for (let left = delay; left > 0; left--) await Promise.resolve()
    const changed = await request('PATCH', `${pods}/web/status`, { status: { conditions: [ready] } }, merge)
    const isFirst = changed.body.metadata['deletionTimestamp'] === undefined
    const { code } = await evicting
    assert.equal(code, isFirst ? 429 : 201, `after ${delay} steps`)
    outcomes.add(String(isFirst))
  }
  assert.equal(outcomes.size, 2, 'both come first at times')
})

test('ephemeral containers can be added only through their subresource', async t => {
  const { request } = await serverWithPod(t)
  const debug = { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } }
  assert.equal((await request('PATCH', `${pods}/web`, debug, strategic)).code, 422)
  const added = await request('PATCH', `${pods}/web/ephemeralcontainers`, debug, strategic)
  assert.equal(added.code, 200, added.text)
  assert.match(JSON.stringify(added.body['spec']!['ephemeralContainers']), /"name":"debug"/u)
})

test('a namespace is deleted after its finalizers are removed', async t => {
  const { request } = await startTestServer(t)
  await request('POST', '/api/v1/namespaces', {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'n' },
  })
  const marked = await request('DELETE', '/api/v1/namespaces/n')
  assert.equal(String(part(marked.body, 'status')['phase']), 'Terminating', marked.text)
  const ended = await request('PUT', '/api/v1/namespaces/n/finalize', { ...marked.body, spec: {} })
  assert.equal(ended.code, 200, ended.text)
  assert.equal((await request('GET', '/api/v1/namespaces/n')).code, 404)
})

const ready = { type: 'Ready', status: 'True' }
const merge = { 'content-type': 'application/merge-patch+json' }
const strategic = { 'content-type': 'application/strategic-merge-patch+json' }

async function bindTo(request: TestServer['request'], node: string): Promise<void> {
  await request('POST', `${pods}/web/binding`, {
    kind: 'Binding',
    apiVersion: 'v1',
    metadata: { name: 'web' },
    target: { name: node },
  })
}

/** Creates a budget for the pod; returns a function that sets disruptionsAllowed. */
async function addBudget(request: TestServer['request']): Promise<(allowed: number) => Promise<unknown>> {
  await request('POST', budgets, {
    kind: 'PodDisruptionBudget',
    apiVersion: 'policy/v1',
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  })
  const healthy = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1 }
  return disruptionsAllowed =>
    request('PATCH', `${budgets}/b/status`, { status: { ...healthy, disruptionsAllowed } }, merge)
}

async function serverWithPod(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t)
  const created = await server.request('POST', pods, pod)
  assert.equal(created.code, 201, created.text)
  return server
}
