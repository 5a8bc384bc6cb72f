import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerStatus } from '#/api/generated/core/v1.ts'
import { kubeletPod } from '../testdata/objects.ts'
import { chooseLog } from './choose-log.ts'

test('the log of the requested container instance is chosen, or an error returned', () => {
  const check = (status: Partial<ContainerStatus> | undefined, expected: string, previous = false): void => {
    const whole = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, ...status }
    const pod = kubeletPod({
      metadata: { name: 'p' },
      status: { containerStatuses: status ? [whole] : [] },
    })
    const chosen = chooseLog(pod, 'c', previous)
    assert.equal('problem' in chosen ? chosen.problem : `log of ${chosen.containerId}`, expected)
  }
  const running = { running: { startedAt: '' } }
  const ended = (containerID: string) => ({ terminated: { exitCode: 0, containerID } })
  const waiting = (reason: string) => ({ waiting: { reason } })
  check(undefined, 'container "c" in pod "p" is not available')
  check({ state: running, containerID: 'containerd://1' }, 'log of 1')
  check({ state: ended('containerd://1') }, 'log of 1')
  check({ state: ended(''), lastState: ended('containerd://0') }, 'log of 0')
  check({ state: ended('') }, 'container "c" in pod "p" is terminated')
  check({ state: waiting('CrashLoopBackOff'), lastState: ended('containerd://0') }, 'log of 0')
  check(
    { state: waiting('ContainerCreating') },
    'container "c" in pod "p" is waiting to start: ContainerCreating',
  )
  check(
    { state: waiting('ErrImagePull') },
    `container "c" in pod "p" is waiting to start: image can't be pulled`,
  )
  check(
    { state: waiting('ImagePullBackOff') },
    'container "c" in pod "p" is waiting to start: trying and failing to pull image',
  )
  check({}, 'container "c" in pod "p" is waiting to start - no logs yet')
  check({ state: running, lastState: ended('containerd://0') }, 'log of 0', true)
  check({ state: running }, 'previous terminated container "c" in pod "p" not found', true)
})
