import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { unauthorized } from '#/api/errors.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { Audit, AuditLog, AuditWebhook, parseAuditPolicy, type AuditPolicy } from './audit.ts'
import { compilePolicy } from './audit/compile-policy.ts'
import { legacyLine } from './audit/legacy-line.ts'
import { pipeline, type Stage } from './pipeline.ts'
import { requestInfo } from './request-info.ts'
import type { ApiRequest } from './request.ts'
import { startTestServer } from './test-server.ts'

const quiet = (): void => undefined
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, with: () => silent }
const platform = { ...nodePlatform({ log: { level: 'error', format: 'text' } }), log: silent }

interface Event {
  readonly [name: string]: string & Event
}

const everything: AuditPolicy = { rules: [{ level: 'RequestResponse' }] }

/**
 * A real API server behind the stages under test; `send` returns the response and the recorded audit events.
 */
async function start(t: TestContext, policy: AuditPolicy, before: readonly Stage[] = []) {
  const { server } = await startTestServer(t)
  const lines: string[] = []
  const audit = new Audit({
    platform,
    policy,
    backends: [
      {
        mode: 'batch',
        record: line => void lines.push(line),
        run: async () => undefined,
      },
    ],
  })
  const authenticate: Stage = (context, next) => {
    if (context.request.headers['authorization'] !== undefined) throw unauthorized()
    context.user = context.request.peer.user!
    return next(context)
  }
  const handle = pipeline(
    platform,
    [audit.unauthenticatedStage, authenticate, audit.stage, ...before],
    context => {
      return server.handle(context.request)
    },
  )
  const send = async (line: string, body?: unknown, headers: ApiRequest['headers'] = {}) => {
    lines.length = 0
    const response = await handle(requestOf(line, { body, headers }))
    return { response, events: lines.map(each => JSON.parse(each) as Event) }
  }
  return { handle, send, lines }
}

interface Parts {
  readonly body?: unknown
  readonly headers?: ApiRequest['headers']
  readonly signal?: AbortSignal
}

function requestOf(line: string, parts: Parts = {}): ApiRequest {
  const { body, headers = {}, signal = new AbortController().signal } = parts
  const [method = '', url = ''] = line.split(' ')
  const [path = '', query = ''] = url.split('?')
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'user-agent': 'test/1.0', ...headers },
    body: { bytes: async () => Buffer.from(body === undefined ? '' : JSON.stringify(body)) },
    signal,
    peer: { address: '10.0.0.7', user: { username: 'eve', groups: ['system:masters'] } },
  }
}

test('audit events are recorded at RequestReceived and ResponseComplete', async t => {
  const { send } = await start(t, { rules: [{ level: 'Metadata' }] })
  const { events, response } = await send('POST /api/v1/namespaces/default/configmaps', {
    metadata: { name: 'a' },
  })
  const [received, complete] = events
  assert.deepEqual(
    events.map(each => [each['stage'], each['responseStatus']?.['code']]),
    [
      ['RequestReceived', undefined],
      ['ResponseComplete', 201],
    ],
  )
  const { auditID, requestReceivedTimestamp, stageTimestamp, ...rest } = complete!
  assert.equal(response.headers?.['audit-id'], auditID)
  assert.equal(received!['auditID'], auditID)
  assert.match(`${requestReceivedTimestamp} ${stageTimestamp}`, /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z \d{4}-/)
  assert.deepEqual(rest, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/default/configmaps',
    verb: 'create',
    user: { username: 'eve', groups: ['system:masters'] },
    sourceIPs: ['10.0.0.7'],
    userAgent: 'test/1.0',
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
  })
})

test('audit level RequestResponse records bodies', async t => {
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }] } }
  const { send } = await start(t, everything)
  const { events } = await send('POST /api/v1/namespaces/default/pods', pod)
  assert.deepEqual(events[1]!['requestObject'], pod)
  assert.equal(events[1]!['responseObject']?.['kind'], 'Pod')
  assert.ok(events[1]!['responseObject']?.['metadata']?.['managedFields'])
  const pretty = await send('GET /api/v1/namespaces/default/pods/p?pretty=true')
  assert.equal(pretty.events[1]!['requestURI'], '/api/v1/namespaces/default/pods/p?pretty=true')
  assert.equal(pretty.events[1]!['responseObject']?.['metadata']?.['name'], 'p')
  const listed = await send('GET /api/v1/namespaces/default/pods')
  assert.equal(listed.events[1]!['responseObject']?.['kind'], 'PodList')
  const patch = { metadata: { labels: { a: 'b' } } }
  const merge = { 'content-type': 'application/merge-patch+json' }
  const patched = await send('PATCH /api/v1/namespaces/default/pods/p', patch, merge)
  assert.deepEqual(patched.events[1]!['requestObject'], patch)
})

