import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from '#/api/generated/core/v1.ts'
import { containerHash } from './container-labels.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { ObservedContainer, ObservedPod } from './observed-pod.ts'
import {
  planPod,
  type Termination,
  type PodAction,
  type PodPlan,
  type PodSyncInput,
  type ProbeResults,
} from './plan-pod.ts'
import type { Restart } from './restart-backoff.ts'

/** Times in the cases are seconds relative to this. */
const startMs = Date.parse('2026-01-01T00:00:00Z')

interface Case {
  readonly name: string
  readonly spec?: Partial<PodSpec>
  readonly metadata?: Pod['metadata']
  /**
   * Sandboxes, newest first, as `s0`, or `s0-` if not ready; then containers, newest first, as `name#attempt
   * state`, with `@s0` if not in the first sandbox. An exit has a code and a time: `exited(1@5)`.
   */
  readonly seen?: string
  readonly now?: number
  readonly input?: Partial<Omit<PodSyncInput, 'probes'>>
  readonly probes?: Readonly<Record<string, ProbeResults>>
  readonly expected: string
}

const sleepy = { name: 'web', image: 'i' }

const cases: readonly Case[] = [
  {
    name: 'a new pod gets a sandbox, volumes and its first image at once',
    expected: 'sandbox 0, volumes, image web',
  },
  {
    name: 'containers wait for volumes',
    seen: 's0',
    input: { areVolumesReady: false },
    expected: 'volumes',
  },
  { name: 'then it starts', seen: 's0', expected: 'start web#0' },
  { name: 'and runs', seen: 's0 web#0 running', expected: '' },
  {
    name: 'it is given what it asks for by now',
    spec: { containers: [{ ...sleepy, resources: { requests: { cpu: '2' } } }] },
    seen: 's0 web#0 running',
    input: { actuatedResources: new Map([['web#0', { requests: { cpu: '1' } }]]) },
    expected: 'resize',
  },
  {
    name: 'once',
    spec: { containers: [{ ...sleepy, resources: { requests: { cpu: '2' } } }] },
    seen: 's0 web#0 running',
    input: { actuatedResources: new Map([['web#0', { requests: { cpu: '2' } }]]) },
    expected: '',
  },
  {
    name: 'what another kubelet has given it stands in its status',
    spec: { containers: [{ ...sleepy, resources: { limits: { memory: '2' } } }] },
    seen: 's0 web#0 running',
    input: {
      status: { containerStatuses: [{ ...ran('web#0'), resources: { limits: { memory: '1' } } }] },
    },
    expected: 'resize',
  },
  {
    name: 'one that says so is started again for it',
    spec: {
      containers: [
        {
          ...sleepy,
          resources: { limits: { memory: '2' } },
          resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
        },
      ],
    },
    seen: 's0 web#0 running',
    input: { actuatedResources: new Map([['web#0', { limits: { memory: '1' } }]]) },
    expected: 'kill web "Container web resize requires restart" 30s',
  },
  {
    name: 'a container is started once',
    seen: 's0 web#0 created',
    input: { starting: new Set(['web']) },
    expected: '',
  },
  {
    name: 'one that was never started is made anew',
    seen: 's0 web#0 created',
    expected: 'remove web#0',
  },
  {
    name: 'containers start in their order, each when the one before it has',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }, { name: 'c', image: 'i' }] },
    seen: 's0',
    expected: 'start web#0',
  },
  {
    name: 'one that is being started holds those after it',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0 web#0 running',
    input: { starting: new Set(['web']) },
    expected: '',
  },
  {
    name: 'one that could not be started does not',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0',
    input: { retryAtMs: new Map([['web', startMs + 10_000]]) },
    expected: 'start b#0; again at 10',
  },
  {
    name: 'a sandbox that could not be made is tried later',
    input: { sandboxRetryAtMs: startMs + 10_000, areVolumesReady: true },
    expected: '; again at 10',
  },
  // Restarts.
  { name: 'what ends is started again', seen: 's0 web#0 exited(0@0)', expected: 'start web#1 (then 10s)' },
  {
    name: 'what ends again has to wait',
    seen: 's0 web#1 exited(1@0) web#0 exited(1@0)',
    input: { restarts: restarts('web', 0, 10) },
    now: 1,
    expected:
      'web waits CrashLoopBackOff "back-off 10s restarting failed container=web pod=p_d(u)"; again at 10',
  },
  {
    name: 'until its time has come',
    seen: 's0 web#1 exited(1@0) web#0 exited(1@0)',
    input: { restarts: restarts('web', 0, 10) },
    now: 10,
    expected: 'start web#2 (then 20s)',
  },
  {
    name: 'up to five minutes',
    seen: 's0 web#9 exited(1@100)',
    input: { restarts: restarts('web', 0, 300) },
    now: 401,
    expected: 'start web#10 (then 300s)',
  },
  {
    name: 'and not at all after ten minutes of good behaviour',
    seen: 's0 web#9 exited(1@601)',
    input: { restarts: restarts('web', 0, 300) },
    now: 602,
    expected: 'start web#10 (then 10s)',
  },
  {
    name: 'another image is not to blame',
    spec: { containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#1 exited(1@0)',
    input: { restarts: new Map([['web', { atMs: startMs, delayMs: 80_000, hash: 'another' }]]) },
    now: 1,
    expected: 'start web#2 (then 10s)',
  },
  {
    name: 'what the runtime has forgotten the status remembers',
    seen: 's0',
    input: { status: said('web', 3) },
    expected: 'start web#4',
  },
  // Policies.
  {
    name: 'what may not run twice is done, and so is the pod',
    spec: { restartPolicy: 'Never' },
    seen: 's0 web#0 exited(0@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'what succeeds is done when only failures are repeated',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0 web#0 exited(0@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'what fails is not',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0 web#0 exited(1@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'the others may go on',
    spec: { restartPolicy: 'Never', containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0 b#0 running web#0 exited(1@0)',
    expected: '',
  },
  {
    name: 'a container has a policy of its own',
    spec: { restartPolicy: 'Never', containers: [{ ...sleepy, restartPolicy: 'OnFailure' }] },
    seen: 's0 web#0 exited(1@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'and rules for codes',
    spec: { restartPolicy: 'Never', containers: [ruled('Restart', [42])] },
    seen: 's0 web#0 exited(42@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'which other codes do not fall under',
    spec: { restartPolicy: 'Never', containers: [ruled('Restart', [42])] },
    seen: 's0 web#0 exited(1@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'the end of one may be that of all: they go at once',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 b#0 running web#0 exited(7@0)',
    expected: 'kill b "killing" 0s',
  },
  {
    name: 'and leave nothing',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 b#0 exited(137@0) web#0 exited(7@0)',
    expected: 'remove b#0',
  },
  {
    name: 'the reason last',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 web#0 exited(7@0)',
    expected: 'remove web#0',
  },
  // Probes and changes.
  {
    name: 'what is not alive is killed to be started again',
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe, will be restarted" 30s',
  },
  {
    name: 'a probe may give it another time to end',
    spec: { containers: [{ ...sleepy, livenessProbe: { terminationGracePeriodSeconds: 3 } }] },
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe, will be restarted" 3s',
  },
  {
    name: 'what never starts up too',
    seen: 's0 web#0 running',
    probes: { 'web#0': { startup: 'failure' } },
    expected: 'kill web "Container web failed startup probe, will be restarted" 30s',
  },
  {
    name: 'what may not run twice is killed for good',
    spec: { restartPolicy: 'Never' },
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe" 30s',
  },
  {
    name: 'what is not ready goes on',
    seen: 's0 web#0 running',
    probes: { 'web#0': { readiness: 'failure' } },
    expected: '',
  },
  {
    name: 'another image is another container',
    spec: { containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#0 running',
    expected: 'kill web "Container web definition changed, will be restarted" 30s',
  },
  {
    name: 'which replaces it even where nothing runs twice',
    spec: { restartPolicy: 'Never', containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#0 exited(0@0)',
    input: { restarting: new Set(['web#0']) },
    expected: 'start web#1',
  },
  {
    name: 'what the kubelet killed waits for the end before that, not for this one',
    seen: 's0 web#2 exited(137@100) web#1 exited(1@0)',
    input: { restarting: new Set(['web#2']), restarts: restarts('web', 0, 40) },
    now: 101,
    expected: 'start web#3 (then 80s)',
  },
  {
    name: 'a container marked to be killed is killed',
    seen: 's0 web#0 running',
    input: { toKill: new Map([['web#0', 'FailedPostStartHook']]) },
    expected: 'kill web "FailedPostStartHook" 30s',
  },
  {
    name: 'of what nothing is known is killed first',
    seen: 's0 web#0 unknown',
    expected: 'kill web "Container is in "unknown" state, try killing it before restart" 30s',
  },
  // Sandboxes.
  {
    name: 'a sandbox that died is taken down with what is in it',
    seen: 's0- web#0 running',
    expected: 'kill web "Stopping container web" 30s',
  },
  { name: 'gives its network back', seen: 's0- web#0 exited(137@0)', expected: 'stop s0' },
  {
    name: 'and is replaced',
    seen: 's0- web#0 exited(137@0)',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'sandbox 1 in place of another, image web',
  },
  {
    name: 'in which containers start again',
    seen: 's1 s0- web#0 exited(137@0) @s0',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'of two that are ready none is used',
    seen: 's1 s0 web#0 running @s0',
    expected: 'kill web "Stopping container web" 30s',
  },
  {
    name: 'a pod that may not run twice ends with its sandbox',
    spec: { restartPolicy: 'Never' },
    seen: 's0- web#0 exited(137@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'unless it has not begun',
    spec: { restartPolicy: 'Never' },
    seen: 's0-',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'sandbox 1 in place of another, image web',
  },
  {
    name: 'a pod whose work is done needs no new one',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0- web#0 exited(0@0)',
    input: { stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: ',
  },
  {
    name: 'an old sandbox goes when nothing is in it',
    seen: 's1 s0- web#1 running',
    expected: 'remove s0',
  },
  {
    name: 'of each container that ended one is kept',
    seen: 's0 web#3 running web#2 exited(1@0) web#1 exited(1@0) web#0 exited(1@0)',
    expected: 'remove web#1, remove web#0',
  },
  // Ephemeral containers.
  {
    name: 'a container for debugging is started beside the others',
    spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] },
    seen: 's0 web#0 running',
    expected: 'start debug#0',
  },
  {
    name: 'and never again',
    spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] },
    seen: 's0 debug#0 exited(1@0) web#0 running',
    expected: '',
  },
]

