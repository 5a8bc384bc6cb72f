import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { startTestServer, type Answer, type TestServer, type TestServerOptions } from '../test-server.ts'

const maps = '/api/v1/namespaces/default/configmaps'

test('pages of a list are consistent and have remainingItemCount', async t => {
  const { request } = await serverWith(t, 7)
  const first = await request('GET', `${maps}?limit=3`)
  assert.deepEqual([names(first), meta(first)['remainingItemCount']], [['m0', 'm1', 'm2'], 4])
  await request('DELETE', `${maps}/m4`)
  await request('POST', maps, configMap('m2a'))
  const second = await request('GET', `${maps}?limit=3&continue=${String(meta(first)['continue'])}`)
  assert.deepEqual([names(second), meta(second)['remainingItemCount']], [['m3', 'm4', 'm5'], 1])
  assert.equal(meta(second)['resourceVersion'], meta(first)['resourceVersion'])
  const third = await request('GET', `${maps}?limit=3&continue=${String(meta(second)['continue'])}`)
  assert.deepEqual([names(third), meta(third)['continue']], [['m6'], undefined])
})

test('the last page has no continue token', async t => {
  const { request } = await serverWith(t, 4)
  assert.equal(meta(await request('GET', `${maps}?limit=4`))['continue'], undefined)
  assert.notEqual(meta(await request('GET', `${maps}?limit=3`))['continue'], undefined)
})

test('a continue token of a compacted revision expires and offers an inconsistent continuation', async t => {
  const store = await MemoryStore.open({
    platform: nodePlatform({ log: { level: 'error', format: 'text' } }),
  })
  const { request } = await serverWith(t, 5, { store })
  const first = await request('GET', `${maps}?limit=2`)
  const token = String(meta(first)['continue'])
  assert.deepEqual(names(await request('GET', `${maps}?limit=2&continue=${token}`)), ['m2', 'm3'])
  await request('POST', '/api/v1/namespaces', {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'other' },
  })
  await store.compact(await store.revision())
  const refused = await request('GET', `${maps}?limit=2&continue=${token}`)
  assert.deepEqual([refused.code, refused.body.reason], [410, 'Expired'])
  const second = await request('GET', `${maps}?limit=2&continue=${String(meta(refused)['continue'])}`)
  assert.deepEqual([names(second), meta(second)['remainingItemCount']], [['m2', 'm3'], 1])
  assert.notEqual(meta(second)['resourceVersion'], meta(first)['resourceVersion'])
  const third = await request('GET', `${maps}?limit=2&continue=${String(meta(second)['continue'])}`)
  assert.deepEqual(names(third), ['m4'])
  assert.equal(meta(third)['resourceVersion'], meta(second)['resourceVersion'])
})

test('lists are filtered by label and field selectors', async t => {
  const { request } = await serverWith(t, 4)
  const check = async (query: string, expected: readonly string[]): Promise<void> => {
    assert.deepEqual(names(await request('GET', `${maps}?${query}`)), expected)
  }
  await check('labelSelector=parity=even', ['m0', 'm2'])
  await check('labelSelector=parity!%3Deven', ['m1', 'm3'])
  await check('labelSelector=parity%20in%20(even,odd),number%20notin%20(1)', ['m0', 'm2', 'm3'])
  await check('fieldSelector=metadata.name=m2', ['m2'])
  await check('fieldSelector=metadata.name!%3Dm2', ['m0', 'm1', 'm3'])
  await check('fieldSelector=metadata.namespace=other', [])
  await check('labelSelector=parity=odd&limit=1', ['m1'])
})

test('indexed selectors select the same objects as the others, also after changes', async t => {
  const { request } = await serverWith(t, 40)
  const check = async (): Promise<void> => {
    const all = (await request('GET', maps)).body['items'] as unknown as readonly LabelledObject[]
    for (const [selector, matches] of selectors) {
      const expected = all.filter(({ metadata: { labels = {} } }) => matches(labels))
      const query = `labelSelector=${encodeURIComponent(selector)}`
      assert.deepEqual(names(await request('GET', `${maps}?${query}`)), expected.map(nameOf), selector)
      const page = await request('GET', `${maps}?${query}&limit=2`)
      const token = meta(page)['continue'] as string | undefined
      const rest = token && (await request('GET', `${maps}?${query}&continue=${token}`))
      const paged = rest ? [...names(page), ...names(rest)] : names(page)
      assert.deepEqual(paged, expected.map(nameOf), selector)
    }
  }
  await check()
  await request('DELETE', `${maps}/m7`)
  await request('POST', maps, { metadata: { name: 'm77', labels: { number: '7' } } })
  await request('PATCH', `${maps}/m9`, { metadata: { labels: { number: '7', parity: null } } }, mergePatch)
  await check()
})

interface LabelledObject {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
}

const nameOf = ({ metadata }: LabelledObject): string => metadata.name

