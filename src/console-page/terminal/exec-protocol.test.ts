import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMessage, encodeInput, encodeSize } from './exec-protocol.ts'

const bytes = (channel: number, text: string): Uint8Array =>
  Uint8Array.of(channel, ...new TextEncoder().encode(text))

test('encodeInput and encodeSize put the channel before the content', () => {
  assert.deepEqual(encodeInput('é'), bytes(0, 'é'))
  assert.deepEqual(encodeSize({ columns: 80, rows: 24 }), bytes(4, '{"Width":80,"Height":24}'))
})

test('decodeMessage returns output, and how the command ended', () => {
  const check = (message: Uint8Array, expected: unknown): void => {
    const { type, ...rest } = decodeMessage(message)
    assert.deepEqual([type, ...Object.values(rest)], expected)
  }
  const exit = (status: object): Uint8Array => bytes(3, JSON.stringify(status))
  check(bytes(1, 'hi'), ['output', new TextEncoder().encode('hi')])
  check(bytes(2, ''), ['output', new Uint8Array()])
  check(exit({ status: 'Success' }), ['ended', { code: 0, message: 'exited with code 0' }])
  const causes = [{ reason: 'ExitCode', message: '137' }]
  check(exit({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes } }), [
    'ended',
    { code: 137, message: 'exited with code 137' },
  ])
  check(exit({ status: 'Failure', message: 'no such container' }), [
    'ended',
    { code: undefined, message: 'no such container' },
  ])
  check(bytes(3, 'not JSON'), ['ended', { code: undefined, message: 'not JSON' }])
  check(bytes(9, 'x'), ['other'])
  check(new Uint8Array(), ['other'])
})