const init = { name: 'init', image: 'i' }
const sidecar = { name: 'side', image: 'i', restartPolicy: 'Always' }

const initCases: readonly Case[] = [
  {
    name: 'the first init container is the first to start',
    spec: { initContainers: [init] },
    expected: 'sandbox 0, volumes, image init',
  },
  { name: 'then it runs alone', spec: { initContainers: [init] }, seen: 's0', expected: 'start init#0' },
  { name: 'to its end', spec: { initContainers: [init] }, seen: 's0 init#0 running', expected: '' },
  {
    name: 'the next one follows',
    spec: { initContainers: [init, { name: 'second', image: 'i' }] },
    seen: 's0 init#0 exited(0@0)',
    expected: 'start second#0',
  },
  {
    name: 'then the others',
    spec: { initContainers: [init] },
    seen: 's0 init#0 exited(0@0)',
    expected: 'start web#0',
  },
  {
    name: 'an end that is gone does not count',
    spec: { initContainers: [init] },
    seen: 's0 web#0 running',
    expected: '',
  },
  {
    name: 'one that failed is repeated',
    spec: { initContainers: [init] },
    seen: 's0 init#0 exited(1@0)',
    expected: 'start init#1 (then 10s)',
  },
  {
    name: 'one that may not run twice takes the pod with it',
    spec: { initContainers: [init], restartPolicy: 'Never' },
    seen: 's0 init#0 exited(1@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'in a new sandbox all begins anew, and old ends go',
    spec: { initContainers: [init] },
    seen: 's1 s0- web#0 exited(137@0) @s0 init#0 exited(0@0) @s0',
    expected: 'start init#1 (then 10s), remove init#0',
  },
  {
    name: 'what comes after a sidecar need not wait for its end',
    spec: { initContainers: [sidecar, init] },
    seen: 's0 side#0 running',
    expected: 'start init#0',
  },
  {
    name: 'but for its start',
    spec: { initContainers: [sidecar] },
    seen: 's0 side#0 running',
    input: { starting: new Set(['side']) },
    expected: '',
  },
  {
    name: 'which a probe may tell',
    spec: { initContainers: [{ ...sidecar, startupProbe: {} }] },
    seen: 's0 side#0 running',
    expected: '',
  },
  {
    name: 'when it does',
    spec: { initContainers: [{ ...sidecar, startupProbe: {} }] },
    seen: 's0 side#0 running',
    probes: { 'side#0': { startup: 'success' } },
    expected: 'start web#0',
  },
  {
    name: 'a sidecar is kept running before the others have begun',
    spec: { initContainers: [sidecar, init] },
    seen: 's0 init#0 running side#0 exited(0@0)',
    expected: 'start side#1 (then 10s)',
  },
  {
    name: 'and after',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running side#0 exited(0@0)',
    expected: 'start side#1 (then 10s)',
  },
  {
    name: 'one that is gone without a trace too',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running',
    expected: 'start side#0',
  },
  {
    name: 'or not alive',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running side#0 running',
    probes: { 'side#0': { liveness: 'failure' } },
    expected: 'kill side "Init container side failed liveness probe" 30s',
  },
  {
    name: 'sidecars keep no pod alive',
    spec: { initContainers: [sidecar], restartPolicy: 'Never' },
    seen: 's0 web#0 exited(0@0) side#0 running',
    expected: 'terminating: kill side "Stopping container side" 30s',
  },
]

