/** A kubelet with real containers: the parts of a pod, its lifecycle, and that nothing is left behind. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { containersMissing, processesWith } from './test-containerd.ts'
import { TestNode } from './test-node.ts'

const skip = containersMissing

function shell(name: string, script: string, more: Partial<Container> = {}): Container {
  return { name, image: 'busybox', command: ['sh', '-c', script], ...more }
}

/** Exits on SIGTERM. */
const patient = 'trap "exit 0" TERM; sleep 1000 & wait'

test('a pod with volumes, probes and hooks runs and is removed without a trace', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  await node.client.create(configMaps, {
    metadata: { namespace: 'default', name: 'settings' },
    data: { color: 'blue' },
  })
  const volumeMounts = [
    { name: 'shared', mountPath: '/shared' },
    { name: 'settings', mountPath: '/settings' },
  ]
  await node.run('web', {
    volumes: [
      { name: 'shared', emptyDir: {} },
      { name: 'settings', configMap: { name: 'settings' } },
    ],
    initContainers: [
      shell('init', 'echo from-init > /shared/init', { volumeMounts }),
      shell('side', `echo side > /shared/side; ${patient}`, { volumeMounts, restartPolicy: 'Always' }),
    ],
    containers: [
      shell('web', `cat /shared/init /shared/side /settings/color; echo "$GREETING $POD_IP"; ${patient}`, {
        volumeMounts,
        env: [
          { name: 'GREETING', value: 'hello' },
          { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        ],
        resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { memory: '64Mi' } },
        readinessProbe: { exec: { command: ['test', '-e', '/shared/started'] }, periodSeconds: 1 },
        lifecycle: {
          postStart: { exec: { command: ['sh', '-c', 'echo yes > /shared/started'] } },
          preStop: { exec: { command: ['sh', '-c', 'echo bye > /proc/1/fd/1'] } },
        },
      }),
    ],
  })
  const pod = await node.untilRunning('web')
  const { status } = pod
  assert.equal(status?.qosClass, 'Burstable')
  assert.deepEqual(
    status?.initContainerStatuses?.map(({ name, state, ready }) => [name, state?.terminated?.reason, ready]),
    [
      ['init', 'Completed', true],
      ['side', undefined, true],
    ],
  )
  assert.equal(await logOf(node, pod, 'web'), `from-init\nside\nbluehello ${status?.podIP}\n`)
  const told = await node.events('web')
  const reasons = told.map(text => text.split(':')[0]).filter(reason => reason !== 'MissingClusterDNS')
  const started = ['Pulled', 'Created', 'Started']
  assert.deepEqual(reasons, [...started, ...started, ...started])
  await node.delete('web')
  assert.ok((await node.events('web')).includes('Killing: Stopping container web'))
  await nothingIsLeft(node, before)
})

