/**
 * Hostile clients against the real process: each is answered or disconnected, other clients are still served,
 * and nothing is left behind in the store or in memory.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { after, afterEach, beforeEach, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ChildCluster } from '../clients/cluster.ts'
import { Bystander } from './bystander.ts'
import { accessTo, openSocket, RawClient, type Outcome, type RawRequest } from './raw-client.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const target = `${maps}/target`
const json = 'application/json'
const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const jsonPatch = 'application/json-patch+json'

const cluster = await ChildCluster.start()
const access = await accessTo(cluster)
const client = await RawClient.open(access)
await check(post(maps, { metadata: { name: 'target' }, data: { a: '1' } }), /^201 /)
const bystander = await Bystander.start(access, target)
after(async () => {
  bystander[Symbol.dispose]()
  client[Symbol.dispose]()
  await cluster[Symbol.asyncDispose]()
})
/** Memory usage after a mixed workload. */
const usualBytes = await residentBytes()

beforeEach(() => void bystander.report())

afterEach(t => {
  const { slowestMs, answers, failures } = bystander.report()
  assert.deepEqual(failures.slice(0, 3), [])
  assert.ok(answers > 0, 'the bystander was not served')
  ;(t as TestContext).diagnostic(`slowest GET beside it: ${slowestMs} ms, of ${answers}`)
})

test('request bodies of 50 MB are rejected with 413', async () => {
  const body = Buffer.alloc(50_000_000, ' ')
  const refused = /^413 .*limit is 3145728/
  for (const type of [json, 'application/yaml', 'application/vnd.kubernetes.protobuf']) {
    await check({ method: 'POST', path: maps, type, body }, refused)
  }
  for (const type of [merge, jsonPatch, strategic, 'application/apply-patch+yaml']) {
    await check({ method: 'PATCH', path: `${target}?fieldManager=x`, type, body }, refused)
  }
  await check({ method: 'DELETE', path: target, type: json, body }, refused)
})

