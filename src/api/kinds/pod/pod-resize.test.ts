import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../../field-error.ts'
import type { Pod } from '../../generated/core/v1.ts'
import { withPodDefaults } from './pod-defaults.ts'
import { prepareResizeUpdate, validateResizeUpdate } from './pod-resize.ts'
import { container, pod, podWith } from '../testdata/pods.ts'

/** Checks the errors of updating `old` to `after` through the resize subresource. */
function check(after: Pod, old: Pod, ...errors: readonly string[]): void {
  const oldPod = withPodDefaults(old)
  const prepared = prepareResizeUpdate(withPodDefaults(after), oldPod)
  assert.deepEqual(validateResizeUpdate(prepared, oldPod).map(formatFieldError), errors)
}

function asking(cpu: string, fields: object = {}): Pod {
  return podWith({ resources: { requests: { cpu } }, ...fields })
}

test('a resize changes only cpu and memory', () => {
  check(asking('2'), asking('1'))
  const old = withPodDefaults(asking('1'))
  const after = prepareResizeUpdate(withPodDefaults(asking('2', { image: 'other' })), old)
  assert.equal(after.spec?.containers[0]?.image, 'nginx')
  assert.deepEqual(after.spec?.containers[0]?.resources, { requests: { cpu: '2' } })
})

test('a resize must not remove requests or limits, or change the QoS class', () => {
  const both = podWith({ resources: { requests: { cpu: '1', memory: '1Gi' } } })
  check(
    asking('1'),
    both,
    'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
  )
  check(asking('1'), pod(), 'spec: Invalid value: "": Pod QOS Class may not change as a result of resizing')
  check(
    podWith({ resources: { requests: { 'cpu': '1', 'ephemeral-storage': '1' } } }),
    asking('1'),
    'spec: Forbidden: only cpu and memory resources are mutable',
  )
})

test('a resize must not add, remove or rename containers', () => {
  check(
    pod({ containers: [container(), container({ name: 'b' })] }),
    pod(),
    'spec.containers: Forbidden: containers may not be added or removed on resize',
  )
  check(
    podWith({ name: 'b' }),
    pod(),
    'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
  )
})

test('static pods, Windows pods and pods on nodes without support cannot be resized', () => {
  check(
    asking('2'),
    { ...asking('1'), metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } },
    ': Forbidden: static pods cannot be resized',
  )
  const container = { name: 'a', image: 'a', imageID: 'a', ready: true, restartCount: 0 }
  const running = { containerStatuses: [{ ...container, state: { running: {} } }] }
  check(
    asking('2'),
    { ...asking('1'), status: running },
    'spec: Forbidden: Pod running on node without support for resize',
  )
  const windows: Pod = withPodDefaults(pod({ os: { name: 'windows' } }))
  check(windows, windows, ': Forbidden: windows pods cannot be resized')
})

test('pod-level resources can be resized', () => {
  const whole = (resources: object): Pod => podWith({ resources: { requests: { cpu: '1' } } }, { resources })
  check(whole({ requests: { cpu: '3' } }), whole({ requests: { cpu: '2' } }))
  check(
    asking('1'),
    whole({ requests: { cpu: '2' } }),
    'spec.resources: Forbidden: pod-level resources cannot be removed',
  )
  check(
    whole({ requests: { cpu: '2' } }),
    whole({ requests: { cpu: '2', memory: '1Gi' } }),
    'spec.resources.requests: Forbidden: pod-level resource requests cannot be removed',
  )
})
