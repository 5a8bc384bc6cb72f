import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRoute, parseRoute } from './route.ts'

test('parseRoute reads the segments and parameters that formatRoute wrote', () => {
  const check = (path: readonly string[], query: Record<string, string>, hash: string): void => {
    assert.equal(formatRoute(path, query), hash)
    assert.deepEqual(parseRoute(hash), { path, query })
  }
  check([], {}, '#/')
  check(['pods', 'default', 'web-0'], {}, '#/pods/default/web-0')
  check(['pods'], { namespace: 'shop', filter: 'a b' }, '#/pods?namespace=shop&filter=a+b')
  check(['x/y', '?', '#'], { 'a&b': '<i>' }, '#/x%2Fy/%3F/%23?a%26b=%3Ci%3E')
})

test('parseRoute accepts addresses that no program wrote', () => {
  assert.deepEqual(parseRoute(''), { path: [], query: {} })
  assert.deepEqual(parseRoute('#pods'), { path: ['pods'], query: {} })
  assert.deepEqual(parseRoute('#//pods//%zz'), { path: ['pods', '%zz'], query: {} })
})

test('formatRoute leaves out empty parameters', () => {
  assert.equal(formatRoute(['pods'], { namespace: '', filter: undefined }), '#/pods')
})
