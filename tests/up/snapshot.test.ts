import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { post, script, stop, up } from './process.ts'

const namespaces = '/api/v1/namespaces'

/** Runs a command on the cluster in this folder. */
function k8ts(folder: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(script, [...words, '--data-dir', folder], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a running cluster is saved, and restored after its store was damaged; a watch from before gets 410', async t => {
  const folder = await temporaryFolder(t)
  const data = join(folder, 'data')
  const saved = join(folder, 'saved.k8ts')
  const first = await up(t, data)
  assert.equal((await post(first, namespaces, { metadata: { name: 'kept' } })).status, 201)
  const save = k8ts(data, 'snapshot', 'save', saved)
  assert.equal(save.status, 0, save.stderr)
  assert.match(
    save.stdout,
    /^saved \d+ keys at revision \d+ to .*saved\.k8ts, [\d.]+ kB\nhash [0-9a-f]{64}\n$/u,
  )
  assert.equal((await post(first, namespaces, { metadata: { name: 'lost' } })).status, 201)
  const { resourceVersion } = JSON.parse((await first.ask(namespaces)).text).metadata
  assert.match(k8ts(data, 'snapshot', 'restore', saved).stderr, /is in use by another k8ts process: stop it/u)
  assert.match(k8ts(data, 'store', 'check').stdout, /^keys +\d+\nhash +[0-9a-f]{64}\nintact +yes\n$/mu)
  await stop(first, 'SIGTERM')

  assert.match(k8ts(data, 'snapshot', 'restore', saved).stderr, /is intact: --force replaces it/u)
  const segment = join(data, 'store', '00000001.log')
  const content = await readFile(segment)
  content[content.indexOf('/registry/namespaces/kept')]! ^= 1
  await writeFile(segment, content)
  const damaged = k8ts(data, 'store', 'check')
  assert.equal(damaged.status, 1)
  assert.match(damaged.stderr, /^damage: 00000001\.log at byte \d+: the log is damaged after revision \d+$/mu)
  await assert.rejects(up(t, data), /is damaged: .*k8ts snapshot restore/u)

  const restored = k8ts(data, 'snapshot', 'restore', saved)
  assert.equal(restored.status, 0, restored.stderr)
  assert.match(restored.stdout, /the store continues at 1000000\d+\nhash/u)
  const again = await up(t, data)
  assert.equal((await again.ask(`${namespaces}/kept`)).status, 200)
  assert.equal((await again.ask(`${namespaces}/lost`)).status, 404)
  const watch = await again.ask(`${namespaces}?watch=1&resourceVersion=${resourceVersion}`)
  assert.match(watch.text, /"code":410/u)
  await stop(again, 'SIGTERM')
})

test('a repair says what is lost and needs --accept-loss', async t => {
  const data = await temporaryFolder(t)
  const first = await up(t, data)
  await post(first, namespaces, { metadata: { name: 'unlucky' } })
  await stop(first, 'SIGTERM')
  assert.match(k8ts(data, 'store', 'repair').stdout, /is intact: nothing to repair/u)
  const segment = join(data, 'store', '00000001.log')
  const content = await readFile(segment)
  const at = content.indexOf('/registry/namespaces/unlucky')
  content[at + 60]! ^= 1
  await writeFile(segment, content)
  const asked = k8ts(data, 'store', 'repair')
  assert.equal(asked.status, 1)
  assert.match(
    asked.stdout,
    /^lost: \/registry\/namespaces\/unlucky at revision \d+; no other revision is left$/mu,
  )
  assert.match(asked.stdout, /^Nothing was changed\. Restore a snapshot/mu)
  const repaired = k8ts(data, 'store', 'repair', '--accept-loss')
  assert.equal(repaired.status, 0, repaired.stderr)
  assert.match(repaired.stdout, /^the damaged store is in .*store\.damaged-/mu)
  const again = await up(t, data)
  assert.equal((await again.ask(`${namespaces}/unlucky`)).status, 404)
  assert.equal((await again.ask(`${namespaces}/default`)).status, 200)
  await stop(again, 'SIGTERM')
})

test('a cluster takes snapshots by schedule, which are listed, verified and restored', async t => {
  const data = await temporaryFolder(t)
  assert.match(k8ts(data, 'snapshot', 'ls').stdout, /^no snapshots in /u)
  const first = await up(t, data, '--snapshot-interval 1s --snapshot-retention 2')
  const list = (): string[] => k8ts(data, 'snapshot', 'ls').stdout.split('\n').slice(1, -1)
  await waitUntil(() => list().length > 0)
  await stop(first, 'SIGTERM')
  const path = list().at(-1)!.split(' ').at(-1)!
  const status = k8ts(data, 'snapshot', 'status', path)
  assert.equal(status.status, 0, status.stderr)
  assert.match(status.stdout, /^intact +yes$/mu)
  assert.equal(k8ts(data, 'snapshot', 'restore', path, '--force').status, 0)
  const again = await up(t, data, '--snapshot-interval 0')
  assert.equal((await again.ask(`${namespaces}/default`)).status, 200)
  await stop(again, 'SIGTERM')
  await writeFile(join(path, '00000001.log'), 'x')
  const damaged = k8ts(data, 'snapshot', 'status', path)
  assert.equal(damaged.status, 1)
  assert.match(damaged.stderr, /^the snapshot .* is damaged.*k8ts snapshot ls shows them$/mu)
  await writeFile(join(data, 'snapshots', 'broken'), 'x')
  assert.match(k8ts(data, 'snapshot', 'ls').stderr, /snapshots\/broken is no snapshot, or damaged: see/u)
})

test('a scheduled snapshot that fails is shown by k8ts status and by an Event', async t => {
  const data = await temporaryFolder(t)
  // Not a folder, so that no snapshot can be taken.
  await writeFile(join(data, 'snapshots'), 'x')
  const running = await up(t, data, '--snapshot-interval 1s')
  await waitUntil(() => /^the last snapshot failed: E/mu.test(k8ts(data, 'status').stdout))
  const hasEvent = async (): Promise<boolean> =>
    (await running.ask('/api/v1/namespaces/default/events')).text.includes('"reason":"StoreSnapshotFailed"')
  await waitUntil(hasEvent)
  await stop(running, 'SIGTERM')
})

test('mistakes in the commands of snapshots and stores are explained', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['snapshot', /usage: k8ts snapshot save\|restore\|status\|ls/u],
    ['snapshot save', /usage: k8ts snapshot save FILE/u],
    ['snapshot save a --store memory', /a memory store has no files: use embedded or etcd/u],
    ['snapshot status /none/at/all', /there is no snapshot \/none\/at\/all: k8ts snapshot ls/u],
    ['store', /usage: k8ts store check\|repair\|migrate/u],
    ['store migrate', /--to is required/u],
    ['store migrate --to embedded', /--from and --to must be one embedded store and one etcd/u],
    ['store check --data-dir /none/at/all', /there is no store in \/none\/at\/all\/store: check --data-dir/u],
  ]
  for (const [line, expected] of cases) {
    const { status, stderr } = spawnSync(script, line.split(' '), { encoding: 'utf8' })
    assert.ok(status === 1 || status === 2, line)
    assert.match(stderr, expected)
  }
  for (const command of ['snapshot', 'store'])
    assert.match(spawnSync(script, [command, '--help'], { encoding: 'utf8' }).stdout, /^Examples:$/mu)
})
