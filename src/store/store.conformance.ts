/**
 * The contract of `Store`, as tests for every implementation. Each test uses its own prefix, so all may share
 * one store.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import {
  noteBytesMax,
  StoreError,
  type Entry,
  type Store,
  type StoreErrorReason,
  type StoreEvent,
  type Watch,
  type WriteResult,
} from './store.ts'

export interface ConformanceOptions {
  /** The shortest TTL that the implementation supports. */
  readonly ttlMs?: number
  /** Number of random histories compared with the model. */
  readonly modelRuns?: number
  /** Runs a test of a store in a simulation, where time passes only while it is run. */
  readonly run?: (test: Promise<void>) => Promise<void>
}

/** `open` returns a new or a shared store; the test does not close it. */
export function storeConformance(
  name: string,
  open: (t: TestContext) => Promise<Store>,
  options: ConformanceOptions = {},
): void {
  const check = (
    title: string,
    body: (store: Store, prefix: string, t: TestContext) => Promise<void>,
  ): void => {
    const { run = (body: Promise<void>) => body } = options
    test(`${name}: ${title}`, async t => run(body(await open(t), uniquePrefix(), t)))
  }
  writes(check)
  lists(check)
  revisions(check)
  races(check)
  watches(check)
  slowWatches(check)
  notes(check)
  expiry(check, options.ttlMs ?? 20)
  model(check, options.modelRuns ?? 20)
}

type Check = (title: string, body: (store: Store, prefix: string, t: TestContext) => Promise<void>) => void

function writes(check: Check): void {
  check('a created key is read back with its revision', async (store, prefix) => {
    const before = await store.revision()
    const revision = await create(store, `${prefix}a`, 'one')
    assert.ok(revision > before)
    assert.deepEqual(show(await store.get(`${prefix}a`)), {
      key: `${prefix}a`,
      value: 'one',
      revision,
      createRevision: revision,
    })
    assert.ok((await store.revision()) >= revision)
    assert.equal(await store.get(`${prefix}b`), undefined)
  })

  check('an update keeps the create revision, a recreated key does not', async (store, prefix) => {
    const key = `${prefix}a`
    const created = await create(store, key, 'one')
    const updated = await update(store, key, 'two', created)
    assert.deepEqual(show(await store.get(key)), {
      key,
      value: 'two',
      revision: updated,
      createRevision: created,
    })
    const deleted = await remove(store, key, updated)
    assert.ok(deleted > updated)
    assert.equal(await store.get(key), undefined)
    const again = await create(store, key, 'three')
    assert.deepEqual(show(await store.get(key)), {
      key,
      value: 'three',
      revision: again,
      createRevision: again,
    })
  })

  check(
    'a write with an outdated revision changes nothing and returns the current entry',
    async (store, prefix) => {
      const key = `${prefix}a`
      const gone = { written: false, current: undefined }
      assert.deepEqual(await store.update(key, bytes('x'), { expectedRevision: 7 }), gone)
      assert.deepEqual(await store.delete(key, { expectedRevision: 7 }), gone)
      const first = await create(store, key, 'one')
      const revision = await update(store, key, 'two', first)
      const current = await store.get(key)
      assert.deepEqual(await store.create(key, bytes('x')), { written: false, current })
      assert.deepEqual(await store.update(key, bytes('x'), { expectedRevision: first }), {
        written: false,
        current,
      })
      assert.deepEqual(await store.delete(key, { expectedRevision: first }), { written: false, current })
      assert.equal(current?.revision, revision)
      assert.deepEqual(show(await store.get(key)), { key, value: 'two', revision, createRevision: first })
    },
  )

  check('empty, binary and large values are returned unchanged', async (store, prefix) => {
    const values = [
      new Uint8Array(),
      Uint8Array.from({ length: 256 }, (_, index) => index),
      new Uint8Array(1_000_000).fill(7),
    ]
    for (const [index, value] of values.entries()) {
      await store.create(`${prefix}${index}`, value)
      const entry = await store.get(`${prefix}${index}`)
      assert.ok(entry && Buffer.from(value).equals(entry.value))
    }
  })

  check('a value over the size limit is rejected', async (store, prefix) => {
    await assert.rejects(store.create(`${prefix}a`, new Uint8Array(20_000_000)), failsWith('too-large'))
    assert.equal(await store.get(`${prefix}a`), undefined)
    await create(store, `${prefix}a`, 'small')
  })
}

