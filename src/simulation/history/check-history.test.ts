import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHistory } from './check-history.ts'
import { historyOf } from './test-history.ts'

/** Every violation matches one of the patterns, and every pattern is matched. */
function check(text: string, ...patterns: readonly RegExp[]): void {
  const { violations, undecided } = checkHistory(historyOf(text))
  assert.deepEqual(undecided, [])
  const shown = `${text}\n=> ${violations.join('\n=> ')}`
  for (const pattern of patterns)
    assert.ok(
      violations.some(each => pattern.test(each)),
      `${pattern}: ${shown}`,
    )
  for (const each of violations)
    assert.ok(
      patterns.some(pattern => pattern.test(each)),
      shown,
    )
}

test('correct histories have no violations', () => {
  check(`
    0-1 a create k v1 = 5
    2-3 b create k v2 = AlreadyExists
    2-5 b update k v3 if 5 = 7
    2-6 a patch k v4 if 5 = Conflict
    4-8 c get k = v3@7
    9-10 a delete k if 5 = Conflict
    11-12 a delete k = ok
    11-13 b update k v5 if 7 = NotFound
    14-15 c get k = NotFound
    16-17 c apply k v6 = 12
    18-19 c list = 12: k=v6@12
    20-21 c final = 12: k=v6@12
    0-21 w watch 3: ADDED k v1@5, MODIFIED k v3@7, DELETED k v3@9, ADDED k v6@12, BOOKMARK 15
    informer i: k=v6@12
  `)
})

test('unknown outcomes may have happened, later or never', () => {
  check(`
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = ?
    4-5 b get k = v1@5
    6-7 b update k v3 if 5 = Conflict
    8-9 b get k = v2@9
    10-11 a delete k = ?
    12-13 b get k = v2@9
    14-15 b get k = NotFound
    16-17 a create k v4 = ?
    18-19 a create k v5 = AlreadyExists
  `)
})

const unordered = /is not linearizable/

test('a stale read', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = 6
    4-5 b get k = v1@5
  `,
    unordered,
  )
})

test('a lost update: two writers of one version succeed', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = 6
    2-4 b update k v3 if 5 = 7
  `,
    unordered,
  )
})

test('a lost acknowledged write', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = 6
    4-5 c final = 7: k=v1@5
  `,
    /acknowledged write is lost: k is v1 at 5 at the end: a: update/,
    /list of c at 7 has k v1 at 5/,
    unordered,
  )
  check(
    `
    0-1 a create k v1 = 5
    4-5 c final = 7:
  `,
    /acknowledged write is lost: k is absent/,
    unordered,
  )
})

test('a resurrected object', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a delete k = ok
    4-5 c final = 7: k=v1@5
  `,
    /deleted object is present: k v1 at 5/,
    unordered,
  )
})

test('dirty reads: of a write that failed, and of no write', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 3 = Conflict
    4-5 b get k = v2@6
    6-7 b get k = v9@7
  `,
    /dirty read: k has v2 at 6.*the write failed/,
    /dirty read: no operation wrote.*k has v9 at 7/,
    unordered,
  )
})

test('a write that returns another value', () => {
  check('0-1 a create k v1 = v2@5', /another value than the request/, /dirty read/)
})

test('a revision that is given twice', () => {
  check(
    `
    0-1 a create k v1 = 5
    0-2 b create m v2 = 5
  `,
    /revision 5 is two different writes: k v1 by a \(create\), m v2 by b \(create\)/,
  )
})

test('a write that is executed twice', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 = ?
    0-9 w watch 4: ADDED k v1@5, MODIFIED k v2@6, MODIFIED k v2@7
  `,
    /k v2 is written twice: at 6 by w \(MODIFIED\), at 7 by w/,
    unordered,
  )
})

test('revisions that contradict real time across objects', () => {
  check(
    `
    0-1 a create k v1 = 9
    2-3 b create m v2 = 8
    4-5 c list = 8: m=v2@8
  `,
    /a: create k was acknowledged with revision 9, then b: create m has 8/,
    /then c: list has 8/,
    unordered,
  )
})

