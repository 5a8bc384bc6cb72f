import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { parseClientHello } from './client-hello.ts'

function vector(lengthWidth: number, ...parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts)
  const length = Buffer.alloc(lengthWidth)
  length.writeUIntBE(bytes.length, 0, lengthWidth)
  return Buffer.concat([length, bytes])
}

function extension(type: number, ...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), vector(2, ...parts)])
}

function helloOf(extensions: readonly Uint8Array[]): Buffer {
  const fixed = Buffer.alloc(34, 3)
  const suites = [vector(1), vector(2, Buffer.from([0x13, 0x01])), vector(1, Buffer.from([0]))]
  return Buffer.concat([Buffer.from([1]), vector(3, fixed, ...suites, vector(2, ...extensions))])
}

/** As TLS records with at most this many bytes each. */
function recordsOf(message: Buffer, bytesMax = 16_000): Buffer {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += bytesMax)
    records.push(Buffer.from([22, 3, 1]), vector(2, message.subarray(at, at + bytesMax)))
  return Buffer.concat(records)
}

const serverName = extension(0, vector(2, Buffer.from([0]), vector(2, Buffer.from('Web.Example.com'))))
const hello = helloOf([extension(10, Buffer.from([1, 2])), serverName])

test('the server name of a ClientHello is found, in any split into records', () => {
  for (const bytesMax of [16_000, 50, 1])
    assert.deepEqual(parseClientHello(recordsOf(hello, bytesMax)), {
      type: 'complete',
      serverName: 'web.example.com',
    })
  assert.deepEqual(parseClientHello(recordsOf(helloOf([]))), { type: 'complete', serverName: undefined })
  assert.equal(parseClientHello(Buffer.from('GET / HTTP/1.1\r\n')).type, 'malformed')
})

test('a part of a ClientHello needs more bytes, and a damaged one does no harm', () => {
  const whole = recordsOf(hello)
  for (let length = 0; length < whole.length; length++)
    assert.equal(parseClientHello(whole.subarray(0, length)).type, 'incomplete')
  const random = new SeededRandom('hello')
  for (let round = 0; round < 2_000; round++) {
    const damaged = Buffer.from(whole)
    for (let count = 0; count < 3; count++) damaged[random.integer(damaged.length)] = random.integer(256)
    parseClientHello(damaged)
  }
})
