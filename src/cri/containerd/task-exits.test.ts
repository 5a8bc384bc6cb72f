import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Envelope, TaskDelete, TaskExit } from './event-messages.ts'
import { exitOf } from './task-exits.ts'

const exitedAt = { seconds: 1_700_000_000, nanos: 5 }

const cases: readonly [topic: string, id: string, expected: string | undefined][] = [
  ['/tasks/exit', 'c1', 'c1 137 1700000000000000005'],
  ['/tasks/exit', '', 'c1 137 1700000000000000005'],
  ['/tasks/exit', 'a-command-in-it', undefined],
  ['/tasks/delete', '', 'c1 137 1700000000000000005'],
  ['/tasks/delete', 'a-command-in-it', undefined],
  ['/tasks/start', '', undefined],
]

test('exits are those of the main processes of containers, from events of the exit and of the deletion', () => {
  for (const [topic, id, expected] of cases) {
    const type = topic === '/tasks/delete' ? TaskDelete : TaskExit
    const value = type.encode({ containerId: 'c1', id, exitStatus: 137, exitedAt })
    const found = exitOf(Envelope.encode({ namespace: 'k8s.io', topic, event: { typeUrl: 'any', value } }))
    assert.equal(
      found && `${found.id} ${found.exitCode} ${found.finishedAt}`,
      expected,
      `${topic} ${JSON.stringify(id)}`,
    )
  }
  assert.equal(exitOf(Envelope.encode({ topic: '/tasks/exit' })), undefined)
})
