import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { CriError } from '#/cri/cri.ts'
import { nodeOf, TestKubelet } from './test-kubelet.ts'

const web = { name: 'web', image: 'i' }
const present = { images: { i: { isPresent: true } } }
const local = { ...web, imagePullPolicy: 'IfNotPresent' }

test('a pod runs with events, and its status is written once', async t => {
  const node = await TestKubelet.start(t, present)
  assert.equal(await nodeOf(node), 'True')
  const written = node.follow(t, 'p')
  await node.create('p', { containers: [local] })
  assert.deepEqual(written, ['Pending', 'Running ready web=running'])
  assert.deepEqual(await node.events('p'), [
    'Pulled: Container image "i" already present on machine and can be accessed by the pod',
    'Created: Container created',
    'Started: Container started',
  ])
  const status = (await node.find('p'))?.status
  assert.equal(status?.podIP, '10.244.0.2')
  assert.equal(status?.hostIP, '192.0.2.1')
})

test('a node declares the features of its kubelet', async t => {
  const node = await TestKubelet.start(t, present)
  const { items } = await node.plane.run(node.plane.client.list(nodes))
  assert.deepEqual(
    items.map(({ status }) => status?.declaredFeatures),
    [['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits']],
  )
})

test('the status shows progress while the runtime is slow', async t => {
  const node = await TestKubelet.start(t, { images: { i: { pullMs: 5_000 } } })
  const written = node.follow(t, 'p')
  await node.create('p', { containers: [web] })
  assert.equal(await node.see('p'), 'Pending web=ContainerCreating')
  await node.advance(5)
  assert.deepEqual(written, ['Pending', 'Pending web=ContainerCreating', 'Running ready web=running'])
})

test('a crashing container is restarted with exponential backoff', async t => {
  const node = await TestKubelet.start(t, {
    ...present,
    containers: { web: { exitAfterMs: 1_000, exitCode: 3 } },
  })
  await node.create('p', { containers: [local] })
  const steps: string[] = []
  for (let seconds = 0; seconds < 400; seconds += 5) {
    const seen = await node.see('p')
    if (steps.at(-1) !== seen) steps.push(seen)
    await node.advance(5)
  }
  const waits = 'Running web=CrashLoopBackOff'
  assert.deepEqual(
    steps.filter(step => step.includes('CrashLoop')),
    [1, 2, 3, 4, 5, 6].map(count => `${waits}*${count}`),
  )
  const told = (await node.events('p')).find(text => text.startsWith('BackOff'))
  assert.match(told ?? '', /^BackOff: Back-off restarting failed container web in pod p_default\(/)
})

test('a pod with restartPolicy Never succeeds and keeps its exited container', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { exitAfterMs: 3_000 } } })
  const written = node.follow(t, 'p')
  await node.create('p', { restartPolicy: 'Never', containers: [local] })
  await node.advance(5)
  assert.deepEqual(written, ['Pending', 'Running ready web=running', 'Succeeded web=Completed:0'])
  assert.equal(await node.runtimeState(), '0/1 web#0 exited')
  await node.delete('p')
  await node.advance(1)
  assert.equal(await node.see('p'), 'gone')
  assert.equal(await node.runtimeState(), '0/0')
})

test('init containers, sidecars and containers start in order and stop in reverse', async t => {
  const node = await TestKubelet.start(t, {
    ...present,
    containers: { init: { exitAfterMs: 2_000 }, side: { stopMs: 0 }, web: { stopMs: 1_000 } },
  })
  const written = node.follow(t, 'p')
  await node.create('p', {
    initContainers: [
      { ...local, name: 'init' },
      { ...local, name: 'side', restartPolicy: 'Always' },
    ],
    containers: [local],
  })
  await node.advance(5)
  assert.equal(written.at(-1), 'Running ready init=Completed:0 side=running web=running')
  assert.ok(written.includes('Pending init=running! side=PodInitializing web=PodInitializing'))
  await node.delete('p')
  await node.advance(0.5)
  assert.equal(await node.runtimeState(), '1/1 init#0 exited side#0 running web#0 running')
  await node.advance(1)
  assert.equal(await node.see('p'), 'gone')
})