function lists(check: Check): void {
  check('a list has exactly the keys below its prefix, in order', async (store, prefix) => {
    for (const key of [
      'pods/b',
      'pods/a/x',
      'pods/a',
      'pods',
      'podsaplenty',
      'pods0',
      'pod/a',
      'pods/a-b',
      'pods/a.b',
    ]) {
      await create(store, prefix + key, key)
    }
    const { entries, remaining, revision } = await store.list({ prefix: `${prefix}pods/` })
    assert.deepEqual(
      entries.map(each => text(each.value)),
      ['pods/a', 'pods/a-b', 'pods/a.b', 'pods/a/x', 'pods/b'],
    )
    assert.equal(remaining, 0)
    assert.ok(revision >= entries.at(-1)!.revision)
    assert.deepEqual((await store.list({ prefix: `${prefix}none/` })).entries, [])
  })

  check(
    'pages of a list at one revision are consistent despite writes between them',
    async (store, prefix) => {
      const names = Array.from({ length: 25 }, (_, index) => `k${String(index).padStart(2, '0')}`)
      for (const name of names) await create(store, prefix + name, name)
      const first = await store.list({ prefix, limit: 10 })
      assert.equal(first.remaining, 15)
      const { revision } = first
      await remove(store, `${prefix}k12`, (await store.get(`${prefix}k12`))!.revision)
      await update(store, `${prefix}k13`, 'changed', (await store.get(`${prefix}k13`))!.revision)
      await create(store, `${prefix}k11a`, 'new')
      const second = await store.list({ prefix, limit: 10, after: first.entries.at(-1)!.key, revision })
      assert.deepEqual([second.remaining, second.revision], [5, revision])
      const third = await store.list({ prefix, limit: 10, after: second.entries.at(-1)!.key, revision })
      assert.deepEqual([third.remaining, third.revision], [0, revision])
      const all = [first, second, third].flatMap(page => page.entries).map(entry => text(entry.value))
      assert.deepEqual(all, names)
      const now = await store.list({ prefix, limit: 2, after: `${prefix}k11` })
      assert.deepEqual([now.entries.map(entry => text(entry.value)), now.remaining], [['new', 'changed'], 11])
    },
  )
}

function revisions(check: Check): void {
  check(
    'earlier revisions can be read until they are compacted, the current one always',
    async (store, prefix) => {
      const key = `${prefix}a`
      const first = await create(store, key, 'one')
      const second = await update(store, key, 'two', first)
      const third = await remove(store, key, second)
      const other = await create(store, `${prefix}b`, 'other')
      const read = async (revision: number): Promise<string> =>
        text((await store.get(key, { revision }))?.value)
      assert.deepEqual([await read(first), await read(second), await read(third)], ['one', 'two', ''])
      await store.compact(second)
      assert.equal(await store.compactedRevision(), second)
      await assert.rejects(read(first), failsWith('compacted'))
      await assert.rejects(store.list({ prefix, revision: first }), failsWith('compacted'))
      assert.deepEqual([await read(second), await read(third)], ['two', ''])
      await store.compact(other)
      await assert.rejects(read(third), failsWith('compacted'))
      assert.deepEqual(
        (await store.list({ prefix })).entries.map(entry => text(entry.value)),
        ['other'],
      )
      assert.equal(text((await store.get(`${prefix}b`, { revision: other }))?.value), 'other')
    },
  )

  check('a future revision cannot be read or compacted', async (store, prefix) => {
    const future = (await store.revision()) + 1_000
    await assert.rejects(store.get(`${prefix}a`, { revision: future }), failsWith('future-revision'))
    await assert.rejects(store.list({ prefix, revision: future }), failsWith('future-revision'))
    await assert.rejects(store.compact(future), failsWith('future-revision'))
  })

  check('compacting at an earlier revision changes nothing', async (store, prefix) => {
    const first = await create(store, `${prefix}a`, 'one')
    const second = await update(store, `${prefix}a`, 'two', first)
    await store.compact(second)
    await store.compact(second)
    await store.compact(first)
    assert.equal(await store.compactedRevision(), second)
    assert.equal(text((await store.get(`${prefix}a`))?.value), 'two')
  })
}

