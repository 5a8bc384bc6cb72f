import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { isApiError } from '#/api/errors.ts'
import { maxInFlight } from './flow-control/max-in-flight.ts'
import { LimitedServer, type Answer } from './flow-control/test-limited-server.ts'
import { requestInfo } from './request-info.ts'
import type { RequestContext, UserInfo } from './request.ts'

const userOf = (username: string, ...groups: string[]): UserInfo => {
  return { username, groups: [...groups, 'system:authenticated'] }
}
const eve = userOf('eve')
const adam = userOf('adam')

test('requests match the suggested priority levels of Kubernetes', async () => {
  const server = await LimitedServer.start({ seats: 600, serviceMs: 1 })
  const check = async (user: UserInfo, line: string, schema: string, level: string): Promise<void> => {
    const { code, headers } = await server.simulation.run(server.send(user, line))
    assert.equal(code, 200)
    assert.deepEqual(
      headers,
      {
        'x-kubernetes-pf-flowschema-uid': `uid-of-${schema}`,
        'x-kubernetes-pf-prioritylevel-uid': `uid-of-${level}`,
      },
      line,
    )
  }
  const node = userOf('system:node:a', 'system:nodes')
  const controllers = userOf('system:kube-controller-manager')
  const account = (namespace: string) =>
    userOf(
      `system:serviceaccount:${namespace}:a`,
      'system:serviceaccounts',
      `system:serviceaccounts:${namespace}`,
    )
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a'
  await check(userOf('admin', 'system:masters'), 'GET /api/v1/pods', 'exempt', 'exempt')
  await check(
    { username: 'system:anonymous', groups: ['system:unauthenticated'] },
    'GET /healthz/etcd',
    'probes',
    'exempt',
  )
  await check(controllers, `PUT ${lease}`, 'system-leader-election', 'leader-election')
  await check(
    controllers,
    'GET /api/v1/namespaces/default/endpoints/a',
    'endpoint-controller',
    'workload-high',
  )
  await check(controllers, 'GET /api/v1/nodes', 'kube-controller-manager', 'workload-high')
  await check(node, 'PATCH /api/v1/nodes/a/status', 'system-node-high', 'node-high')
  await check(node, 'GET /api/v1/namespaces/default/secrets/a', 'system-nodes', 'system')
  await check(account('kube-system'), 'GET /api/v1/nodes', 'kube-system-service-accounts', 'workload-high')
  await check(account('default'), 'GET /api/v1/nodes', 'service-accounts', 'workload-low')
  await check(eve, 'GET /api/v1/nodes', 'global-default', 'global-default')
  server.stop()
})

test('a flood of one user neither delays others nor exceeds its priority level', async () => {
  const server = await LimitedServer.start({ seats: 60, serviceMs: 100 })
  const { simulation } = server
  const seats = server.flowControl.levels.find(level => level.name === 'global-default')!.limit
  const flood: Promise<Answer>[] = []
  const steady: Promise<Answer>[] = []
  for (let tenth = 0; tenth < 300; tenth++) {
    // Ten times the capacity of the level.
    for (let index = 0; index < seats; index++) flood.push(server.send(eve, 'GET /api/v1/nodes/a'))
    if (tenth % 5 === 4) steady.push(server.send(adam, 'GET /api/v1/nodes/a'))
    await simulation.advance(10)
  }
  const answers = await simulation.run(Promise.all(steady))
  assert.deepEqual([...new Set(answers.map(each => each.code))], [200])
  // All seats are released every 100 ms at the same time, and the request itself takes another 100 ms.
  const slowest = Math.max(...answers.map(each => each.tookMs))
  const average = answers.reduce((sum, each) => sum + each.tookMs, 0) / answers.length
  assert.ok(
    slowest <= 300 && average <= 160,
    `requests of somebody else took ${slowest} ms, ${average} ms on average`,
  )
  const outcomes = await simulation.run(Promise.all(flood))
  const refused = outcomes.filter(each => each.code === 429).length
  const served = outcomes.filter(each => each.code === 200)
  assert.equal(refused + served.length, outcomes.length)
  assert.ok(refused > outcomes.length / 2)
  assert.ok(Math.max(...served.map(each => each.tookMs)) > 1_000, 'the flood waits in its own queues')
  assert.ok(server.runningMax <= 60)
  assert.equal(server.running, 0)
  server.stop()
})

