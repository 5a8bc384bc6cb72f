/** The histories of API servers that share an etcd, as real processes. Each records the writes of all. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { ObjectHistory, ObjectVersion } from '#/api/object-history.ts'
import { encodePass, passHeader } from '#/api/origin.ts'
import { EtcdCluster, etcdMissing } from './etcd/cluster.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { script, stop, up, type AdminClient, type Running } from './up/process.ts'

const path = '/api/v1/namespaces/default/configmaps'
const pass = {
  component: 'test-controller',
  key: 'default/a',
  causes: [7],
  queuedMs: 1,
  startedMs: 2,
  steps: [],
}
const headers = {
  'content-type': 'application/json',
  'user-agent': 'history-test/1',
  [passHeader]: encodePass(pass),
}

test(
  'API servers that share an etcd have the same history, also after a restart',
  { skip: etcdMissing },
  async t => {
    const { startFirst, startSecond, get } = await setUp(t)
    const first = await startFirst()
    let second = await startSecond()
    const revisions = [await set(first, '1'), await set(second, '2'), await set(first, '3')]
    const check = async (expected: string): Promise<void> => {
      const [one, other] = await Promise.all([first, second].map(server => historyOf(server)))
      assert.equal(valuesOf(one!.items), expected)
      assert.deepEqual(revisionsOf(other!), revisionsOf(one!))
      assert.deepEqual(revisionsOf(one!), revisions.toReversed())
      for (const [index, { origin, object }] of one!.items.entries()) {
        assert.deepEqual(other!.items[index]!.origin, origin)
        assert.deepEqual(other!.items[index]!.object, object)
        assert.deepEqual(
          [origin?.user, origin?.userAgent, origin?.pass],
          ['kubernetes-admin', 'history-test/1', pass],
        )
      }
    }
    await check('3 2 1')
    await stop(second, 'SIGTERM')
    revisions.push(await set(first, '4'), await set(first, '5'))
    second = await startSecond()
    revisions.push(await set(second, '6'))
    await check('6 5 4 3 2 1')
    const at = await Promise.all([get('1', revisions[3]!), get('2', revisions[3]!)])
    assert.match(at[0], /\n {2}value: "4"\n/)
    assert.equal(at[1], at[0])
  },
)

test(
  'an API server that missed compacted writes refuses moments before, and shows no false version',
  { skip: etcdMissing },
  async t => {
    const { etcd, startFirst, startSecond } = await setUp(t)
    const first = await startFirst()
    let second = await startSecond()
    const known = await set(first, '1')
    assert.equal(valuesOf((await historyOf(second)).items), '1')
    await stop(second, 'SIGTERM')
    const missed = await set(first, '2')
    const last = await set(first, '3')
    etcd.etcdctl(['compact', String(last)])
    second = await startSecond()
    const codes = async (server: AdminClient): Promise<readonly number[]> =>
      Promise.all([known, missed, last].map(async at => (await server.ask(`${path}/a?at=${at}`)).status))
    assert.deepEqual(await codes(first), [200, 200, 200])
    // Moments between the last write and the start are not retained either.
    const begin = (await historyOf(second)).retainedSince.revision
    assert.ok(begin >= last)
    assert.deepEqual(await codes(second), [410, 410, begin === last ? 200 : 410])
    assert.equal((await second.ask(`${path}?at=${known}`)).status, 410)
    const now = await set(second, '4')
    const { items } = await historyOf(second)
    assert.equal(valuesOf(items), '4 3 1')
    assert.deepEqual(
      items.map(({ origin }) => origin?.userAgent),
      ['history-test/1', undefined, 'history-test/1'],
    )
    for (const server of [first, second]) {
      const answer = await server.ask(`${path}/a?at=${now}`)
      assert.equal((JSON.parse(answer.text) as Stored).data?.value, '4')
    }
    assert.equal(valuesOf((await historyOf(first)).items), '4 3 2 1')
  },
)

interface Pair {
  readonly etcd: EtcdCluster
  readonly startFirst: () => Promise<Running>
  /** Also again. */
  readonly startSecond: () => Promise<Running>
  /** The output of `k8ts get --at` with the kubeconfig of a server. */
  readonly get: (server: '1' | '2', revision: number) => Promise<string>
}

async function setUp(t: TestContext): Promise<Pair> {
  const etcd = await EtcdCluster.start(1)
  t.after(() => etcd[Symbol.asyncDispose]())
  const { ca, cert, key } = etcd.certificates.files
  const folder = await temporaryFolder(t)
  const flags = [
    `--etcd-servers https://${etcd.endpoints[0]}`,
    `--etcd-cafile ${ca} --etcd-certfile ${cert} --etcd-keyfile ${key}`,
    // Only the test compacts.
    '--etcd-compaction-interval 0',
  ]
  return {
    etcd,
    startFirst: () => up(t, join(folder, '1'), ...flags),
    startSecond: async () => {
      await cp(join(folder, '1', 'pki'), join(folder, '2', 'pki'), { recursive: true })
      return up(t, join(folder, '2'), ...flags)
    },
    get: async (server, revision) => {
      const env = { ...process.env, KUBECONFIG: join(folder, server, 'admin.conf'), HOME: folder }
      const words = ['get', 'configmap', 'a', '--at', String(revision), '-o', 'yaml']
      return (await promisify(execFile)(script, words, { env })).stdout
    },
  }
}

interface Stored {
  readonly metadata: { readonly resourceVersion: string }
  readonly data?: { readonly value: string }
}

/** Creates or replaces the object. Returns the revision. */
async function set({ ask }: AdminClient, value: string): Promise<number> {
  const body = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a' },
    data: { value },
  })
  const replaced = await ask(`${path}/a`, { method: 'PUT', headers }, body)
  const written = replaced.status === 404 ? await ask(path, { method: 'POST', headers }, body) : replaced
  assert.ok(written.status < 300, written.text)
  return Number((JSON.parse(written.text) as Stored).metadata.resourceVersion)
}

async function historyOf({ ask }: AdminClient): Promise<ObjectHistory> {
  const { status, text } = await ask(`${path}/a?history=true`)
  assert.equal(status, 200, text)
  return JSON.parse(text) as ObjectHistory
}

function valuesOf(items: readonly ObjectVersion[]): string {
  return items.map(({ object }) => (object as unknown as Stored).data?.value).join(' ')
}

function revisionsOf({ items }: ObjectHistory): readonly number[] {
  return items.map(({ revision }) => revision)
}