function races(check: Check): void {
  check(
    'of concurrent creations of one key one succeeds, and the others get its entry',
    async (store, prefix) => {
      const results = await Promise.all(
        Array.from({ length: 32 }, (_, index) => store.create(`${prefix}a`, bytes(String(index)))),
      )
      const winners = results.filter(result => result.written)
      assert.equal(winners.length, 1)
      for (const result of results) {
        if (!result.written)
          assert.equal(result.current?.revision, winners[0]?.written && winners[0].revision)
      }
    },
  )

  check(
    'concurrent compare-and-set increments lose no count and repeat no revision',
    async (store, prefix) => {
      const key = `${prefix}counter`
      await create(store, key, '0')
      const seen: number[] = []
      const writer = async (): Promise<void> => {
        for (let done = 0; done < 10;) {
          const entry = (await store.get(key))!
          const result = await store.update(key, bytes(String(Number(text(entry.value)) + 1)), {
            expectedRevision: entry.revision,
          })
          if (!result.written) continue
          seen.push(result.revision)
          done++
        }
      }
      await Promise.all(Array.from({ length: 8 }, writer))
      assert.equal(text((await store.get(key))?.value), '80')
      assert.equal(new Set(seen).size, 80)
    },
  )

  check('a write acknowledged before a read began is seen by the read', async (store, prefix) => {
    await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const revision = await create(store, `${prefix}${index}`, 'x')
        assert.ok((await store.revision()) >= revision)
        assert.ok((await store.list({ prefix })).entries.some(entry => entry.revision === revision))
      }),
    )
  })
}

function watches(check: Check): void {
  check(
    'a watch yields every change below its prefix after its revision, once and in order',
    async (store, prefix, t) => {
      const first = await create(store, `${prefix}w/a`, '1')
      await create(store, `${prefix}other`, 'x')
      const second = await update(store, `${prefix}w/a`, '2', first)
      const watch = startWatch(t, store, `${prefix}w/`, first)
      const third = await create(store, `${prefix}w/b`, '3')
      await create(store, `${prefix}wide`, 'x')
      const fourth = await remove(store, `${prefix}w/a`, second)
      await watch.until(events => events.length >= 3)
      assert.deepEqual(watch.events.map(showEvent), [
        `put a 2 ${second}`,
        `put b 3 ${third}`,
        `delete a ${fourth}`,
      ])
      assert.ok(watch.events.some(event => event.type === 'put' && event.createRevision === first))
    },
  )

  check('a watch of one key yields events of that key only', async (store, prefix, t) => {
    const watch = startWatch(t, store, `${prefix}a`, await store.revision())
    await create(store, `${prefix}a/b`, 'below')
    await create(store, `${prefix}ab`, 'beside')
    const revision = await create(store, `${prefix}a`, 'it')
    await watch.until(events => events.length > 0)
    assert.deepEqual(watch.events.map(showEvent), [`put a it ${revision}`])
  })

  check('a watch resumed after any batch misses nothing and repeats nothing', async (store, prefix, t) => {
    const start = await store.revision()
    const expected: number[] = []
    for (let index = 0; index < 30; index++) expected.push(await create(store, `${prefix}${index}`, 'x'))
    const whole = startWatch(t, store, prefix, start)
    await whole.until(events => events.length >= 30)
    for (const after of [start, ...expected]) {
      const rest = expected.filter(revision => revision > after)
      const resumed = startWatch(t, store, prefix, after)
      await resumed.until(events => events.length >= rest.length)
      assert.deepEqual(
        resumed.events.map(event => event.revision),
        rest,
      )
      resumed.stop()
    }
  })

  check('requestProgress yields a batch without events', async (store, prefix, t) => {
    const watch = startWatch(t, store, `${prefix}quiet/`, await store.revision())
    const revision = await create(store, `${prefix}elsewhere`, 'x')
    await watch.untilRevision(revision)
    assert.equal(watch.events.length, 0)
    const own = await create(store, `${prefix}quiet/a`, 'x')
    await watch.until(events => events.length > 0)
    assert.deepEqual(
      watch.events.map(event => event.revision),
      [own],
    )
  })

  check('an aborted watch ends without an error', async (store, prefix) => {
    const controller = new AbortController()
    const watch = store.watch({ prefix, afterRevision: await store.revision(), signal: controller.signal })
    const ended = (async () => {
      for await (const _ of watch) controller.abort()
    })()
    await create(store, `${prefix}a`, 'x')
    await ended
  })

  check('a failed write causes no watch event', async (store, prefix, t) => {
    const revision = await create(store, `${prefix}a`, '1')
    const watch = startWatch(t, store, prefix, revision)
    await store.create(`${prefix}a`, bytes('2'))
    await store.update(`${prefix}a`, bytes('3'), { expectedRevision: revision + 1_000 })
    const last = await create(store, `${prefix}b`, '4')
    await watch.until(events => events.length > 0)
    assert.deepEqual(watch.events.map(showEvent), [`put b 4 ${last}`])
  })

  check(
    'a watch from a compacted revision fails, one from the compact revision succeeds',
    async (store, prefix, t) => {
      const first = await create(store, `${prefix}a`, '1')
      const second = await update(store, `${prefix}a`, '2', first)
      const third = await update(store, `${prefix}a`, '3', second)
      await store.compact(second)
      await assert.rejects(async () => {
        for await (const _ of store.watch({ prefix, afterRevision: first - 1 }))
          assert.fail('an event of compacted history')
      }, failsWith('compacted'))
      const watch = startWatch(t, store, prefix, second)
      await watch.until(events => events.length > 0)
      assert.deepEqual(
        watch.events.map(event => event.revision),
        [third],
      )
    },
  )
}

