import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerStatus, Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { unsettledReason } from './unsettled-pods.ts'

const unready = { image: '', imageID: '', ready: false, restartCount: 0 }
const waiting: ContainerStatus = {
  ...unready,
  name: 'web',
  state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "web"' } },
}
const creating: ContainerStatus = { ...unready, name: 'web', state: {} }
const running: ContainerStatus = { ...unready, name: 'web', state: { running: {} } }
const crashed: ContainerStatus = { ...unready, name: 'web', state: { terminated: { exitCode: 2 } } }
const initDone: ContainerStatus = {
  ...unready,
  name: 'first',
  ready: true,
  state: { terminated: { exitCode: 0 } },
}
const initRuns: ContainerStatus = { ...unready, name: 'second', state: { running: {} } }
const initialized = { type: 'Initialized', status: 'True' }

const cases: readonly (readonly [string, Pod | undefined, string | undefined])[] = [
  ['gone', undefined, undefined],
  ['new', pod({}, ''), 'not scheduled'],
  ['scheduled', pod({}), 'not ready'],
  ['ready', pod({ conditions: [{ type: 'Ready', status: 'True' }] }), undefined],
  ['succeeded', pod({ phase: 'Succeeded', containerStatuses: [crashed] }), undefined],
  ['failed', pod({ phase: 'Failed' }), undefined],
  [
    'in back-off',
    pod({ conditions: [initialized], containerStatuses: [waiting] }),
    'container web: ImagePullBackOff (Back-off pulling image "web")',
  ],
  [
    'being created',
    pod({ conditions: [initialized], containerStatuses: [creating] }),
    'container web: ContainerCreating',
  ],
  [
    'not ready',
    pod({ conditions: [initialized], containerStatuses: [{ ...running, ready: true }, running] }),
    'container web is running, but not ready',
  ],
  [
    'crashed',
    pod({ conditions: [initialized], containerStatuses: [crashed] }),
    'container web has terminated with exit code 2',
  ],
  [
    'initializing',
    pod({ initContainerStatuses: [initDone, initRuns], containerStatuses: [creating] }),
    'init container second is running, but not ready',
  ],
  ['deleted', { ...pod({}), metadata: { deletionTimestamp: '2026-05-04T12:00:00Z' } }, 'terminating'],
]

for (const [name, given, expected] of cases) {
  test(`unsettled: ${name}`, () => assert.equal(unsettledReason(given), expected))
}

function pod(status: PodStatus, nodeName = 'n'): Pod {
  return { metadata: {}, spec: { nodeName, containers: [] }, status }
}
