import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerHealth, clientUrls, readEtcdFlags } from './etcd.ts'

test('flags are read with one or two dashes, with and without a value', () => {
  const check = (line: string, expected: Readonly<Record<string, string>>): void => {
    assert.deepEqual(Object.fromEntries(readEtcdFlags(line.split(' '))), expected, line)
  }
  check('--data-dir=/x --unsafe-no-fsync=true', { 'data-dir': '/x', 'unsafe-no-fsync': 'true' })
  check('--data-dir /x --unsafe-no-fsync', { 'data-dir': '/x', 'unsafe-no-fsync': 'true' })
  check('-unsafe-no-fsync -name a', { 'unsafe-no-fsync': 'true', 'name': 'a' })
  check('--initial-cluster=a=http://b:1', { 'initial-cluster': 'a=http://b:1' })
  assert.throws(() => readEtcdFlags(['start']), /'start' is not a valid flag/)
})

test('client URLs are http or https', () => {
  const read = (text: string): readonly string[] =>
    clientUrls(new Map([['listen-client-urls', text]])).map(({ href }) => href)
  assert.deepEqual(read('http://127.0.0.1:1,https://[::1]:2'), ['http://127.0.0.1:1/', 'https://[::1]:2/'])
  assert.deepEqual(
    clientUrls(new Map()).map(({ href }) => href),
    ['http://localhost:2379/'],
  )
  for (const text of ['', 'unix://a', '127.0.0.1:2379']) assert.throws(() => read(text), /must be an http/)
})

test('health endpoints answer, and everything else explains itself', () => {
  assert.deepEqual(answerHealth('/health?serializable=true'), {
    status: 200,
    body: '{"health":"true","reason":""}',
  })
  assert.equal(answerHealth('/readyz').status, 200)
  assert.equal(answerHealth('/livez').status, 200)
  const other = answerHealth('/v3/kv/range')
  assert.equal(other.status, 404)
  assert.match(other.body, /only answers health checks/)
})