test('two flows share a priority level evenly', async () => {
  const server = await LimitedServer.start({ seats: 60, serviceMs: 100 })
  const { simulation } = server
  const counts = new Map([
    [eve, 0],
    [adam, 0],
  ])
  const endMs = simulation.nowMs + 5_000
  const ask = async (user: UserInfo): Promise<void> => {
    while (simulation.nowMs < endMs) {
      // Requests of one user take four times as long.
      const { code } = await server.send(user, `GET /api/v1/nodes/a?ms=${user === eve ? 200 : 50}`)
      if (code !== 200) await simulation.clock.sleep(10)
      else if (simulation.nowMs <= endMs) counts.set(user, counts.get(user)! + (user === eve ? 200 : 50))
    }
  }
  const all = [eve, adam].flatMap(user => Array.from({ length: user === eve ? 60 : 20 }, () => ask(user)))
  await simulation.run(Promise.all(all))
  const ratio = counts.get(eve)! / counts.get(adam)!
  assert.ok(ratio > 0.6 && ratio < 1.7, `one got ${ratio} times as much as the other`)
  server.stop()
})

test('an idle priority level lends its seats and gets them back', async () => {
  const server = await LimitedServer.start({ seats: 100, serviceMs: 100 })
  const { simulation } = server
  const limit = (name: string): number => server.flowControl.levels.find(level => level.name === name)!.limit
  const before = limit('global-default')
  const flood = async (user: UserInfo, forMs: number): Promise<void> => {
    const untilMs = simulation.nowMs + forMs
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        while (simulation.nowMs < untilMs) {
          if ((await server.send(user, 'GET /api/v1/nodes/a')).code !== 200) await simulation.clock.sleep(50)
        }
      }),
    )
  }
  await simulation.run(flood(eve, 25_000))
  assert.ok(limit('global-default') > 3 * before, `${before} -> ${limit('global-default')}`)
  const account = userOf('system:serviceaccount:default:a', 'system:serviceaccounts')
  await simulation.run(Promise.all([flood(eve, 45_000), flood(account, 45_000)]))
  const { nominal } = server.flowControl.levels.find(level => level.name === 'workload-low')!
  assert.ok(limit('workload-low') >= nominal)
  assert.ok(server.runningMax <= 100 + 10)
  server.stop()
})

test('exempt requests are never queued', async () => {
  const server = await LimitedServer.start({ seats: 10, serviceMs: 100 })
  const admin = userOf('admin', 'system:masters')
  const answers = await many(server, 500, admin, 'GET /api/v1/pods')
  assert.ok(answers.every(({ code, tookMs }) => code === 200 && tookMs === 100))
  server.stop()
})

function many(
  server: LimitedServer,
  length: number,
  user: UserInfo,
  line: string,
): Promise<readonly Answer[]> {
  return server.simulation.run(Promise.all(Array.from({ length }, () => server.send(user, line))))
}

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1'

/** A separate priority level for one user. */
function ownLevel(limited: object): readonly (KubernetesObject & { readonly spec: object })[] {
  return [
    {
      kind: 'PriorityLevelConfiguration',
      apiVersion,
      metadata: { name: 'own' },
      spec: { type: 'Limited', limited },
    },
    {
      kind: 'FlowSchema',
      apiVersion,
      metadata: { name: 'own' },
      spec: {
        matchingPrecedence: 500,
        priorityLevelConfiguration: { name: 'own' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'own' } }],
            resourceRules: [
              { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
            ],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
          },
        ],
      },
    },
  ]
}

const own = userOf('own')
const queuing = (queueLengthLimit: number) => ({
  type: 'Queue',
  queuing: { queues: 1, handSize: 1, queueLengthLimit },
})

test('a priority level without queues rejects excess requests immediately', async () => {
  const server = await LimitedServer.start(
    { seats: 27, serviceMs: 100 },
    ownLevel({
      nominalConcurrencyShares: 27,
      limitResponse: { type: 'Reject' },
    }),
  )
  const { limit } = server.flowControl.levels.find(level => level.name === 'own')!
  const answers = await many(server, limit + 5, own, 'GET /version')
  assert.equal(answers.filter(each => each.code === 200).length, limit)
  for (const { code, headers, tookMs } of answers.slice(limit)) {
    assert.deepEqual([code, tookMs, headers?.['retry-after']], [429, 0, '1'])
    assert.equal(headers?.['x-kubernetes-pf-flowschema-uid'], 'uid-of-own')
  }
  server.stop()
})

test('queue length and waiting time are bounded', async () => {
  const server = await LimitedServer.start(
    { seats: 27, serviceMs: 20_000 },
    ownLevel({
      nominalConcurrencyShares: 1,
      limitResponse: queuing(3),
    }),
  )
  const { limit } = server.flowControl.levels.find(level => level.name === 'own')!
  assert.equal(limit, 1)
  const answers = await many(server, 6, own, 'GET /version')
  assert.deepEqual(
    answers.map(({ code, tookMs }) => `${code} after ${tookMs}`),
    [
      '200 after 20000',
      '429 after 15000',
      '429 after 15000',
      '429 after 15000',
      '429 after 0',
      '429 after 0',
    ],
  )
  server.stop()
})

