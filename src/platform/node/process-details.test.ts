import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProcessDetails } from './process-details.ts'

const limits = `Limit                     Soft Limit           Hard Limit           Units
Max file size             unlimited            unlimited            bytes
Max open files            1024                 524288               files
Max address space         unlimited            unlimited            bytes
`

const netstat = `TcpExt: SyncookiesSent InOctets
TcpExt: 1 2
IpExt: InNoRoutes InOctets OutOctets
IpExt: 0 6186772012 5883384956
`

const stat =
  '42 (a) b ) S 1 42 42 0 -1 4194304 9 0 0 0 5 6 0 0 20 0 11 0 8836 1234567168 12030 18446744073709551615'

test('the details of a process are read from its files under /proc', () => {
  assert.deepEqual(parseProcessDetails({ stat, limits, netstat }), {
    virtualBytes: 1_234_567_168,
    virtualBytesMax: Infinity,
    openFilesMax: 1024,
    networkReceivedBytes: 6_186_772_012,
    networkSentBytes: 5_883_384_956,
  })
})
