import assert from 'node:assert/strict'
import test from 'node:test'
import { Conntrack } from './conntrack.ts'

test('a missing conntrack program is logged once, other failures with growing pauses', async () => {
  const warnings: string[] = []
  let nowMs = 0
  const log = { error: fail, info: fail, debug: fail, warn: (message: string) => void warnings.push(message) }
  const clock = { monotonicMs: () => nowMs }
  let error: Error = Object.assign(new Error('spawn conntrack ENOENT'), { code: 'ENOENT' })
  const linux = { run: (): Promise<string> => Promise.reject(error) }
  const platform = { log, clock } as unknown as ConstructorParameters<typeof Conntrack>[1]
  const conntrack = new Conntrack(linux, platform)
  const sync = (): Promise<void> => conntrack.deleteStaleEntries([4], [], new AbortController().signal)
  for (; nowMs < 3_600_000; nowMs += 60_000) await sync()
  assert.deepEqual(warnings, ['conntrack is not installed: stale UDP entries are not deleted'])
  error = new Error('no netlink')
  await sync()
  await sync()
  assert.deepEqual(warnings.slice(1), ['Failed to delete stale conntrack entries'])
})

function fail(): never {
  throw new Error('not expected')
}
