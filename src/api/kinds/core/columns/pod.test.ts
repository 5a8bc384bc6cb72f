import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, columnsUnderTest } from '../../testdata/check-columns.ts'

const { row, check, conditions } = columnsUnderTest('', 'Pod')

/** Container states: `ready`, `running`, `starting`, `waiting Reason`, `ended 1 Reason`, `killed 9`. */
function container(name: string, text: string, more: object = {}): object {
  const [word = '', code, reason] = text.split(' ')
  switch (word) {
    case 'ready':
      return { name, ready: true, started: true, state: { running: {} }, ...more }
    case 'running':
      return { name, ready: false, started: true, state: { running: {} }, ...more }
    case 'starting':
      return { name, ready: false, started: false, state: { running: {} }, ...more }
    case 'waiting':
      return { name, ready: false, state: { waiting: { reason: code } }, ...more }
    case 'ended':
      return { name, state: { terminated: { exitCode: Number(code), reason } }, ...more }
    case 'killed':
      return { name, state: { terminated: { exitCode: 137, signal: Number(code) } }, ...more }
    default:
      return { name, ...more }
  }
}

function restarted(restartCount: number, secondsAgo: number): object {
  return { restartCount, lastState: { terminated: { exitCode: 1, finishedAt: ago(secondsAgo) } } }
}

interface Given {
  /** States of init containers; a name starting with `side` makes it a sidecar. */
  readonly init?: Readonly<Record<string, string>>
  readonly main?: Readonly<Record<string, string>>
  /** Additional container fields by container name. */
  readonly more?: Readonly<Record<string, object>>
  readonly status?: object
  readonly metadata?: object
  /** Conditions with status True. */
  readonly holds?: readonly string[]
}

function pod({ init = {}, main = { c: '' }, more = {}, status, metadata, holds = [] }: Given): object {
  const sidecar = { restartPolicy: 'Always' }
  return {
    metadata,
    spec: {
      containers: Object.keys(main).map(name => ({ name })),
      initContainers: Object.keys(init).map(name => ({ name, ...(name.startsWith('side') && sidecar) })),
    },
    status: {
      phase: 'Pending',
      conditions: holds.map(type => ({ type, status: 'True' })),
      initContainerStatuses: Object.keys(init).map(name => container(name, init[name] ?? '', more[name])),
      containerStatuses: Object.keys(main).map(name => container(name, main[name] ?? '', more[name])),
      ...status,
    },
  }
}

function checkStatus(given: Given, status: string, ready: string): void {
  check(pod(given), { Status: status, Ready: ready })
}

test('the Pod table shows IP and node', () => {
  row({}, 'a', '0/0', '', '0', '5m', '<none>', '<none>', '<none>', '<none>')
  row(
    {
      spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
      status: { phase: 'Pending', podIP: '10.0.0.1', nominatedNodeName: 'n2' },
    },
    'a',
    '0/1',
    'Pending',
    '0',
    '5m',
    '10.0.0.1',
    'n1',
    'n2',
    '<none>',
  )
  check({ status: { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] } }, { IP: '10.0.0.1' })
  check({ status: { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }] } }, { IP: '10.0.0.2' })
})

test('STATUS is the phase or reason of a pod without container statuses', () => {
  checkStatus({ main: {} }, 'Pending', '0/0')
  checkStatus({ main: { c: '' }, status: { phase: 'Unknown' } }, 'Unknown', '0/1')
  checkStatus({ status: { phase: 'Failed', reason: 'Evicted' } }, 'Evicted', '0/1')
  const gated = { type: 'PodScheduled', reason: 'SchedulingGated' }
  check({ status: { phase: 'Pending', reason: 'x', conditions: [gated] } }, { Status: 'SchedulingGated' })
  check(
    { status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'Unschedulable' }] } },
    { Status: 'Pending' },
  )
})

