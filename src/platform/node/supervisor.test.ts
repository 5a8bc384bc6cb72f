import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSupervisor } from './supervisor.ts'

test('the supervisor is the parent process that says so, with the exit of the process that crashed', () => {
  const check = (lastExit: string | undefined, crashed: unknown): void => {
    const environment = { K8TS_SUPERVISOR_PID: '7', K8TS_LAST_EXIT: lastExit }
    assert.deepEqual(findSupervisor(environment, 7), {
      pid: 7,
      ...(crashed !== undefined && { crashed }),
    })
    assert.equal(findSupervisor(environment, 8), undefined)
  }
  check(undefined, undefined)
  check('70 12', { pid: 12, exit: { code: 70 } })
  check('137 12', { pid: 12, exit: { signal: 'SIGKILL' } })
  check('134 12', { pid: 12, exit: { signal: 'SIGABRT' } })
  assert.equal(findSupervisor({}, 7), undefined)
})