const removed: Termination = { isRemoved: true }

const terminationCases: readonly Case[] = [
  {
    name: 'containers go first, in the time that the deletion leaves',
    metadata: { deletionGracePeriodSeconds: 7 },
    seen: 's0 web#0 running',
    input: { termination: removed },
    expected: 'terminating: kill web "Stopping container web" 7s',
  },
  {
    name: 'sidecars after those they serve, in reverse',
    spec: { initContainers: [sidecar, { ...sidecar, name: 'late' }] },
    seen: 's0 web#0 running late#0 running side#0 running',
    input: { termination: removed },
    expected:
      'terminating: kill web "Stopping container web" 30s, kill late "Stopping container late" 30s after web#0, ' +
      'kill side "Stopping container side" 30s after web#0 late#0',
  },
  {
    name: 'nothing goes on while something still starts',
    seen: 's0 web#0 created',
    input: { termination: removed, starting: new Set(['web']) },
    expected: 'terminating: ',
  },
  {
    name: 'or comes to be',
    input: { termination: removed, isCreatingSandbox: true },
    expected: 'terminating: ',
  },
  {
    name: 'then sandboxes',
    seen: 's0 web#0 exited(0@0)',
    input: { termination: removed },
    expected: 'terminating: stop s0',
  },
  {
    name: 'then what they used',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']) },
    expected: 'terminated: release',
  },
  {
    name: 'then what is left of them',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: remove s0',
  },
  {
    name: 'also what has no sandbox any more',
    seen: 's0- web#0 exited(0@0) @gone',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: remove web#0, remove s0',
  },
  {
    name: 'and that is all',
    input: { termination: removed, isReleased: true },
    expected: 'terminated: finish',
  },
  {
    name: 'what has ended by itself stays to be looked at',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: { isRemoved: false }, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: ',
  },
  {
    name: 'whoever ends the pod may leave it less time',
    seen: 's0 web#0 running',
    input: { termination: { isRemoved: false, graceSeconds: 1 } },
    expected: 'terminating: kill web "Stopping container web" 1s',
  },
]

