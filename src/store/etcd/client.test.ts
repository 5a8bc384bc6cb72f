import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcCode } from '#/platform/grpc.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { StoreErrorReason } from '../store.ts'
import { EtcdClient, storeErrorOf } from './client.ts'
import { AlarmResponse } from '../etcd-messages.ts'

test("etcd's errors have the reason of the store", () => {
  const check = (code: GrpcCode, details: string, expected: StoreErrorReason): void => {
    assert.equal(storeErrorOf(new GrpcError(code, details, { sent: true })).reason, expected)
  }
  check('out-of-range', 'etcdserver: mvcc: required revision has been compacted', 'compacted')
  check('out-of-range', 'etcdserver: mvcc: required revision is a future revision', 'future-revision')
  check('invalid-argument', 'etcdserver: request is too large', 'too-large')
  check('resource-exhausted', 'grpc: received message larger than max', 'too-large')
  check('resource-exhausted', 'etcdserver: mvcc: database space exceeded', 'full')
  check('data-loss', 'etcdserver: corrupt cluster', 'damaged')
  check('unavailable', 'etcdserver: no leader', 'unavailable')
})

test("etcd's alarms are raised by its errors and by its list of alarms", async () => {
  const check = async (answer: Uint8Array | GrpcError, expected: readonly string[]): Promise<void> => {
    const simulation = new Simulation({ seed: 1 })
    const client = new EtcdClient({
      platform: simulation.host('a'),
      channel: {
        unary: async () => {
          if (answer instanceof GrpcError) throw answer
          return answer
        },
        stream: () => assert.fail('no stream is opened'),
        [Symbol.asyncDispose]: async () => undefined,
      },
      attemptTimeoutMs: 1_000,
      requestTimeoutMs: 1_000,
    })
    await simulation.run(client.readAlarms()).catch(() => undefined)
    assert.deepEqual(
      client.alarms.current.map(({ type }) => type),
      expected,
    )
  }
  const sent = { sent: true }
  await check(new GrpcError('data-loss', 'etcdserver: corrupt cluster', sent), ['CORRUPT'])
  await check(new GrpcError('resource-exhausted', 'etcdserver: mvcc: database space exceeded', sent), [
    'NOSPACE',
  ])
  await check(new GrpcError('permission-denied', 'etcdserver: permission denied', sent), [])
  await check(AlarmResponse.encode({ alarms: [] }), [])
  await check(AlarmResponse.encode({ alarms: [{ alarm: 2 }, { alarm: 1 }] }), ['CORRUPT', 'NOSPACE'])
})