test('a deleted pod is terminated with its grace period', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { stopMs: Infinity } } })
  const written = node.follow(t, 'p')
  await node.create('p', { terminationGracePeriodSeconds: 20, containers: [local] })
  await node.delete('p')
  await node.advance(19)
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
  await node.advance(2)
  assert.deepEqual(written.slice(-2), ['Failed web=Error:137', 'gone'])
  assert.equal(await node.runtimeState(), '0/0')
  assert.ok((await node.events('p')).includes('Killing: Stopping container web'))
})

test('a second deletion shortens the grace period of a pod', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { stopMs: Infinity } } })
  await node.create('p', { terminationGracePeriodSeconds: 600, containers: [local] })
  await node.delete('p')
  await node.advance(10)
  await node.delete('p', 3)
  await node.advance(4)
  assert.equal(await node.see('p'), 'gone')
  assert.equal(await node.runtimeState(), '0/0')
})

test('a pod removed from the API is terminated with its grace period', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { stopMs: Infinity } } })
  await node.create('p', { terminationGracePeriodSeconds: 5, containers: [local] })
  await node.delete('p', 0)
  assert.equal(await node.see('p'), 'gone')
  await node.advance(6)
  assert.equal(await node.runtimeState(), '0/0')
})

test('postStart and preStop hooks run', async t => {
  const execs = { 'hook start': { afterMs: 2_000 }, 'hook stop': { afterMs: 4_000 } }
  const node = await TestKubelet.start(t, { ...present, containers: { web: { execs, stopMs: 0 } } })
  const lifecycle = {
    postStart: { exec: { command: ['hook', 'start'] } },
    preStop: { exec: { command: ['hook', 'stop'] } },
  }
  await node.create('p', { containers: [{ ...local, lifecycle }] })
  assert.equal(await node.see('p'), 'Pending web=ContainerCreating')
  await node.advance(2)
  assert.equal(await node.see('p'), 'Running ready web=running')
  await node.delete('p')
  await node.advance(3)
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
  await node.advance(2)
  assert.equal(await node.see('p'), 'gone')
})

test('a failing postStart hook ends the container, a failing preStop hook does not', async t => {
  const execs = { '*': { exitCode: 1, stderr: 'secret' } }
  const node = await TestKubelet.start(t, { ...present, containers: { web: { execs, stopMs: 0 } } })
  const lifecycle = { postStart: { exec: { command: ['fail'] } } }
  await node.create('p', { restartPolicy: 'Never', containers: [{ ...local, lifecycle }] })
  await node.advance(5)
  assert.equal(await node.see('p'), 'Failed web=Error:143')
  const told = await node.events('p')
  assert.ok(told.includes('FailedPostStartHook: PostStartHook failed'), told.join('\n'))
  assert.ok(told.includes('Killing: FailedPostStartHook'), told.join('\n'))
  assert.ok(!told.some(text => text.includes('secret')))

  const preStop = { preStop: { exec: { command: ['fail'] } } }
  await node.create('q', { containers: [{ ...local, lifecycle: preStop }] })
  await node.delete('q')
  await node.advance(2)
  assert.equal(await node.see('q'), 'gone')
  assert.ok((await node.events('q')).includes('FailedPreStopHook: PreStopHook failed'))
})