for (const each of [...cases, ...initCases, ...terminationCases]) {
  test(`planPod: ${each.name}`, () => {
    assert.equal(show(planPod(worldOf(each))), each.expected)
  })
}

test('planPod: what is asked again gives the same answer', () => {
  for (const each of [...cases, ...initCases, ...terminationCases]) {
    assert.deepEqual(planPod(worldOf(each)), planPod(worldOf(each)))
  }
})

function worldOf({ spec, metadata, seen = '', now = 0, input, probes = {} }: Case): PodSyncInput {
  const pod: KubeletPod = {
    metadata: { namespace: 'd', name: 'p', uid: 'u', ...metadata },
    spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [sleepy], ...spec },
  }
  return {
    pod,
    status: {},
    observed: observe(seen),
    nowMs: startMs + now * 1_000,
    areVolumesReady: seen !== '',
    stoppedSandboxes: new Set(),
    isReleased: false,
    starting: new Set(),
    actuatedResources: new Map(),
    isCreatingSandbox: false,
    restarting: new Set(),
    toKill: new Map(),
    restarts: new Map(),
    retryAtMs: new Map(),
    sandboxRetryAtMs: 0,
    volumesRetryAtMs: 0,
    probes: id => probes[id] ?? {},
    ...input,
  }
}

