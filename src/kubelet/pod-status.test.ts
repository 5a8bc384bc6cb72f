import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '#/api/generated/core/v1.ts'
import { nothingObserved, type ObservedContainer, type ObservedPod } from './observed-pod.ts'
import { podStatus, rejectedStatus, type StatusInput } from './pod-status.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const web = { name: 'web', image: 'busybox' }

interface Case {
  readonly name: string
  readonly spec?: Partial<PodSpec>
  readonly metadata?: Pod['metadata']
  readonly containers?: readonly Partial<ObservedContainer>[]
  /** Set if it differs from the default. */
  readonly observed?: ObservedPod
  readonly input?: Partial<StatusInput>
  /**
   * Phase with reason, readiness, then containers as `name=state(reason)*restarts`, with `!` for not ready.
   */
  readonly expected: string
}

const ended = (exitCode: number, more: Partial<ObservedContainer> = {}): Partial<ObservedContainer> => {
  return { state: 'exited', exitCode, finishedMs: startMs + 1_000, ...more }
}
const waiting = (reason: string, message = ''): StatusInput['waiting'] =>
  new Map([['web', { reason, message }]])

const cases: readonly Case[] = [
  { name: 'a new pod is pending', observed: nothingObserved, expected: 'Pending web=ContainerCreating!' },
  {
    name: 'a pod with a sandbox and no container is pending',
    containers: [],
    expected: 'Pending web=ContainerCreating!',
  },
  {
    name: 'with init containers all containers are PodInitializing',
    spec: { initContainers: [{ name: 'init', image: 'i' }] },
    containers: [],
    expected: 'Pending init=PodInitializing! web=PodInitializing!',
  },
  {
    name: 'a pod with a running container is running and ready',
    containers: [{}],
    expected: 'Running ready web=running',
  },
  {
    name: 'a container whose postStart hook runs is ContainerCreating',
    containers: [{}],
    input: { starting: new Set(['web']) },
    expected: 'Pending web=ContainerCreating!',
  },
  {
    name: 'a pod with a container not yet started is pending',
    spec: { containers: [web, { name: 'b', image: 'i' }] },
    containers: [{}],
    expected: 'Pending b=ContainerCreating! web=running',
  },
  // Waiting reasons.
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError'].map(
    reason => {
      return {
        name: `a failed pull is waiting with reason ${reason}`,
        containers: [],
        input: { waiting: waiting(reason, 'why') },
        expected: `Pending web=${reason}(why)!`,
      }
    },
  ),
  ...['CreateContainerConfigError', 'CreateContainerError'].map(reason => {
    return {
      name: `a container that cannot be created is waiting with reason ${reason}`,
      containers: [],
      input: { waiting: waiting(reason, 'why') },
      expected: `Pending web=${reason}(why)!`,
    }
  }),
  {
    name: 'a command that does not exist is RunContainerError',
    containers: [ended(128, { reason: 'StartError' })],
    input: { waiting: waiting('RunContainerError', 'no such file') },
    expected: 'Running web=RunContainerError(no such file)!<StartError:128',
  },
  {
    name: 'a container in backoff is CrashLoopBackOff',
    containers: [ended(1, { attempt: 3 })],
    input: { waiting: waiting('CrashLoopBackOff', 'back-off') },
    expected: 'Running web=CrashLoopBackOff(back-off)!*3<Error:1',
  },
  {
    name: 'a running container has no waiting reason',
    containers: [{}],
    input: { waiting: waiting('ErrImagePull') },
    expected: 'Running ready web=running',
  },
  {
    name: 'a container that is not restarted stays terminated',
    spec: { restartPolicy: 'Never' },
    containers: [ended(1)],
    input: { waiting: waiting('CrashLoopBackOff'), stage: 'terminated' },
    expected: 'Failed web=Error:1!',
  },
  // Exits.
  {
    name: 'a container with exit code 0 is Completed',
    spec: { restartPolicy: 'Never' },
    containers: [ended(0)],
    input: { stage: 'terminated' },
    expected: 'Succeeded web=Completed:0!',
  },
  {
    name: 'a container with another exit code is Error',
    spec: { restartPolicy: 'Never' },
    containers: [ended(3)],
    input: { stage: 'terminated' },
    expected: 'Failed web=Error:3!',
  },
  {
    name: 'a container over its memory limit is OOMKilled',
    containers: [ended(137, { reason: 'OOMKilled' })],
    expected: 'Running web=OOMKilled:137!',
  },
  {
    name: 'a terminated container has its termination message',
    containers: [ended(1, { message: 'it broke' })],
    expected: 'Running web=Error:1(it broke)!',
  },
  {
    name: 'lastState is the previous termination',
    containers: [{ attempt: 1 }, ended(2)],
    expected: 'Running ready web=running*1<Error:2',
  },
  {
    name: 'a terminated pod with a failed container is Failed',
    spec: { restartPolicy: 'Never', containers: [web, { name: 'b', image: 'i' }] },
    containers: [ended(0), ended(1, { name: 'b', id: 'b' })],
    input: { stage: 'terminated' },
    expected: 'Failed b=Error:1! web=Completed:0!',
  },
  {
    name: 'a pod is running until its containers are known to have stopped',
    spec: { restartPolicy: 'Never' },
    containers: [ended(0)],
    input: { stage: 'terminating', previous: { phase: 'Running' } },
    expected: 'Running web=Completed:0!',
  },
  {
    name: 'a final phase does not change',
    containers: [{}],
    input: {
      previous: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    },
    expected: 'Failed(Evicted: The node was low on resource: memory.) web=running',
  },
  {
    name: 'the reason of a failure is set when the pod has terminated',
    containers: [ended(137)],
    input: { stage: 'terminated', failure: { reason: 'DeadlineExceeded', message: 'too long' } },
    expected: 'Failed(DeadlineExceeded: too long) web=Error:137!',
  },
  {
    name: 'the reason of a failure is not set while the pod runs',
    containers: [{}],
    input: { stage: 'terminating', failure: { reason: 'DeadlineExceeded', message: 'too long' } },
    expected: 'Running ready web=running',
  },
  // Lost containers and sandboxes.
  {
    name: 'a missing container is ContainerStatusUnknown in lastState',
    containers: [],
    input: { previous: { phase: 'Running', containerStatuses: [runningStatus()] } },
    expected: 'Running web=ContainerCreating!*1<ContainerStatusUnknown:137',
  },
  {
    name: 'a missing container of a terminated pod is ContainerStatusUnknown',
    observed: nothingObserved,
    input: { stage: 'terminated', previous: { phase: 'Running', containerStatuses: [runningStatus()] } },
    expected:
      'Failed web=ContainerStatusUnknown:137(The container could not be located when the pod was terminated)!*1' +
      '<ContainerStatusUnknown:137',
  },
  {
    name: 'a terminated container keeps its state when it is removed',
    spec: { restartPolicy: 'Never' },
    observed: nothingObserved,
    input: { stage: 'terminated', previous: { phase: 'Succeeded', containerStatuses: [endedStatus(0)] } },
    expected: 'Succeeded web=Completed:0!',
  },
  // Probes.
  {
    name: 'a container without a readiness result is not ready',
    spec: { containers: [{ ...web, readinessProbe: {} }] },
    containers: [{}],
    expected: 'Running web=running!',
  },
  {
    name: 'a container with a successful readiness probe is ready',
    spec: { containers: [{ ...web, readinessProbe: {} }] },
    containers: [{}],
    input: { probes: () => ({ readiness: 'success' }) },
    expected: 'Running ready web=running',
  },
  {
    name: 'a container that was ready before a kubelet restart stays ready',
    spec: { containers: [{ ...web, readinessProbe: {} }] },
    containers: [{}],
    input: { previous: { phase: 'Running', containerStatuses: [runningStatus()] } },
    expected: 'Running ready web=running',
  },
  {
    name: 'a replaced container is not ready after a kubelet restart',
    spec: { containers: [{ ...web, readinessProbe: {} }] },
    containers: [{ id: 'other', attempt: 1 }],
    input: { previous: { phase: 'Running', containerStatuses: [runningStatus()] } },
    expected: 'Running web=running!*1',
  },
  {
    name: 'a container without startup is not ready',
    spec: { containers: [{ ...web, startupProbe: {} }] },
    containers: [{}],
    expected: 'Running web=running!',
  },
  // Init containers.
  {
    name: 'a pod with a running init container is pending',
    spec: { initContainers: [{ name: 'init', image: 'i' }] },
    containers: [{ name: 'init' }],
    expected: 'Pending init=running! web=PodInitializing!',
  },
  {
    name: 'a completed init container is ready',
    spec: { initContainers: [{ name: 'init', image: 'i' }] },
    containers: [{}, ended(0, { name: 'init', id: 'init' })],
    expected: 'Running ready init=Completed:0 web=running',
  },
  {
    name: 'a pod with a failing init container is pending',
    spec: { initContainers: [{ name: 'init', image: 'i' }] },
    containers: [ended(1, { name: 'init' })],
    expected: 'Pending init=Error:1! web=PodInitializing!',
  },
  {
    name: 'a pod whose init container failed with restartPolicy Never is Failed',
    spec: { initContainers: [{ name: 'init', image: 'i' }], restartPolicy: 'Never' },
    containers: [ended(1, { name: 'init' })],
    input: { stage: 'terminated' },
    expected: 'Failed init=Error:1! web=PodInitializing!',
  },
  {
    name: 'a missing init container is Completed when containers have started',
    spec: { initContainers: [{ name: 'init', image: 'i' }] },
    containers: [{}],
    expected:
      'Running ready init=Completed:0(Unable to get init container status from container runtime and pod has been ' +
      'initialized, treat it as exited normally) web=running',
  },
  {
    name: 'a restarting sidecar does not set the pod to pending',
    spec: { initContainers: [{ name: 'side', image: 'i', restartPolicy: 'Always', startupProbe: {} }] },
    containers: [{}, { name: 'side', id: 'side' }],
    expected: 'Running side=running! web=running',
  },
  {
    name: 'a sidecar without startup keeps the pod pending before containers have started',
    spec: { initContainers: [{ name: 'side', image: 'i', restartPolicy: 'Always', startupProbe: {} }] },
    containers: [{ name: 'side', id: 'side' }],
    expected: 'Pending side=running! web=PodInitializing!',
  },
  {
    name: 'an ephemeral container has its own status',
    spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] },
    containers: [{}, { name: 'debug', id: 'debug' }],
    expected: 'Running ready web=running debug=running!',
  },
]