test('restartAllContainers restarts all containers of a pod', async t => {
  const scripts = { web: [{ exitAfterMs: 3_000, exitCode: 7 }, {}], init: { exitAfterMs: 100 } }
  const node = await TestKubelet.start(t, { ...present, containers: scripts })
  const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } }]
  await node.create('p', {
    restartPolicy: 'Never',
    initContainers: [{ ...local, name: 'init' }],
    containers: [
      { ...local, restartPolicy: 'Never', restartPolicyRules: rules },
      { ...local, name: 'b' },
    ],
  })
  assert.equal(await node.see('p'), 'Running ready init=Completed:0 b=running web=running')
  await node.advance(5)
  assert.equal(await node.see('p'), 'Running ready init=Completed:0*1 b=running*1 web=running*1')
  const { conditions = [], containerStatuses = [] } = (await node.find('p'))?.status ?? {}
  assert.equal(conditions.find(({ type }) => type === 'AllContainersRestarting')?.status, 'False')
  const last = containerStatuses.map(({ name, lastState }) => [name, lastState?.terminated?.exitCode])
  assert.deepEqual(last, [
    ['b', 143],
    ['web', 7],
  ])
})

test('a pod fails after activeDeadlineSeconds', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { stopMs: 0 } } })
  await node.create('p', { activeDeadlineSeconds: 30, containers: [local] })
  await node.advance(28)
  assert.equal(await node.see('p'), 'Running ready web=running')
  await node.advance(3)
  assert.equal(await node.see('p'), 'Failed (DeadlineExceeded) web=Error:143')
  assert.equal(await node.runtimeState(), '0/1 web#0 exited')
  const told = await node.events('p')
  assert.ok(told.includes('DeadlineExceeded: Pod was active on the node longer than the specified deadline'))
})

test('a restarted kubelet adopts running containers without a change', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  const before = await node.find('p')
  const id = await node.runningId('web')
  await node.restart()
  await node.advance(30)
  assert.equal(await node.runningId('web'), id)
  assert.deepEqual((await node.find('p'))?.status, before?.status)
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
})

test('a restarted kubelet reports containers that exited meanwhile', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { restartPolicy: 'Never', containers: [local] })
  const id = await node.runningId('web')
  await node.stop()
  node.runtime.endContainer(id, 5)
  node.begin()
  await node.advance(2)
  assert.equal(await node.see('p'), 'Failed web=Error:5')
})

test('a restarted kubelet removes pods that were deleted meanwhile', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  await node.create('q', { containers: [local] })
  await node.stop()
  await node.delete('p', 0)
  await node.delete('q')
  node.begin()
  await node.advance(40)
  assert.equal(await node.runtimeState(), '0/0')
  assert.equal(await node.see('q'), 'gone')
  assert.deepEqual(await node.plane.run(node.platform.files.list('/node/pods')), [])
  assert.deepEqual(await node.plane.run(node.platform.files.list('/node/logs/pods')), [])
})

test('a dead sandbox is replaced with its containers', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  const [sandbox] = await node.plane.run(node.runtime.listPodSandbox())
  node.runtime.killSandbox(sandbox?.id ?? '')
  await node.advance(2)
  assert.equal(await node.see('p'), 'Running ready web=running*1')
  assert.ok(
    (await node.events('p')).includes(
      'SandboxChanged: Pod sandbox changed, it will be killed and re-created.',
    ),
  )
})

test('changing the image replaces the container', async t => {
  const images = { ...present.images, other: { isPresent: true } }
  const node = await TestKubelet.start(t, { images, containers: { web: { stopMs: 0 } } })
  await node.create('p', { containers: [local] })
  await node.plane.change(pods, 'default/p', pod => {
    return { ...pod, spec: { ...pod.spec!, containers: [{ ...pod.spec!.containers[0]!, image: 'other' }] } }
  })
  await node.advance(2)
  assert.equal(await node.see('p'), 'Running ready web=running*1')
  const told = await node.events('p')
  assert.ok(told.includes('Killing: Container web definition changed, will be restarted'), told.join('\n'))
})

