import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkUri, hostnameOf, parseUri, portOf, queryOf, UriError } from './uri.ts'

test('URIs are parsed', () => {
  const check = (text: string, expected: string): void => {
    const uri = parseUri(text)
    const parts = [
      uri.scheme,
      uri.host,
      hostnameOf(uri),
      portOf(uri),
      uri.path,
      uri.query ?? '',
      uri.fragment,
    ]
    assert.equal(parts.join(' | '), expected, text)
  }
  check(
    'https://user:pass@example.com:80/path?q=v#f',
    'https | example.com:80 | example.com | 80 | /path | q=v | f',
  )
  check('HTTPS://Example.com', 'https | Example.com | Example.com |  |  |  | ')
  check('/absolute-path', ' |  |  |  | /absolute-path |  | ')
  check('//host/path', ' | host | host |  | /path |  | ')
  check('https://[::1]:80/', 'https | [::1]:80 | ::1 | 80 | / |  | ')
  check('https://[::1]/', 'https | [::1] | ::1 |  | / |  | ')
  check('https://[fe80::1%25en0]:8080/', 'https | [fe80::1%en0]:8080 | fe80::1%en0 | 8080 | / |  | ')
  check('https://a:/', 'https | a: | a |  | / |  | ')
  check('https://h/path with spaces/', 'https | h | h |  | /path%20with%20spaces/ |  | ')
  check("https://h/a%2fb!*'()", "https | h | h |  | /a%2fb!*'() |  | ")
  check('https://h/é%20 ', 'https | h | h |  | /%C3%A9%20%20 |  | ')
  check('https://%C3%A9/', 'https | é | é |  | / |  | ')
  check('mailto:a@b?x', 'mailto |  |  |  |  | x | ')
  check('*', ' |  |  |  | * |  | ')
  check('https://h?', 'https | h | h |  |  |  | ')
  check('https://h/?a#b#c', 'https | h | h |  | / | a | b#c')
})

test("invalid URIs have Kubernetes' messages", () => {
  const check = (text: string, problem: string, shown = text): void => {
    assert.equal(checkUri(text), `parse ${JSON.stringify(shown)}: ${problem}`)
  }
  check('', 'empty url')
  check('../relative-path', 'invalid URI for request')
  check('a', 'invalid URI for request')
  check(':foo', 'missing protocol scheme')
  check('1a:foo', 'invalid URI for request')
  check('https://a:b:c/', 'invalid port ":b:c" after host')
  check('https://a:b/', 'invalid port ":b" after host')
  check('https://a:80:80/', 'invalid port ":80:80" after host')
  check('https://[::1', "missing ']' in host")
  check('https://[::1]x', 'invalid port "x" after host')
  check('https://[::x]', 'invalid host: ParseAddr("::x"): unable to parse IP')
  check('https://[1.2.3.4]', 'invalid IP-literal')
  check('https://a b/', 'invalid character " " in host name')
  check('https://a%20b/', 'invalid URL escape "%20"')
  check('https://h/%zz', 'invalid URL escape "%zz"')
  check('https://h/%z', 'invalid URL escape "%z"')
  check('https://u ser@h/', 'net/url: invalid userinfo')
  assert.equal(checkUri('/a\nb'), 'parse "/a\\nb": net/url: invalid control character in URL')
  assert.throws(() => parseUri('https://h#%zz'), { name: 'UriError' })
})

test('query parameters are unescaped and grouped by key', () => {
  const check = (query: string, expected: object): void => {
    assert.deepEqual(Object.fromEntries(queryOf(parseUri(`https://h/?${query}`))), expected)
  }
  check('k1=a&k2=b&k2=c', { k1: ['a'], k2: ['b', 'c'] })
  check('key with spaces=value+with%20spaces', { 'key with spaces': ['value with spaces'] })
  check('a&=b&&c=', { 'a': [''], '': ['b'], 'c': [''] })
  check('a=%zz&b=1;c=2&d=%c3%a9', { d: ['é'] })
  check('', {})
  check('__proto__=x', Object.fromEntries([['__proto__', ['x']]]))
})

test('parsing any text as URI throws at most UriError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('ah:/?#[]@%20é\n. ')) }), text => {
      try {
        const uri = parseUri(text)
        hostnameOf(uri)
        queryOf(uri)
      } catch (error) {
        assert.ok(error instanceof UriError)
      }
    }),
    { numRuns: 500 },
  )
  assert.equal(checkUri(`https://h/${'%20 '.repeat(50_000)}`), undefined)
})