for (const each of cases) {
  test(`podStatus: ${each.name}`, () => assert.equal(show(podStatus(inputOf(each))), each.expected))
}

test('podStatus: computing the status again changes nothing', () => {
  for (const each of cases) {
    const input = inputOf(each)
    const previous = podStatus(input)
    assert.deepEqual(podStatus({ ...input, previous, nowMs: startMs + 60_000 }), previous, each.name)
  }
})

test('podStatus: conditions list the unready containers', () => {
  const of = (each: Partial<Case>): string =>
    showConditions(podStatus(inputOf({ name: '', expected: '', ...each })))
  assert.equal(
    of({ observed: nothingObserved }),
    'PodReadyToStartContainers=False Initialized=True ' +
      'Ready=False(ContainersNotReady: containers with unready status: [web]) ' +
      'ContainersReady=False(ContainersNotReady: containers with unready status: [web]) PodScheduled=True',
  )
  assert.equal(
    of({ containers: [{}] }),
    'PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True PodScheduled=True',
  )
  const initContainers = [
    { name: 'a', image: 'i' },
    { name: 'b', image: 'i' },
  ]
  assert.match(
    of({ spec: { initContainers }, containers: [{ name: 'a' }] }),
    /Initialized=False\(ContainersNotInitialized: containers with incomplete status: \[a b\]\)/,
  )
  assert.match(
    of({ containers: [ended(0)], spec: { restartPolicy: 'Never' }, input: { stage: 'terminated' } }),
    /Initialized=True\(PodCompleted\) Ready=False\(PodCompleted\) ContainersReady=False\(PodCompleted\)/,
  )
  assert.match(
    of({ containers: [ended(1)], spec: { restartPolicy: 'Never' }, input: { stage: 'terminated' } }),
    /Ready=False\(PodFailed\) ContainersReady=False\(PodFailed\)/,
  )
})