test('pulling a missing image is retried with backoff', async t => {
  const node = await TestKubelet.start(t, { images: { i: { pullError: 'not found', pullFailures: 2 } } })
  await node.create('p', { containers: [web] })
  assert.equal(await node.see('p'), 'Pending web=ErrImagePull')
  await node.advance(16)
  assert.match(await node.see('p'), /Pending web=(ErrImagePull|ImagePullBackOff)/)
  await node.advance(60)
  assert.equal(await node.see('p'), 'Running ready web=running')
  assert.ok((await node.events('p')).some(text => text.startsWith('Failed: Error: ErrImagePull')))
})

test('a container starts once its missing secret or config map exists', async t => {
  const node = await TestKubelet.start(t, present)
  const envFrom = [{ configMapRef: { name: 'settings' } }]
  await node.create('p', { containers: [{ ...local, envFrom }] })
  assert.equal(await node.see('p'), 'Pending web=CreateContainerConfigError')
  assert.ok((await node.events('p')).includes('Failed: Error: configmap "settings" not found'))
  await node.plane.create(configMaps, {
    metadata: { namespace: 'default', name: 'settings' },
    data: { a: 'b' },
  })
  await node.advance(16)
  assert.equal(await node.see('p'), 'Running ready web=running')
})

test('a container that cannot be created or started has the reason in its status', async t => {
  const node = await TestKubelet.start(t, {
    ...present,
    containers: { made: { createError: 'no room' }, started: { startError: 'no such file' } },
  })
  await node.create('p', { containers: [{ ...local, name: 'made' }] })
  assert.equal(await node.see('p'), 'Pending made=CreateContainerError')
  await node.create('q', { containers: [{ ...local, name: 'started' }] })
  assert.equal(await node.see('q'), 'Running started=RunContainerError')
  await node.create('r', { restartPolicy: 'Never', containers: [{ ...local, name: 'started' }] })
  assert.equal(await node.see('r'), 'Failed started=StartError:128')
  assert.ok((await node.events('p')).includes('Failed: Error: no room'))
})

test('containers wait until the network policies of their pod are in force', async t => {
  const protectedPods: string[] = []
  const inForce = Promise.withResolvers<void>()
  const node = await TestKubelet.start(t, {
    ...present,
    protectPod: async ({ metadata }, addresses) => {
      protectedPods.push(`${metadata.name} ${addresses.join()}`)
      await inForce.promise
    },
  })
  await node.create('p', { containers: [local] })
  await node.create('h', { hostNetwork: true, containers: [local] })
  assert.equal(await node.see('p'), 'Pending web=ContainerCreating')
  assert.match(await node.see('h'), /^Running/, 'policies do not concern pods in the network of the node')
  inForce.resolve()
  await node.advance(1)
  assert.equal(await node.see('p'), 'Running ready web=running')
  assert.equal(protectedPods.length, 1)
  assert.match(protectedPods[0] ?? '', /^p 10\.\d+\.\d+\.\d+/)
})

test('a pod that is deleted while it waits for its network policies leaves nothing', async t => {
  const node = await TestKubelet.start(t, { ...present, protectPod: () => new Promise(() => undefined) })
  await node.create('p', { containers: [local] })
  await node.delete('p')
  await node.advance(60)
  assert.equal(await node.see('p'), 'gone')
})

test('creating a sandbox is retried after a failure', async t => {
  const node = await TestKubelet.start(t, present)
  node.runtime.faults.fail('runPodSandbox', new CriError('failed', 'no addresses left'))
  await node.create('p', { containers: [local] })
  assert.equal(await node.see('p'), 'Pending web=ContainerCreating')
  assert.ok(
    (await node.events('p')).includes(
      'FailedCreatePodSandBox: Failed to create pod sandbox: no addresses left',
    ),
  )
  await node.advance(16)
  assert.equal(await node.see('p'), 'Running ready web=running')
})

test('killing a container is retried after a failure, with an event', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { web: { stopMs: 0 } } })
  await node.create('p', { containers: [local] })
  node.runtime.faults.fail('stopContainer', new CriError('failed', 'it does not want to'), 2)
  await node.delete('p')
  await node.advance(1)
  const told = await node.events('p')
  assert.ok(
    told.some(text => text.startsWith('FailedKillPod: error killing pod: it does not want to')),
    told.join(),
  )
  await node.advance(10)
  assert.equal(await node.see('p'), 'gone')
  assert.equal(await node.runtimeState(), '0/0')
})

