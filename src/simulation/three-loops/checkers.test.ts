import assert from 'node:assert/strict'
import test from 'node:test'
import { check, type Observations } from './checkers.ts'

/**
 * A correct history: `w` puts `/s` at revision 2, it is put again at 3, `w` creates `/p` at 4 and deletes it
 * at 5; write 9 of `w` lost its race.
 */
const good: Observations = {
  acknowledged: [
    { kind: 'put', writer: 'w', key: '/s', sequence: 1, revision: 2 },
    { kind: 'put', writer: 'v', key: '/s', sequence: 1, revision: 3 },
    { kind: 'put', writer: 'w', key: '/p', sequence: 2, revision: 4 },
    { kind: 'delete', writer: 'w', key: '/p', revision: 5 },
  ],
  rejected: [{ writer: 'w', key: '/s', sequence: 9 }],
  read: [
    { writer: 'w', key: '/s', revision: 2 },
    { writer: 'w', key: '/s', revision: 3 },
  ],
  watched: [],
  log: [
    { kind: 'put', key: '/s', revision: 2, writer: 'w', sequence: 1 },
    { kind: 'put', key: '/s', revision: 3, writer: 'v', sequence: 1 },
    { kind: 'put', key: '/p', revision: 4, writer: 'w', sequence: 2 },
    { kind: 'delete', key: '/p', revision: 5 },
  ],
  state: [{ key: '/s', revision: 3 }],
  oddities: [],
}

test('correct observations pass', () => {
  expect({}, [])
  const unknownRevision = { kind: 'delete', writer: 'w', key: '/p' } as const
  expect({ acknowledged: [...good.acknowledged.slice(0, 3), unknownRevision] }, [])
})

test('a missing, misplaced or repeated acknowledged write is reported', () => {
  expect(
    {
      log: good.log.slice(0, 3),
      state: [
        { key: '/s', revision: 3 },
        { key: '/p', revision: 4 },
      ],
    },
    ['acknowledged delete of /p by w at 5 is not there'],
  )
  expect({ acknowledged: [{ kind: 'put', writer: 'w', key: '/s', sequence: 7, revision: 9 }] }, [
    'acknowledged put of /s by w #7 at 9 is not there',
  ])
  expect({ acknowledged: [{ kind: 'put', writer: 'w', key: '/s', sequence: 1, revision: 1 }] }, [
    'acknowledged put of /s by w #1 at 1 is there at 2',
  ])
  const again = { kind: 'put', key: '/s', revision: 6, writer: 'w', sequence: 1 } as const
  expect({ log: [...good.log, again], state: [{ key: '/s', revision: 6 }] }, [
    'acknowledged put of /s by w #1 at 2 is there 2 times',
  ])
})

test('a rejected write that happened is reported', () => {
  expect({ rejected: [{ writer: 'v', key: '/s', sequence: 1 }] }, ['rejected /s of v #1 is there'])
})

test('a duplicate or decreasing revision is reported', () => {
  const [first, second] = good.log
  assert(first && second)
  const allAt2 = good.acknowledged.map(write => ({ ...write, revision: 2 }))
  expect({ acknowledged: allAt2, log: [first], state: [{ key: '/s', revision: 2 }] }, [
    'acknowledged put of /s by v #1 at 2 is not there',
    'acknowledged put of /p by w #2 at 2 is not there',
    'acknowledged delete of /p by w at 2 is not there',
    'put of /s by w #1 at 2 and put of /s by v #1 at 2 have the same revision',
    'put of /s by v #1 at 2 and put of /p by w #2 at 2 have the same revision',
    'put of /p by w #2 at 2 does not come after 2',
    'put of /p by w #2 at 2 and delete of /p by w at 2 have the same revision',
    'delete of /p by w at 2 does not come after 2',
  ])
  expect({ acknowledged: [], log: [second, first], state: [{ key: '/s', revision: 2 }] }, [
    'the log has 2 out of order',
    'the watcher saw 2 again or out of order',
  ])
  expect({ read: good.read.toReversed() }, ['w saw /s go back from 3 to 2'])
})

test('missed, repeated, reordered or invented watch events are reported', () => {
  const [first, second, third, fourth] = good.log
  assert(first && second && third && fourth)
  const missed = `the watcher missed ${JSON.stringify(second)}`
  expect({ watched: [first, third, fourth] }, [missed])
  expect({ watched: [first, second, second, third, fourth] }, ['the watcher saw 3 again or out of order'])
  expect({ watched: [first, third, second, fourth] }, ['the watcher saw 3 again or out of order'])
  const other = { ...fourth, key: '/q' }
  expect({ watched: [first, second, third, other] }, [
    `the watcher missed ${JSON.stringify(fourth)}`,
    `the watcher saw what never happened: ${JSON.stringify(other)}`,
  ])
})

test('a state that differs from the log is reported', () => {
  expect({ state: [{ key: '/p', revision: 4 }] }, [
    '/p is at 4, the log says nothing',
    '/s is at nothing, the log says 3',
  ])
})

test('anomalies reported by a loop are passed on', () => {
  expect({ oddities: ['odd'] }, ['odd'])
})

/** By default the watcher saw the log. */
function expect(change: Partial<Observations>, violations: readonly string[]): void {
  const changed = { ...good, ...change }
  assert.deepEqual(check({ ...changed, watched: change.watched ?? changed.log }), violations)
}
