import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTargetName } from './target-name.ts'

test('a proxy target is [scheme:]name[:port]', () => {
  const check = (text: string, expected: string | undefined): void => {
    const found = parseTargetName(text)
    assert.equal(found && `${found.scheme}|${found.name}|${found.port}`, expected, text)
  }
  check('web', '|web|')
  check('web:80', '|web|80')
  check('web:', '|web|')
  check('http:web:http', 'http|web|http')
  check('https:web:', 'https|web|')
  check(':web:80', '|web|80')
  check('ftp:web:80', undefined)
  check('', undefined)
  check('http::80', undefined)
  check('a:b:c:d', undefined)
})
