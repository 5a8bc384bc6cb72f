/**
 * Failures of node components with fifty pods on a whole cluster: each component is killed in turn, must
 * recover to the state in the API, and must not affect the others. Resources of the machine are compared
 * before and after.
 */
import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Pod, PodSpec, Service } from '#/api/generated/core/v1.ts'
import { configMaps, pods, services } from '#/api/generated/core/v1-resources.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { commandOf, MachineTraces, shimSocket } from './machine-traces.ts'
import { containersMissing } from './test-containerd.ts'

const namespace = 'default'
const podCount = 50

/** The index, modulo ten, of the web pods. */
const webIndex = 1

test('a node with fifty pods', { skip: containersMissing }, async t => {
  const cluster = await LastingCluster.start(t)
  const traces = await MachineTraces.of(cluster.folder)
  const before = await traces.now()
  const names = new Set(Array.from({ length: podCount }, (_, index) => `pod-${index}`))
  const service = await makePods(cluster, names)
  await cluster.client.create(pods, completingPod)
  await cluster.untilReady([...names, 'completing'])
  await traces.remember()
  assert.equal(await pageOf(service), 'it works\n')

  await t.test('after SIGKILL of k8ts the pods keep running and are adopted', async () => {
    const lives = livesOf(await cluster.pods())
    // Requests made just before the kill are completed after the restart. None of these pods is an endpoint
    // of the service: its rules would still contain a pod that stops while k8ts is down.
    const doomed = ['pod-0', 'pod-2', 'pod-4']
    const vanished = 'pod-3'
    const late = ['late-0', 'late-1', 'late-2']
    await Promise.all([
      ...doomed.map(name => cluster.client.delete(pods, { namespace, name })),
      ...late.map(name => cluster.client.create(pods, podOf(name, 0))),
      cluster.client.delete(pods, { namespace, name: vanished }, { gracePeriodSeconds: 0 }),
    ])
    const completing = await mainProcessOf(cluster, await cluster.pod('completing'))
    await cluster.kill()
    process.kill(completing, 'SIGTERM')
    assert.equal(await pageOf(service), 'it works\n')
    await cluster.start()
    const completed = await cluster.until(all => phaseOf(all, 'completing') !== 'Running')
    assert.equal(phaseOf(completed, 'completing'), 'Succeeded')
    await cluster.client.delete(pods, { namespace, name: 'completing' })
    for (const name of [...doomed, vanished]) names.delete(name)
    for (const name of late) names.add(name)
    const all = await cluster.untilReady([...names])
    untouched(all, lives, { but: late })
    assert.equal(await pageOf(service), 'it works\n')
  })

  await t.test('after SIGKILL of containerd only containerd is restarted', async () => {
    const lives = livesOf(await cluster.pods())
    const path = join(cluster.folders.containerd, 'containerd.pid')
    const pid = await readFile(path, 'utf8')
    process.kill(Number(pid), 'SIGKILL')
    await cluster.client.create(pods, podOf('after-containerd', 0))
    names.add('after-containerd')
    untouched(await cluster.untilReady([...names]), lives, { but: ['after-containerd'] })
    assert.notEqual(await readFile(path, 'utf8'), pid)
  })

  await t.test('after SIGKILL of a shim only its pod is restarted', async () => {
    const lives = livesOf(await cluster.pods())
    const { pid, socket } = await shimOf(cluster, await cluster.pod('pod-10'))
    process.kill(pid, 'SIGKILL')
    untouched(await cluster.until(all => hasRestarted(all, 'pod-10')), lives, { but: ['pod-10'] })
    assert.ok((await cluster.events('pod-10')).includes(sandboxChanged))
    // containerd leaves it.
    await rm(socket, { force: true })
  })

  await t.test('after SIGKILL of a pause container only its pod is restarted', async () => {
    const lives = livesOf(await cluster.pods())
    const { socket } = await shimOf(cluster, await cluster.pod('pod-11'))
    process.kill(await pauseOf(cluster, await cluster.pod('pod-11')), 'SIGKILL')
    untouched(await cluster.until(all => hasRestarted(all, 'pod-11')), lives, { but: ['pod-11'] })
    assert.ok((await cluster.events('pod-11')).includes(sandboxChanged))
    // containerd 2 leaves it, with its shim, which is removed later.
    await rm(socket, { force: true })
  })

  await t.test('stopping k8ts ends all processes, and the next start recreates the pods', async () => {
    const lives = livesOf(await cluster.pods())
    await traces.remember()
    await cluster.stop()
    const { processes, sockets } = await traces.now()
    assert.deepEqual({ processes, sockets }, { processes: [], sockets: [] })
    await cluster.start()
    await cluster.until(all => {
      const isNew = [...livesOf(all)].every(([name, life]) => life !== lives.get(name))
      return isNew && all.length === names.size && all.every(isReady)
    })
    await traces.remember()
    assert.equal(await pageOf(service), 'it works\n')
  })

  await t.test('deleting all pods leaves no process, mount or file', async () => {
    await cluster.client.deleteCollection(pods, { namespace })
    await cluster.until(all => all.length === 0)
    await traces.become(before)
  })

  await t.test('k8ts down leaves no process, mount or file', async () => {
    const again = kinds.map((_, index) => `again-${index}`)
    for (const [index, name] of again.entries()) await cluster.client.create(pods, podOf(name, index))
    await cluster.untilReady(again)
    await traces.remember()
    await cluster.kill()
    await cluster.down()
    assert.deepEqual(await traces.now(), Object.fromEntries(Object.keys(before).map(key => [key, []])))
  })
})