test('podStatus: unmet readiness gates keep a pod unready', () => {
  const spec = { readinessGates: [{ conditionType: 'example.com/open' }] }
  const gate = (status?: string): string => {
    const input = inputOf({ name: '', expected: '', spec, containers: [{}] })
    const conditions = status === undefined ? [] : [{ type: 'example.com/open', status }]
    const shown = showConditions(podStatus({ ...input, pod: { ...input.pod, status: { conditions } } }))
    return / Ready=(\S+(?: [^)]*\))?)/.exec(shown)?.[1] ?? ''
  }
  const name = 'pod readiness gate "example.com/open"'
  assert.equal(gate(), `False(ReadinessGatesNotReady: corresponding condition of ${name} does not exist.)`)
  assert.equal(gate('False'), `False(ReadinessGatesNotReady: the status of ${name} is not "True", but False)`)
  assert.equal(gate('True'), 'True')
})

test('podStatus: the transition time changes with the condition status', () => {
  const input = inputOf({ name: '', expected: '', containers: [] })
  const first = podStatus(input)
  const running = inputOf({ name: '', expected: '', containers: [{}] })
  const second = podStatus({ ...running, previous: first, nowMs: startMs + 5_000 })
  const since = ({ conditions = [] }: PodStatus, type: string): string | undefined => {
    return conditions.find(condition => condition.type === type)?.lastTransitionTime
  }
  assert.equal(since(second, 'Ready'), '2026-01-01T00:00:05Z')
  assert.equal(since(second, 'Initialized'), '2026-01-01T00:00:00Z')
  assert.equal(second.startTime, first.startTime)
})