test('STATUS is the reason of the first container that has one', () => {
  const status = { phase: 'Running' }
  checkStatus({ main: { c: 'ready' }, status }, 'Running', '1/1')
  checkStatus({ main: { c: 'ready', d: 'ready' }, status }, 'Running', '2/2')
  checkStatus({ main: { c: 'ready', d: 'running' }, status }, 'Running', '1/2')
  checkStatus({ main: { c: 'waiting ContainerCreating' } }, 'ContainerCreating', '0/1')
  checkStatus({ main: { c: 'waiting' } }, 'Pending', '0/1')
  checkStatus(
    { main: { c: 'waiting ImagePullBackOff', d: 'waiting CrashLoopBackOff' } },
    'ImagePullBackOff',
    '0/2',
  )
  checkStatus({ main: { c: 'ready', d: 'waiting CrashLoopBackOff' }, status }, 'CrashLoopBackOff', '1/2')
  checkStatus({ main: { c: 'ended 1 Error', d: 'waiting CrashLoopBackOff' }, status }, 'Error', '0/2')
  checkStatus({ main: { c: 'ended 137 OOMKilled' }, status }, 'OOMKilled', '0/1')
  checkStatus({ main: { c: 'ended 3' }, status }, 'ExitCode:3', '0/1')
  checkStatus({ main: { c: 'killed 9' }, status }, 'Signal:9', '0/1')
})

test('STATUS is Completed once all containers have completed', () => {
  const status = { phase: 'Running' }
  checkStatus({ main: { c: 'ended 0 Completed' }, status: { phase: 'Succeeded' } }, 'Completed', '0/1')
  checkStatus({ main: { c: 'ended 0 Completed', d: 'ready' }, status, holds: ['Ready'] }, 'Running', '1/2')
  checkStatus({ main: { c: 'ended 0 Completed', d: 'ready' }, status }, 'NotReady', '1/2')
  checkStatus({ main: { c: 'ended 0 Completed', d: 'running' }, status }, 'Completed', '0/2')
  checkStatus(
    { main: { c: 'ended 0 Completed', d: 'ended 1 Error' }, status: { phase: 'Failed' } },
    'Error',
    '0/2',
  )
  checkStatus({ main: { c: 'ended 0 Completed', d: 'ended 1 Error', e: 'ready' }, status }, 'Error', '1/3')
})

test('STATUS shows Init until all init containers have completed', () => {
  checkStatus({ init: { i: 'running' } }, 'Init:0/1', '0/1')
  checkStatus({ init: { i: 'waiting PodInitializing', j: '' } }, 'Init:0/2', '0/1')
  checkStatus({ init: { i: 'waiting' } }, 'Init:0/1', '0/1')
  checkStatus({ init: { i: 'ended 0 Completed', j: 'running' } }, 'Init:1/2', '0/1')
  checkStatus({ init: { i: 'ended 1 Error' } }, 'Init:Error', '0/1')
  checkStatus({ init: { i: 'ended 5' } }, 'Init:ExitCode:5', '0/1')
  checkStatus({ init: { i: 'killed 15' } }, 'Init:Signal:15', '0/1')
  checkStatus({ init: { i: 'waiting CrashLoopBackOff' } }, 'Init:CrashLoopBackOff', '0/1')
  checkStatus(
    { init: { i: 'ended 0 Completed', j: 'waiting ImagePullBackOff' } },
    'Init:ImagePullBackOff',
    '0/1',
  )
  checkStatus(
    { init: { i: 'ended 0 Completed' }, main: { c: 'waiting PodInitializing' } },
    'PodInitializing',
    '0/1',
  )
  checkStatus({ init: { i: 'running' }, main: { c: 'waiting PodInitializing' } }, 'Init:0/1', '0/1')
  checkStatus({ init: { i: 'running' }, main: { c: 'ready' }, holds: ['Initialized'] }, 'Init:0/1', '1/1')
  checkStatus(
    { init: { i: 'running' }, main: { c: 'ended 1 Error' }, holds: ['Initialized'] },
    'Error',
    '0/1',
  )
})

test('a sidecar counts as a container and unblocks others once started', () => {
  const status = { phase: 'Running' }
  checkStatus({ init: { side: 'ready' }, main: { c: 'ready' }, status }, 'Running', '2/2')
  checkStatus({ init: { side: 'running' }, main: { c: 'ready' }, status }, 'Running', '1/2')
  checkStatus({ init: { side: 'starting' } }, 'Init:0/1', '0/2')
  checkStatus({ init: { side: 'ready', i: 'running' } }, 'Init:1/2', '1/2')
  checkStatus({ init: { side: 'waiting CrashLoopBackOff' } }, 'Init:CrashLoopBackOff', '0/2')
  const started = { side: { started: true } }
  checkStatus(
    { init: { side: 'ended 1 Error' }, more: started, main: { c: 'ready' }, status },
    'Running',
    '1/2',
  )
  const done = 'ended 0 Completed'
  checkStatus({ init: { side: done }, main: { c: done }, status: { phase: 'Succeeded' } }, 'Completed', '0/2')
  checkStatus({ init: { i: 'ready' } }, 'Init:0/1', '0/1')
})

