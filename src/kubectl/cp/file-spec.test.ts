import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archivePrefix, parseFileSpec, planTarget } from './file-spec.ts'

test('file specifications name a local file, or one of a pod', () => {
  const check = (text: string, expected: ReturnType<typeof parseFileSpec>): void => {
    assert.deepEqual(parseFileSpec(text), expected)
  }
  check('a/b', { path: 'a/b' })
  check('a/b/', { path: 'a/b' })
  check('/', { path: '/' })
  check('p:/a/', { pod: 'p', path: '/a' })
  check('p:', { pod: 'p', path: '' })
  check('n/p:a:b', { namespace: 'n', pod: 'p', path: 'a:b' })
  check(String.raw`p:C:\a`, { pod: 'p', path: 'C:/a' })
  for (const text of [':a', 'a/b/c:d']) assert.throws(() => parseFileSpec(text), /canonical format/)
})

test('the names in an archive begin with the path without what tar removes', () => {
  const check = (path: string, expected: string): void => assert.equal(archivePrefix(path), expected)
  check('/tmp/a', 'tmp/a')
  check('a/./b', 'a/b')
  check('../../a', 'a')
  check('.', '')
  check('..', '')
  check('/', '')
})

test('entries are written below the destination, or refused', () => {
  const check = (name: string, [prefix, destination]: readonly [string, string], expected: string): void => {
    const target = planTarget(name, { prefix, destination })
    const found = target && `${target.isOutside ? 'outside ' : ''}${target.path}`
    assert.equal(found ?? 'corrupt', expected)
  }
  check('tmp/a', ['tmp/a', 'out'], 'out')
  check('tmp/a/b', ['tmp/a', 'out'], 'out/b')
  check('tmp/a/b', ['tmp/a', '/out'], '/out/b')
  check('tmp/a/b', ['tmp/a', '.'], 'b')
  check('a/b', ['', 'out'], 'out/a/b')
  check('/etc/passwd', ['', 'out'], 'out/etc/passwd')
  check('tmp/b', ['tmp/a', 'out'], 'corrupt')
  check('tmp/a/../../../etc/passwd', ['tmp/a', 'out'], 'outside ../../etc/passwd')
  check('tmp/a/..', ['tmp/a', 'out'], 'outside .')
  check(String.raw`tmp/a/..\..\x`, ['tmp/a', 'out'], 'outside ../x')
  check('tmp/a/../out/x', ['tmp/a', 'out'], 'out/x')
  check('tmp/a/../x', ['tmp/a', '/'], '/x')
  check('../x', ['', '.'], 'outside ../x')
})