const sandboxChanged = 'SandboxChanged: Pod sandbox changed, it will be killed and re-created.'

/** Also creates a service for the web pods. */
async function makePods(cluster: LastingCluster, names: ReadonlySet<string>): Promise<Service> {
  const { client } = cluster
  await client.create(configMaps, { metadata: { namespace, name: 'settings' }, data: { color: 'blue' } })
  const port = { port: 80, targetPort: 8080 }
  const spec = { selector: { app: 'web' }, ports: [port] }
  const service = await client.create(services, { metadata: { namespace, name: 'web' }, spec })
  await Promise.all([...names].map((name, index) => client.create(pods, podOf(name, index))))
  return service
}

const patient = 'trap "exit 0" TERM; sleep 1000000 & wait'

/** The index selects the kind of pod; each kind uses different resources of the machine. */
function podOf(name: string, index: number): Pod {
  const { volumes = [], ...more } = kinds[index % kinds.length]!(index)
  const [container, ...others] = more.containers ?? []
  const usual = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent' }
  const labels = index % kinds.length === webIndex ? { app: 'web' } : { app: 'other' }
  return {
    metadata: { namespace, name, labels },
    spec: {
      terminationGracePeriodSeconds: 5,
      ...more,
      volumes,
      containers: [{ ...usual, command: ['sh', '-c', patient], ...container }, ...others],
    },
  }
}

