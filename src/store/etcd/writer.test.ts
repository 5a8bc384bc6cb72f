import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcCode } from '#/platform/grpc.ts'
import { Simulation } from '#/platform/simulated.ts'
import { EtcdStore } from '../etcd.ts'
import { AlarmResponse, RangeResponse, TxnResponse } from '../etcd-messages.ts'
import { StoreError, type Store, type WriteResult } from '../store.ts'

const key = '/registry/a'
const mine = Buffer.from('mine')

const lost = error('deadline-exceeded', 'Deadline exceeded')
const noSpace = error('resource-exhausted', 'etcdserver: mvcc: database space exceeded')
const denied = error('permission-denied', 'etcdserver: permission denied')
const written = TxnResponse.encode({ header: { revision: 9 }, succeeded: true, responses: [] })
const compacted = error('out-of-range', 'etcdserver: mvcc: required revision has been compacted')

test('a write whose outcome is unknown is reported so, whatever etcd answers to the next attempt', async () => {
  await check([lost, conflict(9), compacted], update, 'unavailable')
  await check([lost, conflict(9), found(7, 'other'), found(5, 'first')], update, 'not written')
  await check([lost, conflict(9), found(7, 'mine'), found(5, 'first')], update, 'written at 7')
  await check([lost, noSpace], update, 'unavailable')
  await check([noSpace], update, 'full')
})

test('a creation whose outcome is unknown is looked for, and never repeated', async () => {
  await check([lost, found(7, 'mine', 7)], create, 'written at 7')
  await check([lost, found(7, 'other', 7)], create, 'unavailable')
  await check([lost, found(9, 'later', 7), compacted], create, 'unavailable')
  await check([lost, found(9, 'later', 7), found(7, 'mine', 7)], create, 'written at 7')
})

test('a deletion without space, and a write of a note that is denied, are repeated without the note', async () => {
  const note = Buffer.from('note')
  const noted = (store: Store) => store.update(key, mine, { expectedRevision: 5, note })
  await check([denied, written], noted, 'written at 9')
  await check([denied, denied], noted, 'unavailable')
  await check([noSpace], noted, 'full')
  await check([denied, written, written], async store => (await noted(store)) && noted(store), 'written at 9')
  const deletion = (store: Store) => store.delete(key, { expectedRevision: 5, note })
  await check([noSpace, written], deletion, 'written at 9')
  await check([noSpace, noSpace], deletion, 'full')
  await check([lost, noSpace, conflict(9)], deletion, 'not written')
})

const update = (store: Store): Promise<WriteResult> => store.update(key, mine, { expectedRevision: 5 })
const create = (store: Store): Promise<WriteResult> => store.create(key, mine)

/** Runs a write with these answers of etcd, one after the other. */
async function check(
  answers: readonly (Uint8Array | GrpcError)[],
  write: (store: Store) => Promise<WriteResult>,
  expected: string,
): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  let next = 0
  const store = EtcdStore.open({
    platform: simulation.host('a'),
    endpoints: ['etcd-1:2379'],
    connect: () => ({
      unary: async method => {
        if (method.endsWith('Alarm')) return AlarmResponse.encode({ alarms: [] })
        const answer = answers[next++] ?? assert.fail(`unexpected ${method}`)
        if (answer instanceof GrpcError) throw answer
        return answer
      },
      stream: () => assert.fail('no stream is opened'),
      [Symbol.asyncDispose]: async () => undefined,
    }),
  })
  assert.equal(await simulation.run(outcomeOf(write(store))), expected)
  assert.equal(next, answers.length)
}

async function outcomeOf(write: Promise<WriteResult>): Promise<string> {
  try {
    const result = await write
    return result.written ? `written at ${result.revision}` : 'not written'
  } catch (failure) {
    assert.ok(failure instanceof StoreError)
    return failure.reason
  }
}

function conflict(modRevision: number): Uint8Array {
  const responseRange = { kvs: [kv(modRevision, 'current')] }
  return TxnResponse.encode({ header: { revision: 9 }, succeeded: false, responses: [{ responseRange }] })
}

function found(modRevision: number, value: string, createRevision = 3): Uint8Array {
  return RangeResponse.encode({ header: { revision: 9 }, kvs: [kv(modRevision, value, createRevision)] })
}

function kv(modRevision: number, value: string, createRevision = 3): object {
  return { key: Buffer.from(key), value: Buffer.from(value), modRevision, createRevision }
}

function error(code: GrpcCode, details: string): GrpcError {
  return new GrpcError(code, details, { sent: true })
}