test('podStatus: the status has addresses, resources and QoS class', () => {
  const resources = { requests: { cpu: '100m' }, limits: { memory: '64Mi' } }
  const mounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'config', mountPath: '/config', readOnly: true },
  ]
  const spec = { containers: [{ ...web, resources, volumeMounts: mounts }] }
  const user = { uid: 1, gid: 2, supplementalGroups: [3] }
  const status = podStatus(
    inputOf({ name: '', expected: '', spec, metadata: { generation: 4 }, containers: [{ user }] }),
  )
  const { podIP, podIPs, hostIP, hostIPs, qosClass, observedGeneration, containerStatuses } = status
  assert.deepEqual(
    { podIP, podIPs, hostIP, hostIPs },
    {
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      hostIP: '192.0.2.1',
      hostIPs: [{ ip: '192.0.2.1' }],
    },
  )
  assert.deepEqual([qosClass, observedGeneration], ['Burstable', 4])
  assert.deepEqual(status.allocatedResources, { cpu: '100m' })
  assert.deepEqual(status.resources, resources)
  assert.deepEqual(containerStatuses?.[0], {
    name: 'web',
    image: 'docker.io/library/busybox:latest',
    imageID: 'sha256:i',
    containerID: 'containerd://id',
    restartCount: 0,
    ready: true,
    started: true,
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    resources,
    allocatedResources: { cpu: '100m' },
    user: { linux: user },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'config', mountPath: '/config', readOnly: true, recursiveReadOnly: 'Disabled' },
    ],
  })
})

test('podStatus: allocated resources are those applied, not those requested', () => {
  const [before, after] = [{ requests: { cpu: '1' } }, { requests: { cpu: '2' } }]
  const check = (input: Case['input'], shown: typeof before, isResizing: boolean): void => {
    const spec = { containers: [{ ...web, resources: after }] }
    const status = podStatus(inputOf({ name: '', expected: '', spec, containers: [{}], input: input! }))
    const [own] = status.containerStatuses!
    assert.deepEqual([own!.resources, own!.allocatedResources], [shown, after.requests])
    const types = status.conditions!.map(({ type }) => type)
    assert.equal(types.includes('PodResizeInProgress'), isResizing)
  }
  const first = podStatus(inputOf({ name: '', expected: '', containers: [{}] })).containerStatuses![0]!
  check({ actuatedResources: new Map([['id', before]]) }, before, true)
  check({ actuatedResources: new Map([['id', after]]) }, after, false)
  check({ previous: { containerStatuses: [{ ...first, resources: before }] } }, before, true)
  check({}, after, false)
})