test('audit level Request records only the request body, and omitManagedFields applies', async t => {
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }] } }
  const { send } = await start(t, {
    omitManagedFields: true,
    rules: [{ level: 'Request', verbs: ['create'] }, { level: 'RequestResponse' }],
  })
  const created = await send('POST /api/v1/namespaces/default/pods', pod)
  assert.ok(created.events[1]!['requestObject'])
  assert.equal(created.events[1]!['responseObject'], undefined)
  for (const url of ['/api/v1/namespaces/default/pods/p', '/api/v1/namespaces/default/pods']) {
    const { events } = await send(`GET ${url}`)
    assert.ok(events[1]!['responseObject'])
    assert.doesNotMatch(JSON.stringify(events), /managedFields/)
  }
})

test('bodies of secrets are audited only if a rule names the resource', async t => {
  const secret = { metadata: { name: 's' }, stringData: { password: 'hunter2' } }
  const url = '/api/v1/namespaces/default/secrets'
  const shown = async (policy: AuditPolicy): Promise<boolean> => {
    const { send } = await start(t, policy)
    const all = [
      await send(`POST ${url}`, secret),
      await send(`GET ${url}/s`),
      await send(`GET ${url}`),
      await send(`PUT ${url}/s`, secret),
      await send(`DELETE ${url}/s`),
    ]
    assert.ok(all.every(({ events }) => events.length === 2))
    return /hunter2|aHVudGVyMg/.test(JSON.stringify(all.map(({ events }) => events)))
  }
  assert.equal(await shown(everything), false)
  const about = (...resources: string[]) => [{ group: '', resources }]
  assert.equal(await shown({ rules: [{ level: 'RequestResponse', resources: about('*') }] }), false)
  assert.equal(await shown({ rules: [{ level: 'Metadata', resources: about('secrets') }] }), false)
  assert.equal(await shown({ rules: [{ level: 'Request', resources: about('secrets') }] }), true)
})

test('audit events never contain credentials', async t => {
  const { send, lines } = await start(t, everything)
  const { events, response } = await send('GET /api/v1/pods', undefined, {
    authorization: 'Bearer very-secret',
  })
  assert.equal(response.status, 401)
  assert.deepEqual(
    events.map(each => [each['stage'], each['responseStatus']?.['code'], each['user']?.['username']]),
    [['ResponseComplete', 401, '']],
  )
  assert.doesNotMatch(lines.join(''), /very-secret/)
})

test('audit events of failures contain the response status', async t => {
  const { send } = await start(t, everything, [
    async (context, next) => {
      if (context.request.query.has('broken')) throw new Error('the password is hunter2')
      return next(context)
    },
  ])
  const missing = await send('GET /api/v1/namespaces/default/pods/none')
  const { code, reason } = missing.events[1]!['responseStatus']!
  assert.deepEqual([code, reason], [404, 'NotFound'])
  const broken = await send('GET /api/v1/pods?broken=1')
  assert.deepEqual(
    [broken.events[1]!['stage'], broken.events[1]!['responseStatus']?.['code']],
    ['Panic', 500],
  )
  assert.doesNotMatch(JSON.stringify(broken.events), /hunter2/)
})

test('a watch is audited at ResponseStarted and ResponseComplete', async t => {
  const { handle, lines } = await start(t, everything)
  const stages = (): unknown[] => lines.map(each => (JSON.parse(each) as Event)['stage'])
  for (const isRead of [true, false]) {
    lines.length = 0
    const stopping = new AbortController()
    const { body } = await handle(requestOf('GET /api/v1/pods?watch=true', { signal: stopping.signal }))
    assert.deepEqual(stages(), ['RequestReceived', 'ResponseStarted'])
    const reading = isRead && body?.type === 'stream' ? Array.fromAsync(body.chunks) : undefined
    stopping.abort()
    await reading
    assert.deepEqual(stages(), ['RequestReceived', 'ResponseStarted', 'ResponseComplete'])
  }
})