const mergePatch = { 'content-type': 'application/merge-patch+json' }

const selectors: readonly [string, (labels: Readonly<Record<string, string>>) => boolean][] = [
  ['number=7', ({ number }) => number === '7'],
  ['number in (3,7,11)', ({ number = '' }) => ['3', '7', '11'].includes(number)],
  ['number=7,parity=odd', ({ number, parity }) => number === '7' && parity === 'odd'],
  ['number in (4,7),!parity', ({ number = '', parity }) => ['4', '7'].includes(number) && !parity],
  ['parity,number=8', ({ number, parity }) => number === '8' && parity !== undefined],
  ['number>35', ({ number }) => Number(number) > 35],
  ['number=none', () => false],
  ['none', () => false],
]

test('resourceVersionMatch Exact lists that revision', async t => {
  const { request } = await serverWith(t, 2)
  const before = String(meta(await request('GET', maps))['resourceVersion'])
  await request('POST', maps, configMap('new'))
  const exact = await request('GET', `${maps}?resourceVersion=${before}&resourceVersionMatch=Exact`)
  assert.deepEqual([names(exact), meta(exact)['resourceVersion']], [['m0', 'm1'], before])
  const notOlder = await request('GET', `${maps}?resourceVersion=${before}&resourceVersionMatch=NotOlderThan`)
  assert.deepEqual(names(notOlder), ['m0', 'm1', 'new'])
  assert.deepEqual(names(await request('GET', `${maps}?resourceVersion=0&limit=1`)), ['m0', 'm1', 'new'])
})

test('a list of an exact revision has no later objects, also if they are created while it is prepared', async t => {
  const { request } = await serverWith(t, 60, {}, platformWithShortSlices())
  const before = String(meta(await request('GET', maps))['resourceVersion'])
  const exact = `resourceVersion=${before}&resourceVersionMatch=Exact`
  // The index of the label is made for the first list.
  const listing = request('GET', `${maps}?${exact}&labelSelector=parity%3Deven`)
  const creating = Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      request('POST', maps, configMap(`n${index}`, { parity: 'even' })),
    ),
  )
  await creating
  assert.equal(names(await listing).length, 30)
})

/** Every step of long work is a slice of its own. */
function platformWithShortSlices(): Platform {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  let nowMs = 0
  return { ...platform, clock: { ...platform.clock, monotonicMs: () => (nowMs += 1_000) } }
}

test('lists across namespaces contain objects of all namespaces', async t => {
  const { request } = await serverWith(t, 1)
  await request('POST', '/api/v1/namespaces', {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'other' },
  })
  await request('POST', '/api/v1/namespaces/other/configmaps', configMap('elsewhere'))
  const tracking = 'kube-apiserver-legacy-service-account-token-tracking'
  assert.deepEqual(names(await request('GET', '/api/v1/configmaps')), ['m0', tracking, 'elsewhere'])
})

test('lists are served as Table, PartialObjectMetadata, YAML and protobuf', async t => {
  const { request, raw } = await serverWith(t, 1)
  const as = (kind: string): Promise<Answer> =>
    request('GET', maps, undefined, { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` })
  const table = await as('Table')
  assert.equal(table.body['kind'], 'Table')
  assert.equal((table.body as unknown as { rows: { cells: string[] }[] }).rows[0]?.cells[0], 'm0')
  const partial = await as('PartialObjectMetadataList')
  assert.deepEqual(
    [partial.body['kind'], Object.keys(partial.body['items']![0] ?? {})],
    ['PartialObjectMetadataList', ['kind', 'apiVersion', 'metadata']],
  )
  assert.match(
    (await request('GET', maps, undefined, { accept: 'application/yaml' })).text,
    /^apiVersion: v1\nitems:\n- /u,
  )
  const protobuf = await raw('GET', maps, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
  assert.ok(protobuf.body?.type === 'value')
  assert.equal(Buffer.from(protobuf.body.bytes()[0]!).subarray(0, 4).toString(), 'k8s\0')
})

async function serverWith(
  t: TestContext,
  count: number,
  options?: TestServerOptions,
  platform?: Platform,
): Promise<TestServer> {
  const server = await startTestServer(t, platform, options)
  for (let index = 0; index < count; index++) {
    const labels = { parity: index % 2 === 0 ? 'even' : 'odd', number: String(index) }
    const created = await server.request('POST', maps, configMap(`m${index}`, labels))
    assert.equal(created.code, 201, created.text)
  }
  return server
}

function configMap(name: string, labels: Readonly<Record<string, string>> = {}) {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, labels } }
}

function meta({ body }: Answer): Readonly<Record<string, unknown>> {
  return body.metadata
}

function names({ body }: Answer): readonly string[] {
  const items = body['items'] as unknown as readonly { readonly metadata: { readonly name: string } }[]
  return items.map(item => item.metadata.name)
}