test('a pod deleted during its start leaves nothing', async t => {
  for (const method of ['runPodSandbox', 'createContainer', 'startContainer'] as const) {
    const node = await TestKubelet.start(t, present)
    node.runtime.faults.delay(method, 5_000)
    await node.create('p', { containers: [local] })
    await node.delete('p')
    await node.advance(40)
    assert.equal(await node.see('p'), 'gone', method)
    assert.equal(await node.runtimeState(), '0/0', method)
    assert.deepEqual(await node.plane.run(node.platform.files.list('/node/pods')), [], method)
    await node.stop()
  }
})

test('the latest container and sandbox are found although the clock of the node has jumped back', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  const { simulation } = node.plane
  simulation.host('node').jumpClock(-10_000)
  node.runtime.endContainer(await node.runningId('web'), 1)
  await node.advance(15)
  assert.equal(await node.see('p'), 'Running ready web=running*1')
  assert.equal(await node.runtimeState(), '1/1 web#0 exited web#1 running')
  simulation.host('node').jumpClock(-60_000)
  const [sandbox] = await node.plane.run(node.runtime.listPodSandbox())
  node.runtime.killSandbox(sandbox?.id ?? '')
  await node.advance(90)
  assert.equal(await node.see('p'), 'Running ready web=running*2')
  assert.match(await node.runtimeState(), /^1\/\d .*web#2 running$/)
})

test('an unavailable runtime causes no restart and no status change', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  const id = await node.runningId('web')
  node.runtime.faults.disconnect()
  await node.advance(60)
  assert.equal(await node.see('p'), 'Running ready web=running')
  await node.create('q', { containers: [local] })
  node.runtime.faults.reconnect()
  await node.advance(15)
  assert.equal(await node.see('q'), 'Running ready web=running')
  assert.equal(await node.plane.run(node.runtime.containerStatus(id)).then(({ state }) => state), 'running')
})

test('statuses are written after the API server was unavailable', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { job: { exitAfterMs: 20_000 } } })
  await node.create('p', { restartPolicy: 'Never', containers: [{ ...local, name: 'job' }] })
  node.isApiAway = true
  await node.advance(60)
  assert.equal(await node.runtimeState(), '0/1 job#0 exited')
  assert.equal(await node.see('p'), 'Running ready job=running')
  node.isApiAway = false
  await node.advance(60)
  assert.equal(await node.see('p'), 'Succeeded job=Completed:0')
})

test('an ephemeral container is started in a running pod', async t => {
  const node = await TestKubelet.start(t, {
    ...present,
    containers: { debug: { exitAfterMs: 3_000, exitCode: 1 } },
  })
  await node.create('p', { containers: [local] })
  const pod = (await node.find('p'))!
  const ephemeralContainers = [{ ...local, name: 'debug', targetContainerName: 'web' }]
  const at = { namespace: 'default', name: 'p', subresource: 'ephemeralcontainers' }
  await node.plane.run(
    node.plane.client.updateSubresource(pods, at, { ...pod, spec: { ...pod.spec!, ephemeralContainers } }),
  )
  await node.advance(1)
  assert.equal(await node.see('p'), 'Running ready web=running debug=running!')
  await node.advance(30)
  assert.equal(await node.see('p'), 'Running ready web=running debug=Error:1')
})