test('deeply nested bodies are rejected in every format', async () => {
  const depth = 10_000
  const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const arrays = `${'['.repeat(depth)}${']'.repeat(depth)}`
  const yaml = Array.from({ length: 1_000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n')
  for (const deep of [objects, arrays]) {
    const inside = `{"metadata":{"name":"deep","annotations":${deep}}}`
    for (const body of [deep, inside]) {
      await check({ method: 'POST', path: maps, type: json, body }, /^400 /)
      for (const type of [merge, strategic, jsonPatch]) {
        await check({ method: 'PATCH', path: target, type, body }, /^4(00|22) /)
      }
    }
    await check({ method: 'POST', path: maps, type: 'application/yaml', body: deep }, /^400 /)
  }
  await check({ method: 'POST', path: maps, type: 'application/yaml', body: yaml }, /^400 /)
  const values = `[${JSON.stringify({ op: 'add', path: '/data/x', value: 0 }).replace('0', objects)}]`
  await check({ method: 'PATCH', path: target, type: jsonPatch, body: values }, /^4(00|22) /)
  const pointer = JSON.stringify([{ op: 'add', path: '/a'.repeat(depth), value: '' }])
  await check({ method: 'PATCH', path: target, type: jsonPatch, body: pointer }, /^422 /)
})

test('YAML aliases that expand are rejected', async () => {
  const levels = Array.from({ length: 30 }, (_, level) => {
    const items = Array.from({ length: 10 }, () => (level === 0 ? 'x' : `*a${level - 1}`))
    return `a${level}: &a${level} [${items.join(', ')}]`
  })
  const bomb = `metadata: {name: bomb}\n${levels.join('\n')}\ndata: *a29\n`
  const aliasing = /^4(00|13) .*document contains excessive aliasing/
  await check({ method: 'POST', path: maps, type: 'application/yaml', body: bomb }, aliasing)
  const applied = {
    method: 'PATCH',
    path: `${maps}/bomb?fieldManager=x`,
    type: 'application/apply-patch+yaml',
  }
  await check({ ...applied, body: bomb }, aliasing)
  await check({ ...applied, body: 'a: &a [*a]' }, /^400 /)
  const keys = Array.from({ length: 50_000 }, (_, index) => `? {a${index}: [b]}\n: c`).join('\n')
  await check({ method: 'POST', path: maps, type: 'application/yaml', body: keys }, /^4/)
})

test('__proto__ in a patch is an ordinary key', async () => {
  const patches: readonly (readonly [type: string, body: string])[] = [
    [merge, '{"__proto__":{"polluted":"yes"},"metadata":{"__proto__":{"polluted":"yes"}}}'],
    [merge, '{"metadata":{"labels":{"constructor":{"prototype":{"polluted":"yes"}}}}}'],
    [strategic, '{"__proto__":{"polluted":"yes"},"metadata":{"__proto__":{"polluted":"yes"}}}'],
    [jsonPatch, '[{"op":"add","path":"/__proto__/polluted","value":"yes"}]'],
    [jsonPatch, '[{"op":"add","path":"/constructor/prototype/polluted","value":"yes"}]'],
    [jsonPatch, '[{"op":"copy","from":"/__proto__","path":"/metadata/annotations"}]'],
    [jsonPatch, '[{"op":"test","path":"/data/toString","value":""}]'],
  ]
  for (const [type, body] of patches) {
    await check({ method: 'PATCH', path: target, type, body }, /^(200 (?!.*polluted)|4(00|22) )/)
  }
  await check(
    { method: 'PATCH', path: target, type: merge, body: '{"data":{"__proto__":"mine"}}' },
    /^200 .*"__proto__":"mine"/,
  )
  await check(
    { method: 'PATCH', path: target, type: jsonPatch, body: '[{"op":"remove","path":"/data/__proto__"}]' },
    /^200 /,
  )
  const created = await client.ask(post(maps, { metadata: { name: 'clean' } }))
  assert.doesNotMatch(JSON.stringify(created), /polluted|__proto__/)
  await check({ path: target }, /^200 (?!.*(polluted|__proto__))/)
})

test('malformed selectors and continue tokens are rejected', async () => {
  const terms = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}`).join(',')
  await checkAlone({ path: `${maps}?labelSelector=${terms(100_000)}` }, /^(431|414) |^cut /)
  await check({ path: `${maps}?labelSelector=${terms(8_000)}` }, /^200 .*"items":\[\]/)
  await check(
    { path: `${maps}?labelSelector=${encodeURIComponent(`a in (${terms(8_000)})`)}` },
    /^200 .*"items":\[\]/,
  )
  await check({ path: `${maps}?labelSelector=${'('.repeat(60_000)}` }, /^400 /)
  await check({ path: `${maps}?fieldSelector=${terms(8_000)}` }, /^400 /)
  const matchLabels = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, '']))
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  const deployment = { metadata: { name: 'many' }, spec: { selector: { matchLabels }, template } }
  await check(post('/apis/apps/v1/namespaces/default/deployments', deployment), /^422 /)
  const tokens = [
    Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7_919) % 256)).toString('base64url'),
    '%00%ff',
    '.',
    'a'.repeat(60_000),
    ...[
      null,
      1,
      [],
      {},
      { v: 'meta.k8s.io/v1' },
      { v: 'meta.k8s.io/v1', rv: 1e300, start: 'x\0' },
      { v: 'meta.k8s.io/v1', rv: 1, start: '../../secrets/x\0' },
      { v: 'meta.k8s.io/v1', rv: '5', start: [] },
      { __proto__: null, v: {}, rv: {}, start: {} },
    ].map(value => Buffer.from(JSON.stringify(value)).toString('base64url')),
  ]
  for (const token of tokens)
    await check({ path: `${maps}?limit=1&continue=${token}` }, /^400 .*continue key is not valid/)
  const beyond = { v: 'meta.k8s.io/v1', rv: -1, start: '\u{10ffff}\0' }
  const token = Buffer.from(JSON.stringify(beyond)).toString('base64url')
  await check({ path: `${maps}?limit=1&continue=${token}` }, /^200 .*"items":\[\]/)
})

test('huge numbers are stored exactly or rejected', async () => {
  const digits = '9'.repeat(5_000)
  for (const number of ['1e400', '-1e400', digits, '99999999999999999999', 'NaN', '0x10', '1.5']) {
    await check({ path: `${maps}?limit=${number}` }, /^4(00|22) /)
    await check({ path: `${maps}?resourceVersion=${number}` }, /^4(00|22) /)
    await check({ path: `${maps}?watch=1&timeoutSeconds=${number}` }, /^4(00|22) /)
  }
  await check(
    { path: `${maps}?resourceVersion=999999999999999` },
    /^(504|500|400) .*Too large resource version/i,
  )
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  for (const number of ['1e400', digits, '-1e400', '1.5', '4294967296', '1e3000000']) {
    const template = '{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}'
    const spec = `{"replicas":${number},"selector":{"matchLabels":{"a":"b"}},"template":${template}}`
    const body = `{"metadata":{"name":"huge"},"spec":${spec}}`
    await check({ method: 'POST', path: deployments, type: json, body }, /^4(00|22) /)
    await check(
      { method: 'DELETE', path: `${maps}/absent`, type: json, body: `{"gracePeriodSeconds":${number}}` },
      /^4(00|04|22) /,
    )
  }
})

test('invalid UTF-8 and path traversal are rejected', async () => {
  const invalidUtf8 = Buffer.from('{"metadata":{"name":"utf"},"data":{"a":"\xff\xc0\xaf"}}', 'latin1')
  // As in Go, invalid UTF-8 in JSON becomes U+FFFD.
  await check(
    { method: 'POST', path: `${maps}?dryRun=All`, type: json, body: invalidUtf8 },
    /^201 .*"a":"\ufffd{3}"/,
  )
  await check({ method: 'POST', path: maps, type: 'application/yaml', body: invalidUtf8 }, /^400 /)
  const refused = /^(400|404|405) /
  const names =
    '%2e%2e %2e .. %2f a%2fb %00 target%00 %c0%ae%c0%ae %c0%af % %zz %e0%80%af %ff __proto__ constructor'
  for (const name of [...names.split(' '), 'x'.repeat(10_000)]) {
    await check({ path: `${maps}/${name}` }, refused)
    await check({ path: `/api/v1/namespaces/${name}/configmaps/target` }, refused)
    await check({ path: `/api/v1/${name}` }, refused)
    await check(
      {
        method: 'PATCH',
        path: `${maps}/${name}?fieldManager=x`,
        type: 'application/apply-patch+yaml',
        body: '{}',
      },
      /^4/,
    )
    await check({ method: 'DELETE', path: `${maps}/${name}` }, refused)
    await check({ method: 'PUT', path: `${maps}/${name}`, type: json, body: '{"metadata":{}}' }, /^4/)
  }
  await check({ path: `${maps}/../secrets` }, refused)
  await check({ path: `${maps}/%2e%2e/secrets` }, refused)
  for (const name of ['x'.repeat(100_000), '../x', 'a/b', '..', '.', '\0', '__proto__', 'A', '']) {
    await check(post(maps, { metadata: { name } }), /^422 /)
    await check(
      post(maps, { metadata: { generateName: name } }),
      name === '' || name.startsWith('x') ? /^(422|201) / : /^422 /,
    )
  }
})

test('connections with too many headers, broken TLS or garbage are closed', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => [`x-${index}`, 'y'] as const)
  await checkAlone({ path: target, headers: Object.fromEntries(many) }, /^431 |^cut /)
  await checkAlone({ path: target, headers: { 'x-long': 'y'.repeat(1_000_000) } }, /^431 |^cut /)
  const lines = many.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  assert.match(await talk(`GET ${target} HTTP/1.1\r\nhost: x\r\n${lines}\r\n`), /^HTTP\/1.1 431 |^$/)
  assert.match(
    await talk(`GET ${target} HTTP/1.1\r\nhost: x\r\nx-long: ${'y'.repeat(1_000_000)}\r\n\r\n`),
    /^HTTP\/1.1 431 |^$/,
  )
  assert.match(await talk(garbage(10_000)), /^HTTP\/1.1 400 |^$/)
  assert.match(
    await talk(
      `POST ${maps} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    /^HTTP\/1.1 400 |^$/,
  )
  const plain = [
    `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`,
    garbage(5_000),
    Buffer.from('16030100ff010000fb0303', 'hex'),
  ]
  for (const bytes of plain) await talkPlainly(bytes)
})

