import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { containerNames, logSources, type LogChoice } from './log-sources.ts'

function status(
  name: string,
  state: 'running' | 'waiting' | 'terminated',
  restartCount = 0,
): ContainerStatus {
  const states = {
    running: { running: {} },
    waiting: { waiting: {} },
    terminated: { terminated: { exitCode: 1 } },
  }
  return { name, image: '', imageID: '', ready: true, restartCount, state: states[state] }
}

const pods: Pod[] = [
  {
    metadata: { name: 'a', namespace: 'shop', uid: '1' },
    spec: { containers: [{ name: 'web' }, { name: 'log' }], initContainers: [{ name: 'init' }] },
    status: {
      containerStatuses: [status('web', 'running', 2), status('log', 'waiting')],
      initContainerStatuses: [status('init', 'terminated')],
    },
  },
  {
    metadata: { name: 'b', namespace: 'shop', uid: '2' },
    spec: { containers: [{ name: 'web' }] },
    status: { containerStatuses: [status('web', 'terminated')] },
  },
  { metadata: { name: 'c' }, spec: { containers: [{ name: 'other' }] } },
]

function check(choice: Partial<LogChoice>, expected: readonly string[]): void {
  const found = logSources(pods, { pod: '', container: '', isPrevious: false, ...choice })
  assert.deepEqual(
    found.map(({ name, key }) => `${name} ${key}`),
    expected,
  )
}

test('logSources are the containers that have started, of all pods or one', () => {
  check({}, ['a/web 1/web/2', 'b/web 2/web/0'])
  check({ pod: 'b' }, ['b/web 2/web/0'])
  check({ container: 'init' }, ['a/init 1/init/0'])
  check({ isPrevious: true }, ['a/web 1/web/2/previous'])
})

test('containerNames lists each name once', () => {
  assert.deepEqual(containerNames(pods), ['web', 'log', 'init', 'other'])
})