test('podStatus: a pod with the host network has the addresses of the node', () => {
  const observed = { sandboxes: [{ id: 's', attempt: 0, isReady: true, addresses: [] }], containers: [] }
  const { podIP } = podStatus(inputOf({ name: '', expected: '', spec: { hostNetwork: true }, observed }))
  assert.equal(podIP, '192.0.2.1')
})

test('podStatus: termination messages are bounded in total', () => {
  const message = 'ä'.repeat(10_000)
  const status = podStatus(inputOf({ name: '', expected: '', containers: [ended(1, { message })] }))
  const said = status.containerStatuses?.[0]?.state?.terminated?.message ?? ''
  assert.equal(Buffer.byteLength(said), 12 * 1024)
})

test('rejectedStatus: a rejected pod has phase Failed', () => {
  const status = rejectedStatus(
    { metadata: {} },
    { reason: 'OutOfcpu', message: "Node didn't have enough" },
    startMs,
  )
  assert.equal(show(status), "Failed(OutOfcpu: Pod was rejected: Node didn't have enough)")
})

function inputOf({ spec, metadata, containers = [], observed, input }: Case): StatusInput {
  const pod: Pod = {
    metadata: { namespace: 'd', name: 'p', uid: 'u', ...metadata },
    spec: { restartPolicy: 'Always', containers: [web], ...spec },
  }
  const sandbox = { id: 's', attempt: 0, isReady: true, addresses: ['10.0.0.1', 'fd00::1'] }
  return {
    pod,
    previous: {},
    observed: observed ?? { sandboxes: [sandbox], containers: containers.map(containerOf) },
    waiting: new Map(),
    starting: new Set(),
    actuatedResources: new Map(),
    probes: () => ({}),
    stage: 'running',
    areVolumesReady: true,
    qosClass: 'Burstable',
    nodeAddresses: ['192.0.2.1'],
    runtimeName: 'containerd',
    nowMs: startMs,
    ...input,
  }
}

function containerOf(given: Partial<ObservedContainer>): ObservedContainer {
  return {
    id: 'id',
    sandboxId: 's',
    name: 'web',
    attempt: 0,
    state: 'running',
    hash: '',
    startedMs: startMs,
    finishedMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: 'docker.io/library/busybox:latest',
    imageRef: 'sha256:i',
    ...given,
  }
}

function runningStatus(): ContainerStatus {
  return {
    name: 'web',
    image: 'busybox',
    imageID: 'sha256:i',
    containerID: 'containerd://id',
    restartCount: 0,
    ready: true,
    started: true,
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
  }
}

function endedStatus(exitCode: number): ContainerStatus {
  const state = { terminated: { exitCode, reason: 'Completed', containerID: 'containerd://id' } }
  return { ...runningStatus(), ready: false, started: false, state }
}

function show(status: PodStatus): string {
  const { phase, reason, message, conditions = [] } = status
  const isReady = conditions.some(condition => condition.type === 'Ready' && condition.status === 'True')
  const all = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  const why = reason === undefined ? '' : `(${reason}: ${message})`
  return [`${phase}${why}`, ...(isReady ? ['ready'] : []), ...all.map(showContainer)].join(' ')
}

function showContainer({ name, state, lastState, ready, restartCount }: ContainerStatus): string {
  const last = lastState?.terminated ? `<${lastState.terminated.reason}:${lastState.terminated.exitCode}` : ''
  return `${name}=${showState(state)}${ready ? '' : '!'}${restartCount > 0 ? `*${restartCount}` : ''}${last}`
}

function showState({ running, waiting: waits, terminated }: ContainerState = {}): string {
  const told = waits?.message || terminated?.message
  const more = told ? `(${told})` : ''
  if (running) return 'running'
  return `${waits ? waits.reason : `${terminated?.reason}:${terminated?.exitCode}`}${more}`
}

function showConditions({ conditions = [] }: PodStatus): string {
  return conditions
    .map(({ type, status, reason, message }: PodCondition) => {
      const why = [reason, message].filter(text => text !== undefined).join(': ')
      return `${type}=${status}${why === '' ? '' : `(${why})`}`
    })
    .join(' ')
}
