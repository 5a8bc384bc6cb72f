import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeControlCharacters } from './escape-control-characters.ts'

test('characters that a terminal acts on are escaped, all others are kept', () => {
  const cases = [
    ['web-0 Größe 日本 🙂', 'web-0 Größe 日本 🙂'],
    ['a\u001b[2J\u009b1m\u202eb\u0007\u2028c', 'a\\u001b[2J\\u009b1m\\u202eb\\u0007\\u2028c'],
    ['two\nlines\tand\r\u007f', 'two\\u000alines\\u0009and\\u000d\\u007f'],
    ['\ud800\u200bx', '\\ud800\\u200bx'],
  ]
  for (const [text = '', expected] of cases) assert.equal(escapeControlCharacters(text), expected)
})