test('the kubelet rejects pods that exceed the capacity of the node or do not match its labels', async t => {
  const node = await TestKubelet.start(t, { ...present, settings: { podsMax: 2 } })
  const greedy = { ...local, resources: { requests: { cpu: '3' } } }
  await node.create('a', { containers: [greedy] })
  await node.create('b', { containers: [greedy] })
  assert.equal(await node.see('b'), 'Failed (OutOfcpu)')
  assert.match(
    (await node.find('b'))?.status?.message ?? '',
    /^Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000$/,
  )
  await node.create('c', { containers: [local], nodeSelector: { disk: 'ssd' } })
  assert.equal(await node.see('c'), 'Failed (NodeAffinity)')
  await node.create('d', { containers: [local] })
  await node.create('e', { containers: [local] })
  assert.equal(await node.see('e'), 'Failed (OutOfpods)')
  await node.delete('b')
  await node.advance(1)
  assert.equal(await node.see('b'), 'gone')
  // Deleted without a grace period: its containers may still run when the next pod arrives.
  await node.delete('a', 0)
  await node.create('f', { containers: [greedy] })
  assert.equal(await node.see('f'), 'Running ready web=running')
})

test('an idle kubelet makes no runtime calls for pods', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('p', { containers: [local] })
  await node.advance(5)
  let asked = 0
  const list = node.runtime.listContainers.bind(node.runtime)
  node.runtime.listContainers = (...options) => {
    if (options[0]?.podUid) asked++
    return list(...options)
  }
  await node.advance(600)
  assert.equal(asked, 0)
})

test('a failing liveness probe restarts a container, a failing readiness probe does not', async t => {
  const execs = { alive: { exitCode: 1 }, ready: { exitCode: 0 } }
  const node = await TestKubelet.start(t, { ...present, containers: { web: { execs, stopMs: 0 } } })
  const probes = {
    livenessProbe: { exec: { command: ['alive'] }, periodSeconds: 5, failureThreshold: 2 },
    readinessProbe: { exec: { command: ['ready'] }, periodSeconds: 5 },
  }
  await node.create('p', { containers: [{ ...local, ...probes }] })
  assert.equal(await node.see('p'), 'Running ready web=running')
  await node.advance(8)
  assert.match(await node.see('p'), /^Running (ready )?web=running!?\*1$/)
  const told = await node.events('p')
  assert.ok(
    told.some(text => text.startsWith('Unhealthy: Liveness probe failed')),
    told.join('\n'),
  )
  assert.ok(told.includes('Killing: Container web failed liveness probe, will be restarted'), told.join('\n'))
})

test('a pod waits for a volume that cannot be mounted, with an event', async t => {
  const node = await TestKubelet.start(t, present)
  const volumes = [{ name: 'v', configMap: { name: 'settings' } }]
  const volumeMounts = [{ name: 'v', mountPath: '/v' }]
  await node.create('p', { volumes, containers: [{ ...local, volumeMounts }] })
  assert.equal(await node.see('p'), 'Pending web=ContainerCreating')
  const told = await node.events('p')
  assert.ok(
    told.some(text => text.startsWith('FailedMount: MountVolume.SetUp failed for volume "v"')),
    told.join('\n'),
  )
  await node.plane.create(configMaps, {
    metadata: { namespace: 'default', name: 'settings' },
    data: { a: 'b' },
  })
  await node.advance(2)
  assert.equal(await node.see('p'), 'Running ready web=running')
})

test('the termination message of a container is in its status', async t => {
  const files = { '/dev/termination-log': 'it broke' }
  const node = await TestKubelet.start(t, {
    ...present,
    containers: {
      web: { exitAfterMs: 100, exitCode: 1, files },
      loud: { exitAfterMs: 100, exitCode: 1, logs: [{ text: 'help' }] },
    },
  })
  const loud = { ...local, name: 'loud', terminationMessagePolicy: 'FallbackToLogsOnError' }
  await node.create('p', { restartPolicy: 'Never', containers: [local, loud] })
  await node.advance(2)
  const statuses = (await node.find('p'))?.status?.containerStatuses ?? []
  const said = statuses.map(({ name, state }) => [name, state?.terminated?.message?.trim()])
  assert.deepEqual(said, [
    ['loud', 'help'],
    ['web', 'it broke'],
  ])
})
