import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LockHolder } from './lock-folder.ts'
import { parametersIn, planReplacement, type Replacement } from './plan-replacement.ts'

test('a process hands over if it can, an earlier version is killed after its supervisor, a command is not', () => {
  const check = (holder: Partial<LockHolder> | undefined, expected: Replacement): void => {
    const running = holder && { pid: 7, isReady: true, startedMs: 0, ...holder }
    assert.deepEqual(planReplacement(running), expected)
  }
  const program = { version: '0.2.0', launcher: '/usr/lib/node_modules/k8ts/k8ts' }
  check(undefined, { type: 'none' })
  check({ program, supervisorPid: 6 }, { type: 'hand-over', pid: 7 })
  check({ program }, { type: 'hand-over', pid: 7 })
  check({ supervisorPid: 6 }, { type: 'kill', pids: [6, 7] })
  check({}, { type: 'kill', pids: [7] })
  const reason = 'k8ts store repair, process 7, uses the data directory: wait until it has ended'
  check({ command: 'k8ts store repair' }, { type: 'refuse', reason })
})

test('the parameters of a process follow the program in its command line', () => {
  const check = (commandLine: string, parameters: string | undefined): void => {
    assert.equal(parametersIn(commandLine.split(' '))?.join(' '), parameters)
  }
  check('node /opt/k8ts/dist/main.js up --port 0', 'up --port 0')
  check('/src/node --conditions=k8ts-source /src/main.ts host run --data-dir /x', 'host run --data-dir /x')
  check('node /opt/other/index.js up', undefined)
})
