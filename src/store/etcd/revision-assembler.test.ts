import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StoreEvent } from '../store.ts'
import { KeySpace } from './keys.ts'
import { RevisionAssembler } from './revision-assembler.ts'

/**
 * In `3a 3b | 4c`, a fragment has two events of revision 3 and is followed by one of revision 4. `3*x` is the note x of
 * revision 3, and `a*x` an event with it.
 */
function check(given: string, expected: string): void {
  const assembler = new RevisionAssembler(new KeySpace('/k/'), 2)
  const fragments = given.split('|').map(part =>
    part
      .trim()
      .split(' ')
      .filter(word => word !== ''),
  )
  const shown = fragments.map((words, index) => {
    const changes = assembler.take(words.map(event), index < fragments.length - 1)
    if (changes === undefined) return 'gap'
    return changes.map(({ revision, events }) => `${revision}(${keysOf(events)})`).join(' ')
  })
  assert.equal(shown.join(' | '), expected, given)
}

function keysOf(events: readonly StoreEvent[]): string {
  return events.map(({ key, note }) => (note ? `${key}*${Buffer.from(note).toString()}` : key)).join(' ')
}

function event(word: string) {
  const [, revision = '', key = ''] = /^(\d+)(.*)$/.exec(word) ?? []
  const kv = key.startsWith('*')
    ? { key: Buffer.from('/k/k8ts/note'), value: Buffer.from(key.slice(1)) }
    : { key: Buffer.from(key.startsWith('!') ? key : `/k/${key}`), value: Buffer.from('v') }
  return { type: 0, kv: { ...kv, createRevision: 1, lease: 0, modRevision: Number(revision) } }
}

test('watch events are assembled into complete revisions', () => {
  check('', '')
  check('3a', '3(a)')
  check('3a 3b 4c', '3(a b) 4(c)')
  check('3a | 3b | 4c', ' |  | 3(a b) 4(c)')
  check('3a 4b | 4c 5d | 5e', '3(a) | 4(b c) | 5(d e)')
})

test('keys of other prefixes count for the revision and are not returned', () => {
  check('3!x 4a', '3() 4(a)')
  check('3a 3!x | 3b', ' | 3(a b)')
})

test('a note belongs to the events of its revision, whatever their order', () => {
  check('3a 3*x 4b 5*y 5c', '3(a*x) 4(b) 5(c*y)')
  check('3a | 3*x | 4b', ' |  | 3(a*x) 4(b)')
  check('3*x | 3a 3b 4*y | 4c', ' | 3(a*x b*x) | 4(c*y)')
})

test('a note without its write is a missing revision: etcd has compacted the deletion', () => {
  check('3*x', 'gap')
  check('3*x 4a', 'gap')
  check('3*x | 4a', ' | gap')
  check('3!x 3*x', 'gap')
})

test('known revisions are skipped, missing ones are detected', () => {
  check('1a 2b 3c', '3(c)')
  check('1a 2b', '')
  check('4a', 'gap')
  check('3a 5b', 'gap')
  check('3a | 5b', ' | gap')
})

test('fragmented watch responses give the same revisions', () => {
  const words = ['3a', '3b', '4c', '5d', '5e', '5f', '6g']
  fc.assert(
    fc.property(fc.array(fc.nat(words.length), { maxLength: 8 }), cuts => {
      const assembler = new RevisionAssembler(new KeySpace('/k/'), 2)
      const places = [0, ...cuts.sort((left, right) => left - right), words.length]
      const parts = places.slice(1).map((end, index) => words.slice(places[index], end))
      const changes = parts.flatMap((part, index) => {
        return assembler.take(part.map(event), index < parts.length - 1) ?? []
      })
      const sizes = changes.map(({ revision, events }) => [revision, events.length])
      assert.deepEqual(sizes, [
        [3, 2],
        [4, 1],
        [5, 3],
        [6, 1],
      ])
    }),
  )
})