test('failures that the state does not explain', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = Conflict
  `,
    unordered,
  )
  check(
    `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = NotFound
  `,
    unordered,
  )
  check(
    `
    0-1 a create k v1 = AlreadyExists
    2-3 a create k v2 = 5
  `,
    unordered,
  )
})

test('lists are snapshots at their revision', () => {
  const writes = `
    0-1 a create k v1 = 5
    0-1 b create m v2 = 6
    2-3 a update k v3 if 5 = 7
    0-9 w watch 4: ADDED k v1@5, ADDED m v2@6, MODIFIED k v3@7, BOOKMARK 8
  `
  check(`${writes}
    4-5 c list any = 6: k=v1@5 m=v2@6
    4-5 c list exact 5 = 5: k=v1@5
    4-5 c list not-older-than 6 = 7: k=v3@7 m=v2@6`)
  check(
    `${writes}
    4-5 c list any = 6: k=v1@5`,
    /list of c at 6 has m absent, but it was v2 at 6/,
  )
  check(
    `${writes}
    4-5 c list any = 7: k=v1@5 m=v2@6`,
    /list of c at 7 has k v1 at 5, but it was v3 at 7/,
  )
  check(
    `${writes}
    4-5 c list exact 5 = 6: k=v1@5 m=v2@6`,
    /is not at the requested revision 5/,
  )
  check(
    `${writes}
    4-5 c list not-older-than 7 = 6: k=v1@5 m=v2@6`,
    /is older than the requested revision 7/,
  )
})

test('informers that differ from the server at rest', () => {
  check(
    `
    0-1 a create k v1 = 5
    0-1 a create m v2 = 6
    4-5 c final = 7: k=v1@5 m=v2@6
    informer i: k=v1@5
  `,
    /informer i: m is absent, on the server v2 at 6/,
  )
})

const watched = `
    0-1 a create k v1 = 5
    2-3 a update k v2 if 5 = 6
    4-5 a delete k = ok
    6-7 a create k v3 = 9
    0-9 v watch 4: ADDED k v1@5, MODIFIED k v2@6, DELETED k v2@8, ADDED k v3@9`

test('a watch that is resumed, expires and lists again', () => {
  check(`${watched}
    0-3 w watch 4: ADDED k v1@5, MODIFIED k v2@6
    4-5 w watch 6: BOOKMARK 6 expired
    6-7 w list = 9: k=v3@9
    8-9 w watch 9:
    10-12 w watch 5: MODIFIED k v2@6
    13-14 w watch 9:`)
})

test('watches that are not in order, repeat, miss or change events', () => {
  const order = /is not in order/
  const misses = /misses a write before its position/
  check(
    `${watched}
    0-9 w watch 4: MODIFIED k v2@6, ADDED k v1@5, DELETED k v2@8, ADDED k v3@9`,
    order,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, ADDED k v1@5, MODIFIED k v2@6`,
    order,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, DELETED k v2@8, ADDED k v3@9`,
    misses,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, MODIFIED k v2@6, ADDED k v3@9`,
    misses,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, BOOKMARK 7`,
    misses,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, BOOKMARK 7, MODIFIED k v2@6`,
    order,
  )
  check(
    `${watched}
    0-9 w watch 6: MODIFIED k v2@6, DELETED k v2@8`,
    order,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, MODIFIED k v3@6`,
    /revision 6 is two different writes/,
  )
  check(
    `${watched}
    0-9 w watch 4: ADDED k v1@5, ADDED k v2@6`,
    /has ADDED 6 .* of an object that was v1 at 5/,
  )
  check(
    `${watched}
    0-9 w watch 6: DELETED k v1@8`,
    /has DELETED 8 .* of an object that was v2 at 6/,
  )
})

test('watches that are resumed with a gap, after 410 without a list, or that stall', () => {
  check(
    `${watched}
    0-3 w watch 4: ADDED k v1@5
    4-9 w watch 6: DELETED k v2@8`,
    /watch of w after 6 leaves out what follows 5/,
  )
  check(
    `${watched}
    0-3 w watch 4: ADDED k v1@5 expired
    4-9 w watch 5: MODIFIED k v2@6`,
    /follows 410 without a list/,
  )
  check(
    `${watched}
    0-3 w watch 4: ADDED k v1@5
    8-9 c final = 9: k=v3@9`,
    /watcher w has not arrived at 9: it is at 5/,
  )
})

test('deletions that watches have not shown, of objects that are written no more', () => {
  const later = `
    0-1 a create k v1 = 5
    10-11 b create m v2 = 9
    12-13 c final = 9: m=v2@9`
  check(`${later}
    2-3 a delete k = ok
    0-13 w watch 4: ADDED k v1@5, DELETED k v1@6, ADDED m v2@9`)
  check(
    `${later}
    2-3 a delete k = ok
    0-13 w watch 4: ADDED k v1@5, ADDED m v2@9`,
    /list of c at 9 has k absent, but it was v1 at 5/,
    unordered,
  )
  // Of an unknown outcome it may also be later than the watch.
  check(`${later}
    2-3 a delete k = ?
    0-13 w watch 4: ADDED k v1@5
    0-13 w watch 5: DELETED k v1@6, ADDED m v2@9`)
})

test('two deletions of one object', () => {
  check(
    `
    0-1 a create k v1 = 5
    2-3 a create k v3 = ?
    4-5 a delete k = ok
    6-7 b delete k = ok
    8-9 b create m v2 = 9
    0-9 w watch 4: ADDED k v1@5, DELETED k v1@6, ADDED m v2@9`,
    unordered,
  )
})

test('a watcher begins before its position again, also after 410 and a list', () => {
  check(`${watched}
    0-3 w watch 4: ADDED k v1@5 expired
    8-9 w list = 9: k=v3@9
    10-11 w watch 6: DELETED k v2@8, ADDED k v3@9`)
})

const repaired = `
    0-1 a create k v1 = 5
    0-1 b create m w1 = 6
    2-3 a update k v2 = 7
    4-5 b delete m = ok
    0-6 w watch 4: ADDED k v1@5, ADDED m w1@6, MODIFIED k v2@7
`

test('a repaired store may have lost what is reported, and continues with what is left', () => {
  check(`
    ${repaired}
    6-7 a update k v3 if 7 = ?
    8-31 b create m w2 = ?
    epoch 30 = 1000: k=v1@5 m=w1@6 lost 7-8
    29-33 c get k = v1@5
    34-35 c list = 1000: k=v1@5 m=w1@6
    34-36 w watch 7: expired
    36-37 w list = 1000: k=v1@5 m=w1@6
    38-39 a update k v4 if 7 = Conflict
    40-41 a update k v5 if 5 = 1001
    42-43 b delete m = ok
    44-45 b create m w3 = 1003
    46-47 c final = 1003: k=v5@1001 m=w3@1003
    37-48 w watch 1000: MODIFIED k v5@1001, DELETED m w1@1002, ADDED m w3@1003
    informer i: k=v5@1001 m=w3@1003
  `)
})

test('a restored snapshot has the objects of its revision', () => {
  const end = '40-41 c final = 1000: k=v1@5 m=w1@6\n 42-43 w list = 1000: k=v1@5 m=w1@6'
  check(`${repaired}\n epoch 30 of 6 = 1000: k=v1@5 m=w1@6 lost 7-1000\n ${end}`)
  const other = end.replaceAll(' m=w1@6', '')
  check(
    `${repaired}\n epoch 30 of 6 = 1000: k=v1@5 lost 7-1000\n ${other}`,
    /list of the snapshot at 6 has m absent/,
  )
})

test('a repaired store that has lost more than is reported', () => {
  const reported = /has less than is reported: acknowledged write is lost: k is/
  const end = (objects: string): string => `40-41 c final = 1000:${objects}\n 42-43 w list = 1000:${objects}`
  check(`${repaired}\n epoch 30 = 1000: k=v1@5 lost 6-6\n ${end(' k=v1@5')}`, reported)
  check(`${repaired}\n epoch 30 = 1000: lost 6-7\n ${end('')}`, reported)
  check(`${repaired}\n epoch 30 = 1000: lost 5-7\n ${end('')}`)
})

test('a loss after a repair is not excused by it', () => {
  check(
    `
    ${repaired}
    epoch 30 = 1000: k=v1@5 lost 7-7
    31-32 a update k v3 = 1001
    33-34 b get k = v1@5
    40-41 c final = 1001: k=v1@5
    42-43 w list = 1001: k=v1@5
  `,
    unordered,
    /list of \w at 1001 has k v1 at 5/,
    /^acknowledged write is lost: k is v1 at 5 at the end/,
  )
})

test('an object appears that neither the repaired store has nor a later write', () => {
  check(
    `
    ${repaired}
    epoch 30 = 1000: k=v1@5 lost 7-7
    31-32 b get k = v2@7
    33-34 b list = 1000: k=v1@5 m=w1@6
  `,
    unordered,
    /list of b at 1000 has m w1 at 6, but it was absent/,
  )
})

test('a repaired store that gives revisions again', () => {
  check(
    `
    ${repaired}
    epoch 30 = 6: k=v1@5 lost 7-7
    31-32 a update k v3 = 7
  `,
    /gives revisions again/,
    /revision 7 is two different writes/,
    /revisions contradict real time/,
    unordered,
    /watch of w after 4/,
  )
})

test('a watch that goes on across a repair', () => {
  const later = '31-32 a update k v3 = 1001'
  const goesOn = /watch of w after 7 goes on after the store was replaced at 1000/
  check(
    `${repaired}\n epoch 30 = 1000: k=v1@5 lost 7-7\n ${later}\n 31-40 w watch 7: MODIFIED k v3@1001`,
    goesOn,
    // The watch has not shown the deletion that was lost.
    unordered,
  )
  check(`${repaired}\n epoch 30 = 1000: k=v1@5 lost 7-7\n ${later}\n 31-40 w watch 7:`, goesOn)
})

test('what the tool itself has seen', () => {
  const text = 'the start was refused without a reason'
  assert.deepEqual(checkHistory([{ type: 'violation', text }]).violations, [text])
})
