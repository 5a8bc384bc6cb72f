import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addNewer, addOlder, noVersions, stepsOf, type VersionList } from './version-list.ts'

/** `9 8 7+`: revisions, and whether there are older ones. */
function page(text: string) {
  const items = text
    .replace('+', '')
    .split(' ')
    .filter(Boolean)
    .map(revision => ({ revision: Number(revision), time: '', type: 'MODIFIED' as const }))
  const last = items.at(-1)?.revision
  return { items, metadata: text.endsWith('+') ? { continue: String(last) } : {} }
}

function check(list: VersionList, expected: string): void {
  const text = list.versions.map(({ revision }) => revision).join(' ')
  assert.equal(`${text}${list.older === undefined ? '' : ` older than ${list.older}`}`, expected)
}

test('addOlder continues the list', () => {
  const first = addOlder(noVersions, page('9 8+'))
  check(first, '9 8 older than 8')
  check(addOlder(first, page('5 2')), '9 8 5 2')
})

test('addNewer puts new versions first, and begins again after a gap', () => {
  const list = addOlder(noVersions, page('9 8+'))
  check(addNewer(list, page('11 10 9+')), '11 10 9 8 older than 8')
  check(addNewer(list, page('9 8+')), '9 8 older than 8')
  check(addNewer(list, page('30 29+')), '30 29 older than 29')
  check(addNewer(noVersions, page('3 2+')), '3 2 older than 2')
  check(addNewer(addOlder(noVersions, page('9')), page('10 9')), '10 9')
})

test('addOlder is bounded', () => {
  const many = page(`${Array.from({ length: 3_000 }, (_, index) => 5_000 - index).join(' ')}+`)
  const { versions, older } = addOlder(noVersions, many)
  assert.deepEqual([versions.length, older], [2_000, undefined])
})

test('stepsOf pairs each version with the one before it', () => {
  const steps = stepsOf(addOlder(noVersions, page('3 2 1')))
  assert.deepEqual(
    steps.map(({ version, previous }) => [version.revision, previous?.revision]),
    [
      [3, 2],
      [2, 1],
      [1, undefined],
    ],
  )
})