test('1,000 watches that are never read do not retain their events', async t => {
  const clients = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(access)))
  const sockets = await Promise.all(Array.from({ length: 250 }, () => openSocket(access)))
  const watches = clients.flatMap(each =>
    Array.from({ length: 250 }, () => each.send({ path: `${maps}?watch=1` })),
  )
  for (const watch of watches) watch.on('error', () => undefined)
  for (const socket of sockets) socket.pause().write(`GET ${maps}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n`)
  await Promise.all(watches.map(watch => once(watch, 'response')))
  const changes = Array.from({ length: 2_000 }, (_, index) => index)
  const change = async (): Promise<void> => {
    for (let index = changes.pop(); index !== undefined; index = changes.pop()) {
      const body = JSON.stringify({ data: { changed: `${index}${'x'.repeat(10_000)}` } })
      await check({ method: 'PATCH', path: `${maps}/clean`, type: merge, body }, /^200 /)
    }
  }
  await Promise.all(Array.from({ length: 10 }, change))
  t.diagnostic(`${megabytes((await residentBytes()) - usualBytes)} MB more than usual while they are open`)
  for (const each of clients) each[Symbol.dispose]()
  for (const socket of sockets) socket.destroy()
})

test('after all hostile requests the server is ready, its memory bounded, and no rejected object stored', async t => {
  await check({ path: '/readyz' }, /^200 ok/)
  const names = async (path: string): Promise<readonly string[]> => {
    const outcome = await client.ask({ path })
    assert.ok('text' in outcome)
    const { items } = JSON.parse(outcome.text) as { items: { metadata: { name: string } }[] }
    return items.map(({ metadata }) => metadata.name).filter(name => !/^x{50,}[a-z0-9]{5}$/.test(name))
  }
  assert.deepEqual(await names(maps), ['clean', 'target'])
  const own = ['extension-apiserver-authentication', 'kube-apiserver-legacy-service-account-token-tracking']
  assert.deepEqual(await names('/api/v1/configmaps'), ['clean', 'target', ...own])
  assert.deepEqual(await names('/apis/apps/v1/deployments'), [])
  let bytes = await residentBytes()
  for (let waits = 0; waits < 50 && bytes > bytesMax(); waits++) {
    await sleep(200)
    bytes = await residentBytes()
  }
  t.diagnostic(`${megabytes(usualBytes)} MB before, ${megabytes(bytes)} MB after`)
  assert.ok(bytes <= bytesMax(), `${megabytes(bytes)} MB are not given back`)
})

