import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtobufError } from '#/base/protobuf.ts'
import { Envelope, TaskExit } from './event-messages.ts'
import { taskEventOf } from './event-sources.ts'

const cases: readonly [topic: string, containerId: string, id: string, expected: string | undefined][] = [
  ['/tasks/exit', 'c1', 'c1', 'exited c1'],
  ['/tasks/exit', 'c1', '', 'exited c1'],
  ['/tasks/exit', 'c1', 'a-command-in-it', undefined],
  ['/tasks/start', 'c1', '', 'started c1'],
  ['/tasks/oom', 'c1', '', 'out-of-memory c1'],
  ['/tasks/exec-started', 'c1', 'x', undefined],
  ['/images/create', 'c1', '', undefined],
]

test('containerd events are reported for containers, not for exec processes', () => {
  for (const [topic, containerId, id, expected] of cases) {
    const event = { typeUrl: 'any', value: TaskExit.encode({ containerId, id }) }
    const found = taskEventOf(Envelope.encode({ namespace: 'k8s.io', topic, event }))
    assert.equal(found && `${found.type} ${found.containerId}`, expected, `${topic} ${id}`)
  }
  assert.equal(taskEventOf(Envelope.encode({ topic: '/tasks/exit' })), undefined)
})

test('decoding bytes that are no containerd event fails', () => {
  for (const bytes of [[0xff], [0x22, 0x7f, 1], [0x1a, 0x80]])
    assert.throws(() => taskEventOf(Uint8Array.from(bytes)), ProtobufError)
})
