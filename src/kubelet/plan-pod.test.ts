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
  {
    name: 'a container starts when sandbox, volumes and image are ready',
    seen: 's0',
    expected: 'start web#0',
  },
  { name: 'a running container needs no action', seen: 's0 web#0 running', expected: '' },
  {
    name: 'changed resources are resized in place',
    spec: { containers: [{ ...sleepy, resources: { requests: { cpu: '2' } } }] },
    seen: 's0 web#0 running',
    input: { actuatedResources: new Map([['web#0', { requests: { cpu: '1' } }]]) },
    expected: 'resize',
  },
  {
    name: 'applied resources are not resized again',
    spec: { containers: [{ ...sleepy, resources: { requests: { cpu: '2' } } }] },
    seen: 's0 web#0 running',
    input: { actuatedResources: new Map([['web#0', { requests: { cpu: '2' } }]]) },
    expected: '',
  },
  {
    name: 'resources applied by an earlier kubelet are taken from the status',
    spec: { containers: [{ ...sleepy, resources: { limits: { memory: '2' } } }] },
    seen: 's0 web#0 running',
    input: {
      status: { containerStatuses: [{ ...ran('web#0'), resources: { limits: { memory: '1' } } }] },
    },
    expected: 'resize',
  },
  {
    name: 'a resize with RestartContainer restarts the container',
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
    name: 'a container being started is not started again',
    seen: 's0 web#0 created',
    input: { starting: new Set(['web']) },
    expected: '',
  },
  {
    name: 'a container that was created but not started is removed',
    seen: 's0 web#0 created',
    expected: 'remove web#0',
  },
  {
    name: 'containers start in order, each after the start of the previous one',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }, { name: 'c', image: 'i' }] },
    seen: 's0',
    expected: 'start web#0',
  },
  {
    name: 'a container being started blocks the next ones',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0 web#0 running',
    input: { starting: new Set(['web']) },
    expected: '',
  },
  {
    name: 'a container that failed to start does not block the next ones',
    spec: { containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0',
    input: { retryAtMs: new Map([['web', startMs + 10_000]]) },
    expected: 'start b#0; again at 10',
  },
  {
    name: 'a failed sandbox creation is retried later',
    input: { sandboxRetryAtMs: startMs + 10_000, areVolumesReady: true },
    expected: '; again at 10',
  },
  // Restarts.
  {
    name: 'an exited container is restarted at once',
    seen: 's0 web#0 exited(0@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'a container that exits repeatedly waits in CrashLoopBackOff',
    seen: 's0 web#1 exited(1@0) web#0 exited(1@0)',
    input: { restarts: restarts('web', 0, 10) },
    now: 1,
    expected:
      'web waits CrashLoopBackOff "back-off 10s restarting failed container=web pod=p_d(u)"; again at 10',
  },
  {
    name: 'a crashed container is restarted after its backoff',
    seen: 's0 web#1 exited(1@0) web#0 exited(1@0)',
    input: { restarts: restarts('web', 0, 10) },
    now: 10,
    expected: 'start web#2 (then 20s)',
  },
  {
    name: 'the restart backoff is at most five minutes',
    seen: 's0 web#9 exited(1@100)',
    input: { restarts: restarts('web', 0, 300) },
    now: 401,
    expected: 'start web#10 (then 300s)',
  },
  {
    name: 'the restart backoff is reset after ten minutes of running',
    seen: 's0 web#9 exited(1@601)',
    input: { restarts: restarts('web', 0, 300) },
    now: 602,
    expected: 'start web#10 (then 10s)',
  },
  {
    name: 'the restart backoff is reset by a changed image',
    spec: { containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#1 exited(1@0)',
    input: { restarts: new Map([['web', { atMs: startMs, delayMs: 80_000, hash: 'another' }]]) },
    now: 1,
    expected: 'start web#2 (then 10s)',
  },
  {
    name: 'the restart count is taken from the status when the runtime has no container',
    seen: 's0',
    input: { status: said('web', 3) },
    expected: 'start web#4',
  },
  // Policies.
  {
    name: 'with restartPolicy Never an exited container terminates the pod',
    spec: { restartPolicy: 'Never' },
    seen: 's0 web#0 exited(0@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'with restartPolicy OnFailure a succeeded container terminates the pod',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0 web#0 exited(0@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'with restartPolicy OnFailure a failed container is restarted',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0 web#0 exited(1@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'with restartPolicy Never other containers keep running',
    spec: { restartPolicy: 'Never', containers: [sleepy, { name: 'b', image: 'i' }] },
    seen: 's0 b#0 running web#0 exited(1@0)',
    expected: '',
  },
  {
    name: 'restartPolicy of a container wins over that of the pod',
    spec: { restartPolicy: 'Never', containers: [{ ...sleepy, restartPolicy: 'OnFailure' }] },
    seen: 's0 web#0 exited(1@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'a restart rule restarts a container with a matching exit code',
    spec: { restartPolicy: 'Never', containers: [ruled('Restart', [42])] },
    seen: 's0 web#0 exited(42@0)',
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'a restart rule does not apply to other exit codes',
    spec: { restartPolicy: 'Never', containers: [ruled('Restart', [42])] },
    seen: 's0 web#0 exited(1@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'RestartAllContainers kills the other containers at once',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 b#0 running web#0 exited(7@0)',
    expected: 'kill b "killing" 0s',
  },
  {
    name: 'RestartAllContainers removes the killed containers',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 b#0 exited(137@0) web#0 exited(7@0)',
    expected: 'remove b#0',
  },
  {
    name: 'RestartAllContainers removes the container that triggered it last',
    spec: { containers: [ruled('RestartAllContainers', [7]), { name: 'b', image: 'i' }] },
    seen: 's0 web#0 exited(7@0)',
    expected: 'remove web#0',
  },
  // Probes and changes.
  {
    name: 'a failed liveness probe kills the container for a restart',
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe, will be restarted" 30s',
  },
  {
    name: 'terminationGracePeriodSeconds of a probe wins over that of the pod',
    spec: { containers: [{ ...sleepy, livenessProbe: { terminationGracePeriodSeconds: 3 } }] },
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe, will be restarted" 3s',
  },
  {
    name: 'a failed startup probe kills the container for a restart',
    seen: 's0 web#0 running',
    probes: { 'web#0': { startup: 'failure' } },
    expected: 'kill web "Container web failed startup probe, will be restarted" 30s',
  },
  {
    name: 'with restartPolicy Never a failed liveness probe kills without a restart',
    spec: { restartPolicy: 'Never' },
    seen: 's0 web#0 running',
    probes: { 'web#0': { liveness: 'failure' } },
    expected: 'kill web "Container web failed liveness probe" 30s',
  },
  {
    name: 'a failed readiness probe needs no action',
    seen: 's0 web#0 running',
    probes: { 'web#0': { readiness: 'failure' } },
    expected: '',
  },
  {
    name: 'changing the image replaces the container',
    spec: { containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#0 running',
    expected: 'kill web "Container web definition changed, will be restarted" 30s',
  },
  {
    name: 'a changed image replaces the container despite restartPolicy Never',
    spec: { restartPolicy: 'Never', containers: [{ name: 'web', image: 'other' }] },
    seen: 's0 web#0 exited(0@0)',
    input: { restarting: new Set(['web#0']) },
    expected: 'start web#1',
  },
  {
    name: 'the backoff of a container killed by the kubelet counts from its previous exit',
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
    name: 'a container in unknown state is killed before its restart',
    seen: 's0 web#0 unknown',
    expected: 'kill web "Container is in "unknown" state, try killing it before restart" 30s',
  },
  // Sandboxes.
  {
    name: 'containers in a dead sandbox are killed',
    seen: 's0- web#0 running',
    expected: 'kill web "Stopping container web" 30s',
  },
  {
    name: 'a dead sandbox without running containers is stopped',
    seen: 's0- web#0 exited(137@0)',
    expected: 'stop s0',
  },
  {
    name: 'a stopped sandbox is replaced by a new attempt',
    seen: 's0- web#0 exited(137@0)',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'sandbox 1 in place of another, image web',
  },
  {
    name: 'containers are restarted in a new sandbox',
    seen: 's1 s0- web#0 exited(137@0) @s0',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'start web#1 (then 10s)',
  },
  {
    name: 'with two ready sandboxes all containers are killed',
    seen: 's1 s0 web#0 running @s0',
    expected: 'kill web "Stopping container web" 30s',
  },
  {
    name: 'with restartPolicy Never a dead sandbox terminates the pod',
    spec: { restartPolicy: 'Never' },
    seen: 's0- web#0 exited(137@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'with restartPolicy Never a sandbox that died before any container is replaced',
    spec: { restartPolicy: 'Never' },
    seen: 's0-',
    input: { stoppedSandboxes: new Set(['s0']) },
    expected: 'sandbox 1 in place of another, image web',
  },
  {
    name: 'a completed pod gets no new sandbox',
    spec: { restartPolicy: 'OnFailure' },
    seen: 's0- web#0 exited(0@0)',
    input: { stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: ',
  },
  {
    name: 'an old sandbox without containers is removed',
    seen: 's1 s0- web#1 running',
    expected: 'remove s0',
  },
  {
    name: 'the last exited instance of each container is kept',
    seen: 's0 web#3 running web#2 exited(1@0) web#1 exited(1@0) web#0 exited(1@0)',
    expected: 'remove web#1, remove web#0',
  },
  // Ephemeral containers.
  {
    name: 'an ephemeral container is started beside running containers',
    spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] },
    seen: 's0 web#0 running',
    expected: 'start debug#0',
  },
  {
    name: 'an exited ephemeral container is not restarted',
    spec: { ephemeralContainers: [{ name: 'debug', image: 'i' }] },
    seen: 's0 debug#0 exited(1@0) web#0 running',
    expected: '',
  },
]

const init = { name: 'init', image: 'i' }
const sidecar = { name: 'side', image: 'i', restartPolicy: 'Always' }

const initCases: readonly Case[] = [
  {
    name: 'the image of the first init container is pulled first',
    spec: { initContainers: [init] },
    expected: 'sandbox 0, volumes, image init',
  },
  {
    name: 'an init container starts alone',
    spec: { initContainers: [init] },
    seen: 's0',
    expected: 'start init#0',
  },
  {
    name: 'other containers wait for a running init container',
    spec: { initContainers: [init] },
    seen: 's0 init#0 running',
    expected: '',
  },
  {
    name: 'the next init container starts after the previous one succeeded',
    spec: { initContainers: [init, { name: 'second', image: 'i' }] },
    seen: 's0 init#0 exited(0@0)',
    expected: 'start second#0',
  },
  {
    name: 'containers start after the init containers succeeded',
    spec: { initContainers: [init] },
    seen: 's0 init#0 exited(0@0)',
    expected: 'start web#0',
  },
  {
    name: 'init containers that the runtime no longer has are not repeated',
    spec: { initContainers: [init] },
    seen: 's0 web#0 running',
    expected: '',
  },
  {
    name: 'a failed init container is restarted',
    spec: { initContainers: [init] },
    seen: 's0 init#0 exited(1@0)',
    expected: 'start init#1 (then 10s)',
  },
  {
    name: 'with restartPolicy Never a failed init container terminates the pod',
    spec: { initContainers: [init], restartPolicy: 'Never' },
    seen: 's0 init#0 exited(1@0)',
    expected: 'terminating: stop s0',
  },
  {
    name: 'init containers run again in a new sandbox, and old instances are removed',
    spec: { initContainers: [init] },
    seen: 's1 s0- web#0 exited(137@0) @s0 init#0 exited(0@0) @s0',
    expected: 'start init#1 (then 10s), remove init#0',
  },
  {
    name: 'an init container starts while a sidecar before it runs',
    spec: { initContainers: [sidecar, init] },
    seen: 's0 side#0 running',
    expected: 'start init#0',
  },
  {
    name: 'containers wait for the start of a sidecar',
    spec: { initContainers: [sidecar] },
    seen: 's0 side#0 running',
    input: { starting: new Set(['side']) },
    expected: '',
  },
  {
    name: 'containers wait for the startup probe of a sidecar',
    spec: { initContainers: [{ ...sidecar, startupProbe: {} }] },
    seen: 's0 side#0 running',
    expected: '',
  },
  {
    name: 'containers start after the startup probe of a sidecar succeeded',
    spec: { initContainers: [{ ...sidecar, startupProbe: {} }] },
    seen: 's0 side#0 running',
    probes: { 'side#0': { startup: 'success' } },
    expected: 'start web#0',
  },
  {
    name: 'an exited sidecar is restarted during initialization',
    spec: { initContainers: [sidecar, init] },
    seen: 's0 init#0 running side#0 exited(0@0)',
    expected: 'start side#1 (then 10s)',
  },
  {
    name: 'an exited sidecar is restarted beside running containers',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running side#0 exited(0@0)',
    expected: 'start side#1 (then 10s)',
  },
  {
    name: 'a missing sidecar is started beside running containers',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running',
    expected: 'start side#0',
  },
  {
    name: 'a sidecar with a failed liveness probe is killed',
    spec: { initContainers: [sidecar] },
    seen: 's0 web#0 running side#0 running',
    probes: { 'side#0': { liveness: 'failure' } },
    expected: 'kill side "Init container side failed liveness probe" 30s',
  },
  {
    name: 'sidecars are killed when all containers have completed',
    spec: { initContainers: [sidecar], restartPolicy: 'Never' },
    seen: 's0 web#0 exited(0@0) side#0 running',
    expected: 'terminating: kill side "Stopping container side" 30s',
  },
]

const removed: Termination = { isRemoved: true }

const terminationCases: readonly Case[] = [
  {
    name: 'termination kills containers with the grace period of the deletion',
    metadata: { deletionGracePeriodSeconds: 7 },
    seen: 's0 web#0 running',
    input: { termination: removed },
    expected: 'terminating: kill web "Stopping container web" 7s',
  },
  {
    name: 'termination kills sidecars after the containers, in reverse order',
    spec: { initContainers: [sidecar, { ...sidecar, name: 'late' }] },
    seen: 's0 web#0 running late#0 running side#0 running',
    input: { termination: removed },
    expected:
      'terminating: kill web "Stopping container web" 30s, kill late "Stopping container late" 30s after web#0, ' +
      'kill side "Stopping container side" 30s after web#0 late#0',
  },
  {
    name: 'termination waits for a container being started',
    seen: 's0 web#0 created',
    input: { termination: removed, starting: new Set(['web']) },
    expected: 'terminating: ',
  },
  {
    name: 'termination waits for a sandbox being created',
    input: { termination: removed, isCreatingSandbox: true },
    expected: 'terminating: ',
  },
  {
    name: 'termination stops sandboxes after their containers',
    seen: 's0 web#0 exited(0@0)',
    input: { termination: removed },
    expected: 'terminating: stop s0',
  },
  {
    name: 'termination releases volumes after stopping the sandbox',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']) },
    expected: 'terminated: release',
  },
  {
    name: 'termination removes the sandbox after the release',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: remove s0',
  },
  {
    name: 'termination removes containers of missing sandboxes',
    seen: 's0- web#0 exited(0@0) @gone',
    input: { termination: removed, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: remove web#0, remove s0',
  },
  {
    name: 'termination finishes when nothing is left',
    input: { termination: removed, isReleased: true },
    expected: 'terminated: finish',
  },
  {
    name: 'a completed pod keeps its containers until it is removed',
    seen: 's0- web#0 exited(0@0)',
    input: { termination: { isRemoved: false }, stoppedSandboxes: new Set(['s0']), isReleased: true },
    expected: 'terminated: ',
  },
  {
    name: 'the grace period of an eviction wins over that of the pod',
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

test('planPod: planning again gives the same actions', () => {
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