/** The heap does not shrink immediately after a burst, and never to the size of a new process. */
function bytesMax(): number {
  return usualBytes + cachesBytesMax + slackBytes
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000)
}

function post(path: string, object: object): RawRequest {
  return { method: 'POST', path, type: json, body: JSON.stringify(object) }
}

/** Checks the outcome of the request: `400 message`, or `cut why` when disconnected. */
async function check(request: RawRequest, expected: RegExp): Promise<void> {
  match(request, await client.ask(request), expected)
}

/** As `check`, on a separate connection that may be closed. */
async function checkAlone(request: RawRequest, expected: RegExp): Promise<void> {
  using alone = await RawClient.open(access)
  match(request, await alone.ask(request), expected)
}

function match(
  { method = 'GET', path, type = '', body = '' }: RawRequest,
  outcome: Outcome,
  expected: RegExp,
): void {
  const shown =
    'cut' in outcome ? `cut ${outcome.cut}` : `${outcome.status} ${outcome.text.replaceAll('\n', ' ')}`
  if (expected.test(shown)) return
  const request = `${method} ${path.slice(0, 200)} ${type} ${body.slice(0, 100).toString()}`
  assert.fail(`${request}: expected ${expected}, got ${shown.slice(0, 500)}`)
}

/** The server's output for these bytes after a TLS handshake; the server must close the connection. */
async function talk(bytes: string | Uint8Array): Promise<string> {
  const socket = await openSocket(access)
  let said = ''
  socket.on('data', chunk => {
    said += chunk.toString()
  })
  socket.write(bytes)
  await closed(socket)
  return said
}

/** Without TLS, or with an incomplete handshake: the server sends no data and closes when the client does. */
async function talkPlainly(bytes: string | Uint8Array): Promise<void> {
  const socket = connect(access.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.on('data', chunk => assert.doesNotMatch(chunk.toString('latin1'), /ConfigMap/))
  socket.end(bytes)
  await closed(socket)
}

/** Resolves when the connection is closed, with or without an error. */
function closed(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new Error('the server does not end the connection')), cutMsMax)
  socket.on('close', () => resolve())
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}

const cutMsMax = 10_000

function garbage(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, index) => (index * index * 31 + 7) % 256))
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${cluster.processId}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024
}

/**
 * Memory that the server may keep for its caches: recent values of the store, recent events, serialized
 * lists; see their limits.
 */
const cachesBytesMax = 160_000_000

/** Memory that V8 does not release immediately after a burst. */
const slackBytes = 250_000_000