test('audit events contain the impersonated user and annotations', async t => {
  const { send } = await start(t, everything, [
    (context, next) => {
      const requester = context.user
      context.user = { username: 'adam', groups: [] }
      context.impersonation = { requester, constraint: 'impersonate:user-info' }
      context.annotations.set('authorization.k8s.io/decision', 'allow')
      return next(context)
    },
  ])
  const headers = { 'x-forwarded-for': '1.2.3.4, nonsense"', 'audit-id': 'given-1' }
  const { events } = await send('GET /version', undefined, headers)
  const [, complete] = events
  const { user, impersonatedUser, auditID, sourceIPs } = complete!
  assert.deepEqual(
    [user?.['username'], impersonatedUser?.['username'], auditID, sourceIPs],
    ['eve', 'adam', 'given-1', ['1.2.3.4', '10.0.0.7']],
  )
  assert.deepEqual(complete!['annotations'], { 'authorization.k8s.io/decision': 'allow' })
  assert.deepEqual(complete!['authenticationMetadata'], { impersonationConstraint: 'impersonate:user-info' })
  assert.equal(complete!['objectRef'], undefined)
})

test('the first matching audit rule decides', () => {
  const policy = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:kube-proxy"], verbs: [watch], resources: [{resources: [endpoints, services]}]}
- {level: None, userGroups: ["system:authenticated"], nonResourceURLs: ["/api*", /version]}
- {level: Request, resources: [{group: "", resources: [configmaps]}], namespaces: [kube-system]}
- {level: Metadata, resources: [{group: "", resources: [pods/log, pods/status]}]}
- {level: Request, resources: [{group: "", resources: ["pods/*"]}, {group: apps, resources: ["*/scale"]}]}
- {level: RequestResponse, resources: [{group: batch, resources: [jobs], resourceNames: [a]}], omitStages: [Panic]}
- {level: Request, resources: [{group: example.com}]}
- {level: Metadata, namespaces: [""]}
`)
  const decide = compilePolicy(policy)
  const check = (user: string, line: string, level: string): void => {
    const { method, path, query } = requestOf(line)
    const groups = user === 'anonymous' ? [] : ['system:authenticated']
    assert.equal(decide({ username: user, groups }, requestInfo(method, path, query)!).level, level, line)
  }
  check('system:kube-proxy', 'GET /api/v1/services?watch=1', 'None')
  check('eve', 'GET /api/v1/services?watch=1', 'Metadata')
  check('eve', 'GET /version', 'None')
  check('eve', 'GET /apis', 'None')
  check('anonymous', 'GET /version', 'None')
  check('eve', 'PUT /api/v1/namespaces/kube-system/configmaps/a', 'Request')
  check('eve', 'PUT /api/v1/namespaces/default/configmaps/a', 'None')
  check('eve', 'GET /api/v1/namespaces/default/pods/a/log', 'Metadata')
  check('eve', 'POST /api/v1/namespaces/default/pods/a/exec', 'Request')
  check('eve', 'POST /api/v1/namespaces/default/pods', 'Request')
  check('eve', 'PUT /apis/apps/v1/namespaces/default/deployments/a/scale', 'Request')
  check('eve', 'PUT /apis/apps/v1/namespaces/default/deployments/a', 'None')
  check('eve', 'PUT /apis/batch/v1/namespaces/default/jobs/a', 'RequestResponse')
  check('eve', 'PUT /apis/batch/v1/namespaces/default/jobs/b', 'None')
  check('eve', 'PUT /apis/example.com/v1/namespaces/default/things/b', 'Request')
  check('eve', 'GET /api/v1/nodes/a', 'Metadata')
  const info = requestInfo('PUT', '/apis/batch/v1/namespaces/d/jobs/a', new URLSearchParams())!
  assert.deepEqual(
    [...decide({ username: 'eve', groups: [] }, info).omitStages],
    ['RequestReceived', 'Panic'],
  )
})

test('an invalid audit policy is rejected', () => {
  const check = (rules: string, message: RegExp): void => {
    assert.throws(() => parseAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\n${rules}`), message)
  }
  check('', /no rules/)
  check('rules: [{}]', /rules\[0\].level: Required value/)
  check(
    'rules: [{level: All}]',
    /rules\[0\].level: Unsupported value: "All": supported values: "None", "Metadata"/,
  )
  check(
    'rules: [{level: None, omitStages: [Never]}]',
    /omitStages\[0\]: Invalid value: "Never": allowed stages are/,
  )
  check(
    'rules: [{level: None, nonResourceURLs: ["a*b"]}]',
    /must begin with a '\/'.*must be the final character/,
  )
  check('rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [b]}]', /cannot apply to both/)
  check('rules: [{level: None, resources: [{resourceNames: [a]}]}]', /requires at least one resource/)
  check('rules: [{level: None, resources: [{group: "a/v1"}]}]', /rules\[0\].resources.group: Invalid value/)
  check('rules: [{level: None, user: [a]}]', /unknown field "rules\[0\].user"/)
  check('rules: [{level: [None]}]', /cannot unmarshal/)
  assert.throws(
    () => parseAuditPolicy('apiVersion: v1\nkind: Policy\nrules: []'),
    /must be one of audit.k8s.io\/v1/,
  )
})