function observe(text: string): ObservedPod {
  const sandboxes = [...text.matchAll(/(?<![@\w])s(\d)(-?)/g)].map(([, attempt, dead]) => {
    return { id: `s${attempt}`, attempt: Number(attempt), isReady: dead === '', addresses: ['10.0.0.1'] }
  })
  const pattern = /(\w+)#(\d+) (\w+)(?:\((\d+)@(\d+)\))?(?: @(\w+))?/g
  const containers = [...text.matchAll(pattern)].map(match => {
    const [, name = '', attempt, state, code = '0', at = '0', sandbox = sandboxes[0]?.id ?? ''] = match
    return {
      id: `${name}#${attempt}`,
      sandboxId: sandbox,
      name,
      attempt: Number(attempt),
      state: state as ObservedContainer['state'],
      hash: hashOf(name),
      startedMs: startMs,
      finishedMs: startMs + Number(at) * 1_000,
      exitCode: Number(code),
      reason: '',
      message: '',
      image: 'i',
      imageRef: 'sha256:i',
    }
  })
  return { sandboxes, containers }
}

function hashOf(name: string): string {
  return containerHash({ name, image: 'i' })
}

function restarts(name: string, atSeconds: number, delaySeconds: number): ReadonlyMap<string, Restart> {
  return new Map([
    [name, { atMs: startMs + atSeconds * 1_000, delayMs: delaySeconds * 1_000, hash: hashOf(name) }],
  ])
}

function ran(id: string): ContainerStatus {
  return {
    name: 'web',
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
    containerID: `containerd://${id}`,
  }
}

function said(name: string, restartCount: number): PodStatus {
  return {
    containerStatuses: [
      { name, image: '', imageID: '', ready: true, restartCount, containerID: 'containerd://x' },
    ],
  }
}

function ruled(action: string, values: readonly number[]): Container {
  return {
    ...sleepy,
    restartPolicy: 'Never',
    restartPolicyRules: [{ action, exitCodes: { operator: 'In', values } }],
  }
}

function show({ stage, actions, waiting, againAtMs }: PodPlan): string {
  const waits = [...waiting].map(([name, { reason, message }]) => `${name} waits ${reason} "${message}"`)
  const again = againAtMs === undefined ? '' : `; again at ${(againAtMs - startMs) / 1_000}`
  return `${stage === 'running' ? '' : `${stage}: `}${[...actions.map(showAction), ...waits].join(', ')}${again}`
}

function showAction(action: PodAction): string {
  switch (action.type) {
    case 'prepare-volumes':
      return 'volumes'
    case 'fetch-image':
      return `image ${action.name}`
    case 'create-sandbox':
      return `sandbox ${action.attempt}${action.isReplacement ? ' in place of another' : ''}`
    case 'start-container': {
      const { name, attempt, restart } = action
      return `start ${name}#${attempt}${restart ? ` (then ${restart.delayMs / 1_000}s)` : ''}`
    }
    case 'kill-container': {
      const after = action.after.length === 0 ? '' : ` after ${action.after.join(' ')}`
      return `kill ${action.name} "${action.message}" ${action.graceSeconds}s${after}`
    }
    case 'resize-containers':
      return 'resize'
    case 'remove-container':
      return `remove ${action.name}#${action.attempt}`
    case 'stop-sandbox':
      return `stop ${action.id}`
    case 'remove-sandbox':
      return `remove ${action.id}`
    case 'release':
    case 'finish':
      return action.type
  }
}