function slowWatches(check: Check): void {
  check('a slow watcher gets every event, once and in order', async (store, prefix) => {
    const controller = new AbortController()
    const watch = store.watch({ prefix, afterRevision: await store.revision(), signal: controller.signal })
    const iterator = watch[Symbol.asyncIterator]()
    const opening = iterator.next()
    const expected = [await create(store, `${prefix}first`, 'x')]
    const seen = (await opening).value!.events.map((event: StoreEvent) => event.revision)
    for (let round = 0; round < 30; round++) {
      const writes = Array.from({ length: 100 }, (_, index) =>
        create(store, `${prefix}${round}-${index}`, 'x'),
      )
      expected.push(...(await Promise.all(writes)))
    }
    while (seen.length < expected.length) {
      const batch = (await iterator.next()).value!
      seen.push(...batch.events.map((event: StoreEvent) => event.revision))
    }
    controller.abort()
    assert.deepEqual(
      seen,
      expected.sort((left, right) => left - right),
    )
  })

  check(
    'a watcher overtaken by compaction gets all events or an error, never a gap',
    async (store, prefix) => {
      const start = await create(store, `${prefix}a`, 'x')
      const controller = new AbortController()
      const watch = store.watch({ prefix, afterRevision: start, signal: controller.signal })
      const iterator = watch[Symbol.asyncIterator]()
      const opening = iterator.next()
      let revision = start
      const expected: number[] = []
      for (let index = 0; index < 1_500; index++)
        expected.push((revision = await update(store, `${prefix}a`, String(index), revision)))
      await store.compact(revision)
      expected.push(await update(store, `${prefix}a`, 'last', revision))
      const seen: number[] = (await opening).value!.events.map((event: StoreEvent) => event.revision)
      try {
        while (seen.length < expected.length) {
          seen.push(...(await iterator.next()).value!.events.map((event: StoreEvent) => event.revision))
        }
      } catch (error) {
        assert.ok(failsWith('compacted')(error))
      }
      controller.abort()
      assert.deepEqual(seen, expected.slice(0, seen.length))
    },
  )
}