test('the audit log is rotated by size and keeps a maximum number of backups', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const log = new AuditLog({ platform: host, path: '/var/log/audit.log', sizeBytesMax: 100, backupsMax: 2 })
  const stopping = new AbortController()
  const running = log.run(stopping.signal)
  await simulation.run(host.files.makeFolder('/var/log'))
  await simulation.run(host.files.write('/var/log/audit-old.log', 'not ours'))
  for (let index = 0; index < 12; index++) {
    void log.record(`{"line":${index},"text":"${'x'.repeat(20)}"}`)
    await simulation.advance(1_000)
  }
  stopping.abort()
  await simulation.run(running)
  const names = await simulation.run(host.files.list('/var/log'))
  assert.deepEqual(
    names.map(name => name.replaceAll(/\d/g, '0')),
    ['audit-0000-00-00T00-00-00.000.log', 'audit-0000-00-00T00-00-00.000.log', 'audit-old.log', 'audit.log'],
  )
  const lines: number[] = []
  for (const name of names.filter(each => each !== 'audit-old.log')) {
    const text = Buffer.from(await simulation.run(host.files.read(`/var/log/${name}`))).toString()
    assert.ok(text.length <= 100)
    for (const line of text.trim().split('\n')) lines.push((JSON.parse(line) as { line: number }).line)
  }
  assert.deepEqual(lines, [4, 5, 6, 7, 8, 9, 10, 11].slice(-lines.length))
  assert.ok(lines.length >= 5)
})

test('rotated audit logs are deleted after their maximum age', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const log = new AuditLog({ platform: host, path: '/audit.log', sizeBytesMax: 10, ageMsMax: 5_000 })
  const stopping = new AbortController()
  const running = log.run(stopping.signal)
  for (let index = 0; index < 12; index++) {
    void log.record('0123456789')
    await simulation.advance(2_000)
  }
  stopping.abort()
  await simulation.run(running)
  assert.equal((await simulation.run(host.files.list('/'))).length, 4)
})

test('a slow audit log drops events and does not block requests', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const log = new AuditLog({ platform: host, path: '/audit.log' })
  for (let index = 0; index < 20_000; index++) void log.record(`${index}`)
  const stopping = new AbortController()
  const running = log.run(stopping.signal)
  await simulation.advance(10)
  stopping.abort()
  await simulation.run(running)
  const lines = Buffer.from(await simulation.run(host.files.read('/audit.log')))
    .toString()
    .trim()
    .split('\n')
  assert.deepEqual([lines.length, lines.at(-1)], [10_000, '9999'])
})