test('containers, sandboxes and runtimes that die are restarted', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  await node.run('web', { containers: [shell('web', patient)] })
  const first = await node.untilRunning('web')
  const [own] = first.status?.containerStatuses ?? []

  await t.test('a restarted kubelet adopts the running container', async () => {
    await node.stopKubelet()
    node.startKubelet()
    await node.run('other', { containers: [shell('other', patient)] })
    await node.untilRunning('other')
    const found = await node.get('web')
    assert.equal(found.status?.containerStatuses?.[0]?.containerID, own?.containerID)
    assert.equal(found.status?.containerStatuses?.[0]?.restartCount, 0)
  })

  await t.test('the kubelet adopts the running container after containerd was killed', async () => {
    process.kill(node.containerd.containerd.pid ?? 0, 'SIGKILL')
    await node.run('later', { containers: [shell('later', patient)] })
    await node.untilRunning('later')
    assert.equal((await node.get('web')).status?.containerStatuses?.[0]?.containerID, own?.containerID)
  })

  await t.test('a pod whose pause container was killed is restarted', async () => {
    const [sandbox] = await node.containerd.runtime.listPodSandbox({ podUid: first.metadata.uid ?? '' })
    process.kill(await firstProcess(node, sandbox?.id ?? ''), 'SIGKILL')
    const back = await node.until('web', ({ status }) => {
      const [container] = status?.containerStatuses ?? []
      return container?.restartCount === 1 && container.ready
    })
    assert.notEqual(back.status?.podIP, undefined)
    const told = await node.events('web')
    assert.ok(
      told.includes('SandboxChanged: Pod sandbox changed, it will be killed and re-created.'),
      told.join('\n'),
    )
  })

  await t.test('a pod whose shim was killed is restarted', async () => {
    const later = await node.get('later')
    const [sandbox] = await node.containerd.runtime.listPodSandbox({ podUid: later.metadata.uid ?? '' })
    const [shim] = await processesWith(`-id\0${sandbox?.id}`)
    const [container] = later.status?.containerStatuses ?? []
    const main = await firstProcess(node, (container?.containerID ?? '').replace('containerd://', ''))
    process.kill(shim ?? 0, 'SIGKILL')
    await node.until('later', ({ status }) => {
      const [restarted] = status?.containerStatuses ?? []
      return (restarted?.restartCount ?? 0) > 0 && restarted?.ready === true
    })
    assert.equal(await isRunning(main), false, 'no process is left of the container that was replaced')
    assert.equal((await node.get('other')).status?.containerStatuses?.[0]?.restartCount, 0)
  })

  for (const name of ['web', 'other', 'later']) await node.delete(name)
  // containerd 2 leaves the shim of a pod whose pause container was killed; orphans are removed later.
  await node.containerd.containerd.removeOrphans()
  await nothingIsLeft(node, before)
})

test('the pod status has the exit codes and reasons of containers', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  const ended = async (name: string, container: Container): Promise<string> => {
    await node.run(name, { restartPolicy: 'Never', containers: [container] })
    const { status } = await node.until(name, pod => /Succeeded|Failed/.test(pod.status?.phase ?? ''))
    const {
      reason,
      exitCode,
      message = '',
    } = status?.containerStatuses?.[0]?.state?.terminated ?? { exitCode: -1 }
    return [status?.phase, reason, exitCode, message].join(' ').trim()
  }
  assert.equal(await ended('good', shell('it', 'true')), 'Succeeded Completed 0')
  assert.equal(await ended('bad', shell('it', 'exit 3')), 'Failed Error 3')
  const greedy = shell('it', 'tail /dev/zero', { resources: { limits: { memory: '16Mi' } } })
  assert.equal(await ended('greedy', greedy), 'Failed OOMKilled 137')
  const talkative = shell('it', 'echo last words > /dev/termination-log; exit 1')
  assert.equal(await ended('talkative', talkative), 'Failed Error 1 last words')
  const loud = shell('it', 'echo help; exit 1', { terminationMessagePolicy: 'FallbackToLogsOnError' })
  assert.equal(await ended('loud', loud), 'Failed Error 1 help')
  const missing = await ended('missing', { name: 'it', image: 'busybox', command: ['/no/such/program'] })
  assert.match(missing, /^Failed StartError 128 .*no such file or directory/)
  for (const name of ['good', 'bad', 'greedy', 'talkative', 'loud', 'missing']) await node.delete(name)
  await nothingIsLeft(node, before)
})

test('missing images, secrets and programs are waiting reasons in the pod status', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  const waits = async (name: string, spec: Pod['spec'] & object): Promise<string> => {
    await node.run(name, spec)
    const pod = await node.until(name, ({ status }) => {
      const { reason } = status?.containerStatuses?.[0]?.state?.waiting ?? {}
      return reason !== undefined && reason !== 'ContainerCreating'
    })
    return pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''
  }
  const never = { name: 'it', image: 'no/such:image', imagePullPolicy: 'Never' }
  assert.equal(await waits('image', { containers: [never] }), 'ErrImageNeverPull')
  const envFrom = [{ configMapRef: { name: 'missing' } }]
  assert.equal(
    await waits('config', { containers: [shell('it', 'true', { envFrom })] }),
    'CreateContainerConfigError',
  )
  const nonRoot = { runAsNonRoot: true }
  const root = shell('it', 'true', { securityContext: nonRoot })
  assert.equal(await waits('root', { containers: [root] }), 'CreateContainerConfigError')
  const looping = shell('it', 'exit 1')
  assert.equal(await waits('loop', { containers: [looping] }), 'CrashLoopBackOff')
  for (const name of ['image', 'config', 'root', 'loop']) await node.delete(name)
  await nothingIsLeft(node, before)
})