function notes(check: Check): void {
  check(
    'a note is delivered with the event of its write, live and in replays, and is not part of entries',
    async (store, prefix, t) => {
      const start = await store.revision()
      const live = startWatch(t, store, prefix, start)
      const key = `${prefix}a`
      const created = await written(store.create(key, bytes('one'), { note: bytes('n1') }))
      const other = await create(store, `${prefix}b`, 'other')
      const updated = await written(
        store.update(key, bytes('two'), { expectedRevision: created, note: bytes('n2') }),
      )
      const deleted = await written(store.delete(key, { expectedRevision: updated, note: bytes('n3') }))
      const again = await written(store.create(key, bytes(''), { note: bytes('n4') }))
      const removed = await remove(store, `${prefix}b`, other)
      // Long enough that a cache has none of them any more.
      const large = bytes('x'.repeat(20_000))
      const last = await written(
        store.update(key, large, { expectedRevision: again, note: bytes('n'.repeat(noteBytesMax)) }),
      )
      const expected = [
        `put a one ${created} n1`,
        `put b other ${other} -`,
        `put a two ${updated} n2`,
        `delete a ${deleted} n3`,
        `put a  ${again} n4`,
        `delete b ${removed} -`,
        `put a ${text(large)} ${last} ${'n'.repeat(noteBytesMax)}`,
      ]
      const replays = [start, created, other, updated, deleted, again, removed].map(revision =>
        startWatch(t, store, prefix, revision),
      )
      await live.until(events => events.length >= expected.length)
      assert.deepEqual(live.events.map(showNoted), expected)
      for (const [skipped, replay] of replays.entries()) {
        await replay.until(events => events.length >= expected.length - skipped)
        assert.deepEqual(replay.events.map(showNoted), expected.slice(skipped))
      }
      assert.ok(live.events.every(event => 'note' in event === (event.note !== undefined)))
      const { entries } = await store.list({ prefix })
      const past = await store.get(key, { revision: created })
      for (const entry of [...entries, past, await store.get(key)]) assert.ok(entry && !('note' in entry))
      assert.deepEqual(
        entries.map(entry => entry.key),
        [key],
      )
    },
  )

  check('the note of a write that lost a race is delivered with no event', async (store, prefix, t) => {
    const note = bytes('lost')
    const first = await create(store, `${prefix}a`, '1')
    const watch = startWatch(t, store, prefix, first)
    assert.equal((await store.create(`${prefix}a`, bytes('2'), { note })).written, false)
    assert.equal(
      (await store.update(`${prefix}a`, bytes('3'), { expectedRevision: first + 99, note })).written,
      false,
    )
    assert.equal((await store.delete(`${prefix}a`, { expectedRevision: first + 99, note })).written, false)
    const second = await update(store, `${prefix}a`, '4', first)
    await watch.until(events => events.length > 0)
    assert.deepEqual(watch.events.map(showNoted), [`put a 4 ${second} -`])
  })

  check('concurrent writes have each their own note', async (store, prefix, t) => {
    const watch = startWatch(t, store, prefix, await store.revision())
    const names = Array.from({ length: 50 }, (_, index) => `k${index}`)
    await Promise.all(names.map(name => store.create(prefix + name, bytes(name), { note: bytes(name) })))
    await watch.until(events => events.length >= names.length)
    for (const event of watch.events) assert.equal(`${prefix}${text(event.note)}`, event.key)
  })

  check('an empty or too long note is a programming error', async (store, prefix) => {
    for (const length of [0, noteBytesMax + 1]) {
      const note = new Uint8Array(length)
      const name = { name: 'AssertionError' }
      await assert.rejects(async () => store.create(`${prefix}a`, bytes('1'), { note }), name)
      await assert.rejects(async () => store.delete(`${prefix}a`, { expectedRevision: 7, note }), name)
    }
    await create(store, `${prefix}a`, '2')
  })
}

function expiry(check: Check, ttlMs: number): void {
  check('a key with a TTL expires with a delete event', async (store, prefix, t) => {
    const watch = startWatch(t, store, prefix, await store.revision())
    const result = await store.create(`${prefix}a`, bytes('short'), { ttlMs, note: bytes('n') })
    assert.ok(result.written)
    await watch.until(events => events.some(event => event.type === 'delete'))
    assert.deepEqual(
      watch.events.map(event => `${event.type} ${event.key} ${text(event.note)}`),
      [`put ${prefix}a n`, `delete ${prefix}a `],
    )
    assert.equal(await store.get(`${prefix}a`), undefined)
  })

  check('an update without a TTL removes the expiry of a key', async (store, prefix, t) => {
    const watch = startWatch(t, store, prefix, await store.revision())
    const kept = await store.create(`${prefix}kept`, bytes('short'), { ttlMs })
    assert.ok(kept.written)
    await update(store, `${prefix}kept`, 'long', kept.revision)
    await store.create(`${prefix}later`, bytes('short'), { ttlMs: ttlMs * 2 })
    await watch.until(events => events.some(event => event.type === 'delete'))
    assert.deepEqual(
      (await store.list({ prefix })).entries.map(entry => text(entry.value)),
      ['long'],
    )
  })
}

function model(check: Check, runs: number): void {
  check('random histories agree with a reference model at every revision', async (store, prefix, t) => {
    const action = fc.record({
      kind: fc.constantFrom('create', 'update', 'delete', 'stale'),
      key: fc.constantFrom('a', 'b', 'c/d', 'c/e'),
      value: fc.string({ maxLength: 8 }),
    })
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30 }), async actions => {
        await checkHistory(t, store, `${prefix}${run++}/`, actions)
      }),
      { numRuns: runs },
    )
  })
}

interface ModelAction {
  readonly kind: string
  readonly key: string
  readonly value: string
}