test('the audit webhook receives batches and retries failures', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const posts: { readonly atMs: number; readonly items: readonly number[] }[] = []
  let failures = 2
  const webhook = new AuditWebhook({
    platform: host,
    batchEventsMax: 3,
    batchMsMax: 5_000,
    initialBackoffMs: 1_000,
    post: async body => {
      if (failures-- > 0) throw new Error('not now')
      const { kind, items } = JSON.parse(body) as { readonly kind: string; readonly items: readonly number[] }
      assert.equal(kind, 'EventList')
      posts.push({ atMs: simulation.nowMs, items })
    },
  })
  const stopping = new AbortController()
  const running = webhook.run(stopping.signal)
  for (let index = 0; index < 7; index++) void webhook.record(`${index}`)
  await simulation.advance(60_000)
  void webhook.record('7')
  stopping.abort()
  await simulation.run(running)
  assert.deepEqual(
    posts.map(each => each.items),
    [[0, 1, 2], [3, 4, 5], [6], [7]],
  )
  assert.ok(posts[0]!.atMs >= 2_500, 'it waited after each failure')
  assert.ok(posts[2]!.atMs - posts[1]!.atMs >= 5_000, 'it waited for more')
})

test('a failing audit webhook has bounded memory and time', async () => {
  const simulation = new Simulation({ seed: 1 })
  let posts = 0
  const webhook = new AuditWebhook({
    platform: simulation.host('api'),
    bufferEventsMax: 10,
    batchEventsMax: 5,
    initialBackoffMs: 10,
    post: async () => {
      posts++
      throw new Error('never')
    },
  })
  for (let index = 0; index < 100; index++) void webhook.record('0')
  const stopping = new AbortController()
  const running = webhook.run(stopping.signal)
  await simulation.advance(60_000)
  stopping.abort()
  await simulation.run(running)
  assert.equal(posts, 10)
})

test('blocking audit mode waits until the event is written', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const log = new AuditLog({ platform: host, path: '/audit.log', mode: 'blocking' })
  const bad = new AuditLog({ platform: host, path: '/audit.log/x', mode: 'blocking' })
  const stopping = new AbortController()
  const running = Promise.all([log.run(stopping.signal), bad.run(stopping.signal)])
  const written = Array.from({ length: 1_000 }, (_, index) => log.record(`${index}`)!)
  assert.ok((await simulation.run(Promise.all(written))).every(Boolean))
  assert.equal(await simulation.run(bad.record('lost')!), false)
  const lines = Buffer.from(await simulation.run(host.files.read('/audit.log'))).toString()
  assert.equal(lines.trim().split('\n').length, 1_000)
  stopping.abort()
  await simulation.run(running)
})

test('blocking-strict audit mode rejects requests that cannot be audited', async t => {
  for (const [mode, code] of [
    ['blocking', 200],
    ['blocking-strict', 500],
  ] as const) {
    const { server } = await startTestServer(t)
    const backend = { mode, record: async () => false, run: async () => undefined }
    const audit = new Audit({ platform, policy: everything, backends: [backend] })
    const known: Stage = (context, next) => {
      context.user = context.request.peer.user!
      return next(context)
    }
    const handle = pipeline(platform, [known, audit.stage], context => server.handle(context.request))
    assert.equal((await handle(requestOf('GET /api/v1/namespaces/default'))).status, code)
  }
})

test('the legacy audit log format is one line of text', () => {
  const event = {
    auditID: 'i',
    stage: 'ResponseComplete',
    sourceIPs: ['10.0.0.1'],
    verb: 'get',
    user: { username: 'zoe', groups: ['a', 'b "c"'] },
    userAgent: 'x',
    requestURI: '/api',
    objectRef: { namespace: 'n' },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: '2026-01-02T03:04:05.600000Z',
  }
  assert.equal(
    legacyLine(JSON.stringify(event)),
    '2026-01-02T03:04:05.6Z AUDIT: id="i" stage="ResponseComplete" ip="10.0.0.1" method="get" user="zoe"' +
      String.raw` groups="\"a\",\"b \\\"c\\\"\"" as="<self>" asgroups="<lookup>" user-agent="x"` +
      ' namespace="n" uri="/api" response="200"',
  )
  const bare = legacyLine(
    JSON.stringify({ auditID: 'i', stage: 'RequestReceived', user: { username: '', groups: [] } }),
  )
  assert.match(bare, /ip="<unknown>" .* user="<none>" groups="<none>" .* response="<deferred>"$/)
})