test('a static pod with the host network runs beside a FIFO in the static pod path', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  const manifests = join(node.settings.rootDirectory, 'manifests')
  await mkdir(manifests, { recursive: true })
  await node.containerd.linux.run(['mkfifo', join(manifests, 'fifo.json')])
  const spec = { hostNetwork: true, containers: [{ ...shell('it', patient), imagePullPolicy: 'Never' }] }
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fixed' }, spec }
  await writeFile(join(manifests, 'fixed.json'), JSON.stringify(manifest))
  await node.appears('fixed-node-0')
  const mirror = await node.untilRunning('fixed-node-0')
  assert.equal(mirror.status?.podIP, node.settings.addresses[0])
  assert.notEqual(mirror.metadata.annotations?.['kubernetes.io/config.mirror'], undefined)
  await rm(join(manifests, 'fixed.json'))
  await node.disappears('fixed-node-0')
  await nothingIsLeft(node, before)
})

test('many pods run and are deleted concurrently', { skip }, async t => {
  const node = await TestNode.start(t)
  const before = await leftovers(node)
  const names = Array.from({ length: 20 }, (_, index) => `many-${index}`)
  await Promise.all(names.map(name => node.run(name, { containers: [shell('it', patient)] })))
  const running = await Promise.all(names.map(name => node.untilRunning(name)))
  assert.equal(new Set(running.map(({ status }) => status?.podIP)).size, names.length)
  await Promise.all(names.map(name => node.delete(name)))
  await nothingIsLeft(node, before)
})

async function logOf(node: TestNode, pod: Pod, container: string): Promise<string> {
  const { namespace, name, uid } = pod.metadata
  const path = join(node.settings.podLogsDir, `${namespace}_${name}_${uid}`, container, '0.log')
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  return lines
    .map(line => {
      const [, tag, text] = /^\S+ \S+ ([FP]) (.*)$/.exec(line) ?? []
      return `${text}${tag === 'F' ? '\n' : ''}`
    })
    .join('')
}

/** Of a container or a sandbox. */
async function firstProcess(node: TestNode, id: string): Promise<number> {
  const tasks = join(node.containerd.containerd.folder, 'state/io.containerd.runtime.v2.task/k8s.io')
  return Number(await readFile(join(tasks, id, 'init.pid'), 'utf8'))
}

/** A process that has ended may still wait for its parent. */
async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tX')
  return !/^State:\s*[XZ]/m.test(status)
}

/** Finished pods may disappear from the API before the node has cleaned up. */
async function nothingIsLeft(node: TestNode, before: unknown): Promise<void> {
  const giveUp = Date.now() + 20_000
  while (!isDeepStrictEqual(await leftovers(node), before) && Date.now() < giveUp) {
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  assert.deepEqual(await leftovers(node), before)
}

/** Resources that pods leave behind when cleanup fails. */
async function leftovers(node: TestNode): Promise<unknown> {
  const { runtime, linux, folder } = node.containerd
  const mounts = (await linux.mounts.list()).filter(({ path }) => path.startsWith(`${folder}/`))
  const shims = await processesWith(folder)
  const list = (path: string): Promise<readonly string[]> => readdir(path).catch(() => [])
  const groups = await list(`/sys/fs/cgroup/memory${node.containerd.cgroupParent}/kubepods/burstable`)
  const others = await list(`/sys/fs/cgroup/memory${node.containerd.cgroupParent}/kubepods/besteffort`)
  return {
    sandboxes: (await runtime.listPodSandbox()).length,
    containers: (await runtime.listContainers()).length,
    mounts: mounts.map(({ path }) => path),
    processes: shims.length,
    groups: [...groups, ...others].filter(name => name.startsWith('pod')),
    pods: await list(join(node.settings.rootDirectory, 'pods')),
    logs: await list(node.settings.podLogsDir),
    networks: await list(join(node.containerd.containerd.folder, 'state/io.containerd.grpc.v1.cri/netns')),
    addresses: (await list(join(folder, 'ipam/test'))).filter(name => /^\d/.test(name)),
  }
}