test('a canceled request leaves its queue', async () => {
  const server = await LimitedServer.start(
    { seats: 27, serviceMs: 1_000 },
    ownLevel({
      nominalConcurrencyShares: 1,
      limitResponse: queuing(2),
    }),
  )
  const { simulation } = server
  const first = server.send(own, 'GET /version')
  for (let index = 0; index < 500; index++) {
    const leaving = new AbortController()
    const gone = server.send(own, 'GET /version', leaving.signal)
    leaving.abort()
    assert.equal((await simulation.run(gone)).code, 429)
  }
  const last = server.send(own, 'GET /version')
  assert.deepEqual(
    (await simulation.run(Promise.all([first, last]))).map(each => each.tookMs),
    [1_000, 2_000],
  )
  assert.equal(server.runningMax, 1)
  server.stop()
})

test('a failed request releases its seats', async () => {
  const server = await LimitedServer.start(
    { seats: 27, serviceMs: 10 },
    ownLevel({
      nominalConcurrencyShares: 1,
      limitResponse: { type: 'Reject' },
    }),
  )
  for (let index = 0; index < 5; index++) {
    assert.equal((await server.simulation.run(server.send(own, 'GET /version?fail=now'))).code, 404)
    assert.equal((await server.simulation.run(server.send(own, 'GET /version?fail=later'))).code, 404)
    assert.equal(server.flowControl.levels.find(level => level.name === 'own')!.running, 0)
  }
  server.stop()
})

test('a large list takes more seats than a small one', async () => {
  const server = await LimitedServer.start(
    { seats: 270, serviceMs: 100 },
    ownLevel({
      nominalConcurrencyShares: 27,
      limitResponse: { type: 'Reject' },
    }),
  )
  for (let index = 0; index < 350; index++)
    await server.simulation.run(server.store.create(`/registry/pods/default/p${index}`, Buffer.from('{}')))
  await server.simulation.advance(1)
  const { limit } = server.flowControl.levels.find(level => level.name === 'own')!
  const check = async (line: string, seats: number): Promise<void> => {
    const answers = await many(server, limit + 1, own, line)
    assert.equal(answers.filter(each => each.code === 200).length, Math.floor(limit / seats), line)
  }
  await check('GET /api/v1/pods', 4)
  await check('GET /api/v1/pods?limit=150', 2)
  await check('GET /api/v1/namespaces/default/pods', 4)
  await check('GET /api/v1/namespaces/other/pods', 1)
  await check('GET /api/v1/namespaces/default/pods/p1', 1)
  await check('GET /api/v1/pods?fieldSelector=metadata.name%3Dp1', 1)
  await check('GET /api/v1/pods?watch=1', 4)
  await check('GET /api/v1/pods?watch=1&resourceVersion=7', 1)
  server.stop()
})

test('changed flow schemas and priority levels apply immediately', async () => {
  const server = await LimitedServer.start({ seats: 60, serviceMs: 1 })
  const schemaOf = async (): Promise<unknown> =>
    (await server.simulation.run(server.send(own, 'GET /version'))).headers?.[
      'x-kubernetes-pf-flowschema-uid'
    ]
  assert.equal(await schemaOf(), 'uid-of-global-default')
  const [level, schema] = ownLevel({ nominalConcurrencyShares: 10, limitResponse: queuing(2) })
  await server.put(schema!)
  await server.simulation.advance(1)
  // Its priority level does not exist yet.
  assert.equal(await schemaOf(), 'uid-of-global-default')
  await server.put(level!)
  await server.simulation.advance(1)
  assert.equal(await schemaOf(), 'uid-of-own')
  server.stop()
})

test('max-in-flight limits read-only and mutating requests separately', async () => {
  const stage = maxInFlight({ readOnly: 2, mutating: 1 })
  const release: (() => void)[] = []
  const send = (method: string, path: string, user = eve): Promise<string> => {
    const info = requestInfo(method, path, new URLSearchParams())!
    const context = { info, user } as RequestContext
    const answer = stage(
      context,
      () => new Promise(resolve => void release.push(() => resolve({ status: 200 }))),
    )
    return answer.then(
      () => 'served',
      error => (isApiError(error, 'TooManyRequests') ? 'refused' : String(error)),
    )
  }
  const pods = '/api/v1/namespaces/default/pods'
  const sent = [
    send('GET', pods),
    send('GET', `${pods}/a`),
    send('GET', pods),
    send('POST', pods),
    send('DELETE', `${pods}/a`),
    send('GET', pods, userOf('admin', 'system:masters')),
    send('GET', `${pods}/a/log`),
  ]
  assert.equal(release.length, 5)
  for (const each of release) each()
  assert.deepEqual(await Promise.all(sent), [
    'served',
    'served',
    'refused',
    'served',
    'refused',
    'served',
    'served',
  ])
  const again = send('GET', pods)
  release.at(-1)!()
  assert.equal(await again, 'served')
})