async function checkHistory(
  t: TestContext,
  store: Store,
  prefix: string,
  actions: readonly ModelAction[],
): Promise<void> {
  const states = new Map<number, Map<string, string>>()
  const watch = startWatch(t, store, prefix, await store.revision())
  const state = new Map<string, { value: string; revision: number }>()
  for (const { kind, key, value } of actions) {
    const expectedRevision = kind === 'stale' ? 1 : (state.get(key)?.revision ?? 1)
    const result =
      kind === 'create'
        ? await store.create(prefix + key, bytes(value))
        : kind === 'delete'
          ? await store.delete(prefix + key, { expectedRevision })
          : await store.update(prefix + key, bytes(value), { expectedRevision })
    assert.equal(result.written, kind === 'create' ? !state.has(key) : kind !== 'stale' && state.has(key))
    if (!result.written) continue
    if (kind === 'delete') state.delete(key)
    else state.set(key, { value, revision: result.revision })
    states.set(result.revision, new Map([...state].map(([each, { value }]) => [each, value])))
  }
  for (const [revision, expected] of states) {
    const { entries } = await store.list({ prefix, revision })
    assert.deepEqual(
      new Map(entries.map(entry => [entry.key.slice(prefix.length), text(entry.value)])),
      expected,
    )
  }
  await watch.until(events => events.length >= states.size)
  assert.deepEqual(
    watch.events.map(event => event.revision),
    [...states.keys()],
  )
  watch.stop()
}

async function create(store: Store, key: string, value: string): Promise<number> {
  const result = await store.create(key, bytes(value))
  assert.ok(result.written, `${key} was created`)
  return result.revision
}

async function update(store: Store, key: string, value: string, expectedRevision: number): Promise<number> {
  const result = await store.update(key, bytes(value), { expectedRevision })
  assert.ok(result.written, `${key} was updated`)
  return result.revision
}

async function remove(store: Store, key: string, expectedRevision: number): Promise<number> {
  const result = await store.delete(key, { expectedRevision })
  assert.ok(result.written, `${key} was deleted`)
  return result.revision
}

async function written(write: Promise<WriteResult>): Promise<number> {
  const result = await write
  assert.ok(result.written)
  return result.revision
}

interface RunningWatch {
  readonly events: StoreEvent[]
  until(condition: (events: readonly StoreEvent[]) => boolean): Promise<void>
  /** Resolves when the watch has reached a revision; requests progress. */
  untilRevision(revision: number): Promise<void>
  stop(): void
}

/** Consumes a watch in the background until the test ends. */
function startWatch(t: TestContext, store: Store, prefix: string, afterRevision: number): RunningWatch {
  const controller = new AbortController()
  const watch: Watch = store.watch({ prefix, afterRevision, signal: controller.signal })
  const events: StoreEvent[] = []
  let reached = afterRevision
  let batches = 0
  let failure: unknown
  let changed = Promise.withResolvers<void>()
  const reading = (async () => {
    for await (const batch of watch) {
      assert.ok(batch.revision >= reached, 'the revision of a watch does not go back')
      reached = batch.revision
      batches++
      events.push(...batch.events)
      changed.resolve()
    }
  })().catch((error: unknown) => {
    failure = error
    changed.resolve()
  })
  const waitFor = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      if (failure) throw failure as Error
      await changed.promise
      changed = Promise.withResolvers()
    }
  }
  const stop = (): void => controller.abort()
  t.after(async () => {
    stop()
    await reading
  })
  return {
    events,
    stop,
    until: condition => waitFor(() => condition(events)),
    untilRevision: async revision => {
      while (reached < revision) {
        const before = batches
        watch.requestProgress()
        await waitFor(() => batches > before)
      }
    },
  }
}

function failsWith(reason: StoreErrorReason): (error: unknown) => boolean {
  return error => error instanceof StoreError && error.reason === reason
}

let prefixes = 0

function uniquePrefix(): string {
  return `/registry/test${prefixes++}/`
}

function bytes(value: string): Uint8Array {
  return Buffer.from(value)
}

function text(value: Uint8Array | undefined): string {
  return value === undefined ? '' : Buffer.from(value).toString()
}

function show(entry: Entry | undefined): unknown {
  return entry && { ...entry, value: text(entry.value) }
}

function showEvent(event: StoreEvent): string {
  const key = event.key.slice(event.key.lastIndexOf('/') + 1)
  return event.type === 'put'
    ? `put ${key} ${text(event.value)} ${event.revision}`
    : `delete ${key} ${event.revision}`
}

function showNoted(event: StoreEvent): string {
  return `${showEvent(event)} ${event.note ? text(event.note) : '-'}`
}
