import assert from 'node:assert/strict'
import { openSync, writeSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { outputBound } from './bounded-output.ts'

test('a full log file is rotated once, both files stay bounded, and no line is lost', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-output-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'it.log')
  const descriptor = openSync(path, 'a', 0o600)
  const keepBounded = outputBound(path, descriptor)!
  const line = (number: number): string => `${number} ${'x'.repeat(1_000)}\n`
  const count = 10_000
  for (let number = 1; number <= count; number++) {
    writeSync(descriptor, line(number))
    keepBounded()
  }
  for (const each of [path, `${path}.old`]) {
    const { size, mode } = await stat(each)
    assert.ok(size > 0 && size <= 4 * 1_024 * 1_024 + line(count).length, `${each}: ${size}`)
    assert.equal(mode & 0o777, 0o600)
  }
  const text = (await readFile(`${path}.old`, 'utf8')) + (await readFile(path, 'utf8'))
  const numbers = text.split('\n').map(each => Number(each.split(' ')[0]))
  assert.equal(numbers.pop(), 0)
  assert.equal(numbers.at(-1), count)
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => numbers[0]! + index),
  )
})

test('output that is not the log file is not rotated', () => {
  assert.equal(outputBound(undefined), undefined)
  assert.equal(outputBound('/dev/null', openSync('/dev/null', 'a')), undefined)
})