test('RESTARTS shows the count and the time since the last restart', () => {
  const restarts = (given: Given, text: string): void => check(pod(given), { Restarts: text })
  restarts({ main: { c: 'ready' } }, '0')
  restarts({ main: { c: 'ready' }, more: { c: { restartCount: 3 } } }, '3')
  restarts({ main: { c: 'ready' }, more: { c: restarted(3, 300) } }, '3 (5m ago)')
  restarts(
    { main: { c: 'ready', d: 'ready' }, more: { c: restarted(1, 45), d: restarted(2, 90) } },
    '3 (45s ago)',
  )
  restarts({ main: { c: 'ready' }, more: { c: restarted(0, 60) } }, '0')
  restarts(
    { init: { i: 'waiting CrashLoopBackOff' }, more: { i: restarted(4, 10), c: restarted(9, 5) } },
    '4 (10s ago)',
  )
  const main = { c: 'ready' }
  const more = { i: restarted(4, 10), side: restarted(4, 10), c: restarted(2, 20) }
  restarts({ init: { i: 'ended 0' }, main, more }, '2 (20s ago)')
  restarts({ init: { side: 'ready' }, main, more }, '6 (10s ago)')
  restarts(
    { init: { side: 'ready', i: 'running' }, more: { side: restarted(1, 30), i: restarted(2, 40) } },
    '3 (30s ago)',
  )
})

test('STATUS is Terminating for a pod being deleted, unless terminal or on a lost node', () => {
  const metadata = { deletionTimestamp: ago(1) }
  checkStatus({ main: { c: 'ready' }, status: { phase: 'Running' }, metadata }, 'Terminating', '1/1')
  checkStatus({ init: { i: 'running' }, metadata }, 'Terminating', '0/1')
  checkStatus(
    { main: { c: 'ended 0 Completed' }, status: { phase: 'Succeeded' }, metadata },
    'Completed',
    '0/1',
  )
  checkStatus({ main: { c: 'ended 1 Error' }, status: { phase: 'Failed' }, metadata }, 'Error', '0/1')
  checkStatus(
    { main: { c: 'ready' }, status: { phase: 'Running', reason: 'NodeLost' }, metadata },
    'Unknown',
    '1/1',
  )
  checkStatus({ main: { c: 'ready' }, status: { phase: 'Running', reason: 'NodeLost' } }, 'NodeLost', '1/1')
})

test('READINESS GATES shows satisfied and total gates', () => {
  const spec = { readinessGates: [{ conditionType: 'x/a' }, { conditionType: 'x/b' }] }
  check({ spec }, { 'Readiness Gates': '0/2' })
  check(
    {
      spec,
      status: {
        conditions: [
          { type: 'x/b', status: 'True' },
          { type: 'x/a', status: 'False' },
        ],
      },
    },
    { 'Readiness Gates': '1/2' },
  )
})

test('rows of terminal pods have a Completed condition', () => {
  const completed = { type: 'Completed', status: 'True' }
  assert.deepEqual(conditions({ status: { phase: 'Running' } }), [])
  assert.deepEqual(conditions({}), [])
  assert.deepEqual(conditions({ status: { phase: 'Succeeded' } }), [
    { ...completed, reason: 'Succeeded', message: 'The pod has completed successfully.' },
  ])
  assert.deepEqual(conditions({ status: { phase: 'Failed' } }), [
    { ...completed, reason: 'Failed', message: 'The pod failed.' },
  ])
})

test('the Pod table takes linear time in the number of containers', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `side${index}`)
  const init = Object.fromEntries(names.map(name => [name, 'ready']))
  checkStatus({ init, main: { c: 'ready' }, status: { phase: 'Running' } }, 'Running', '20001/20001')
})