/** Succeeds when it gets SIGTERM, and is not restarted. */
const completingPod: Pod = {
  metadata: { namespace, name: 'completing' },
  spec: {
    restartPolicy: 'Never',
    containers: [
      { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', patient] },
    ],
  },
}

type Kind = (index: number) => Partial<PodSpec>

const readiness = { periodSeconds: 1, failureThreshold: 30 }

const kinds: readonly Kind[] = [
  () => ({}),
  () => ({
    containers: [
      {
        name: 'main',
        command: ['sh', '-c', `httpd -p 8080 -h /var/www; ${patient}`],
        readinessProbe: { ...readiness, httpGet: { path: '/', port: 8080 } },
      },
    ],
  }),
  () => withVolume({ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }),
  () => withVolume({ name: 'settings', configMap: { name: 'settings' } }),
  () => withVolume({ name: 'disk', emptyDir: {} }, { subPath: 'below/it' }),
  index => ({ containers: [{ name: 'main', ports: [{ containerPort: 80, hostPort: 18_000 + index }] }] }),
  () => ({ containers: [{ name: 'main', resources: { limits: { cpu: '10m', memory: '16Mi' } } }] }),
  () => ({
    initContainers: [
      { name: 'first', image: 'busybox', imagePullPolicy: 'IfNotPresent', command: ['true'] },
      {
        name: 'side',
        image: 'busybox',
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', patient],
        restartPolicy: 'Always',
      },
    ],
  }),
  () => ({ containers: [{ name: 'main', readinessProbe: { ...readiness, exec: { command: ['true'] } } }] }),
  () => ({ hostNetwork: true }),
]

function withVolume(
  volume: NonNullable<PodSpec['volumes']>[number],
  mount: { readonly subPath?: string } = {},
): Partial<PodSpec> {
  const volumeMounts = [{ name: volume.name, mountPath: '/mounted', ...mount }]
  return { volumes: [volume], containers: [{ name: 'main', volumeMounts }] }
}

/** The values of each pod that change when any of its parts is restarted. */
function livesOf(all: readonly Pod[]): ReadonlyMap<string, string> {
  return new Map(
    all.map(({ metadata, status }) => {
      const { initContainerStatuses = [], containerStatuses = [] } = status ?? {}
      const containers = [...initContainerStatuses, ...containerStatuses].map(each => {
        const { containerID, restartCount, state } = each
        return [containerID, restartCount, state?.running?.startedAt].join(' ')
      })
      return [metadata.name ?? '', [metadata.uid, status?.podIP, ...containers].join()]
    }),
  )
}

function untouched(
  all: readonly Pod[],
  before: ReadonlyMap<string, string>,
  { but }: { readonly but: readonly string[] },
): void {
  const others = new Map([...livesOf(all)].filter(([name]) => !but.includes(name)))
  const kept = [...others.keys()].map(name => [name, before.get(name)] as const)
  assert.deepEqual(others, new Map(kept))
}

function phaseOf(all: readonly Pod[], name: string): string | undefined {
  return all.find(({ metadata }) => metadata.name === name)?.status?.phase
}

function hasRestarted(all: readonly Pod[], name: string): boolean {
  const pod = all.find(({ metadata }) => metadata.name === name)
  return pod !== undefined && isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1
}

/** Through the service, which is also reachable from the machine itself. */
async function pageOf({ spec }: Service): Promise<string> {
  const answer = await fetch(`http://${spec?.clusterIP}/`, { headers: { connection: 'close' } })
  return answer.text()
}

async function sandboxOf(cluster: LastingCluster, { status }: Pod): Promise<string> {
  const id = (status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '')
  const config = JSON.parse(await readFile(join(bundles(cluster), id, 'config.json'), 'utf8')) as {
    readonly annotations: Readonly<Record<string, string>>
  }
  return config.annotations['io.kubernetes.cri.sandbox-id'] ?? ''
}

function bundles({ folders }: LastingCluster): string {
  return join(folders.containerd, 'state/io.containerd.runtime.v2.task/k8s.io')
}

async function mainProcessOf(cluster: LastingCluster, { status }: Pod): Promise<number> {
  const id = (status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '')
  return firstProcess(cluster, id)
}

async function pauseOf(cluster: LastingCluster, pod: Pod): Promise<number> {
  return firstProcess(cluster, await sandboxOf(cluster, pod))
}

async function firstProcess(cluster: LastingCluster, id: string): Promise<number> {
  return Number(await readFile(join(bundles(cluster), id, 'init.pid'), 'utf8'))
}

async function shimOf(cluster: LastingCluster, pod: Pod): Promise<{ pid: number; socket: string }> {
  const sandbox = await sandboxOf(cluster, pod)
  const socket = await shimSocket(join(bundles(cluster), sandbox))
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  for (const pid of pids) {
    const [program = '', ...words] = await commandOf(pid)
    if (program.includes('containerd-shim') && words.includes(sandbox) && socket) return { pid, socket }
  }
  throw new Error(`sandbox ${sandbox} has no shim`)
}
