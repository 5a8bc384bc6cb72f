/**
 * A pod fills the disk of the whole cluster: it is evicted. If it is critical and therefore stays, failures report the
 * reason, running pods continue, and everything recovers when the pod is deleted.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rmdir, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { configMaps, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { waitUntil } from '../wait-until.ts'
import { LastingCluster } from './lasting-cluster.ts'
import { MachineTraces } from './machine-traces.ts'
import { containersMissing } from './test-containerd.ts'

const namespace = 'default'

const diskBytes = 96 * 1024 * 1024

test('a full disk', { skip: containersMissing }, async t => {
  const cluster = await clusterOnSmallDisk(t)
  const { client } = cluster
  const traces = await MachineTraces.of(cluster.folder)
  const before = await traces.now()
  await client.create(configMaps, { metadata: { namespace, name: 'settings' }, data: { color: 'blue' } })
  await client.create(pods, podOf('early', 'sleep 1000000 & wait', critical))
  await cluster.untilReady(['early'])
  await client.create(pods, podOf('greedy', fill, data))
  const name = await untilUnderPressure(cluster)

  await t.test('the pod that fills the disk is evicted', async () => {
    const [greedy] = await until(cluster, 'greedy', ({ status }) => status?.phase === 'Failed')
    const { reason, message = '', conditions = [] } = greedy?.status ?? {}
    assert.equal(reason, 'Evicted')
    assert.match(message, /^The node was low on resource: ephemeral-storage\. Threshold quantity: /)
    const target = conditions.find(({ type }) => type === 'DisruptionTarget')
    assert.deepEqual([target?.reason, target?.message], ['TerminationByKubelet', message])
    await untilTold(cluster, 'greedy', ['Evicted'])
    await client.delete(pods, { namespace, name: 'greedy' })
  })

  await t.test(
    'under disk pressure the kubelet rejects new pods and the scheduler assigns none',
    async () => {
      await client.create(pods, podOf('given', 'true', { nodeName: name }))
      await client.create(pods, podOf('late', 'true'))
      const [given] = await until(cluster, 'given', ({ status }) => status?.phase === 'Failed')
      assert.equal(given?.status?.reason, 'Evicted')
      assert.match(given?.status?.message ?? '', /The node had condition: \[DiskPressure\]/)
      const [late] = await until(cluster, 'late', ({ status }) => status?.conditions?.[0]?.status === 'False')
      assert.equal(late?.status?.conditions?.[0]?.reason, 'Unschedulable')
    },
  )

  await t.test(
    'on a full disk a critical pod waits with events for the failed mount and sandbox',
    async () => {
      await client.create(pods, podOf('filler', fill, { ...critical, ...data }))
      await untilFull(cluster.folder)
      await client.create(pods, podOf('needed', 'sleep 1000000 & wait', { ...critical, ...settings }))
      const said = await untilTold(cluster, 'needed', ['FailedMount', 'FailedCreatePodSandBox'])
      for (const message of said) assert.match(message, /no space left on device/)
      const reasonOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason
      await until(cluster, 'needed', pod => reasonOf(pod) === 'ContainerCreating')
    },
  )

  await t.test('running pods survive a full disk, and a waiting pod starts when there is space', async () => {
    await client.delete(pods, { namespace, name: 'filler' })
    await until(cluster, 'needed', ({ status }) => status?.phase === 'Running')
    const { status } = await cluster.pod('early')
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 0)
    assert.equal(status?.containerStatuses?.[0]?.ready, true)
  })

  await t.test('pods deleted after a full disk leave no process, mount or file', async () => {
    await client.deleteCollection(pods, { namespace })
    await cluster.until(all => all.length === 0)
    await traces.become(before)
  })
})

const fill = 'while :; do cat /dev/zero >> /data/zeros; sleep 0.1; done'
const trap = 'trap "exit 0" TERM'
const critical: Partial<PodSpec> = {
  priorityClassName: 'system-node-critical',
  tolerations: [{ operator: 'Exists' }],
}
const data: Partial<PodSpec> = { volumes: [{ name: 'data', emptyDir: {} }] }
const settings: Partial<PodSpec> = { volumes: [{ name: 'data', configMap: { name: 'settings' } }] }

function podOf(name: string, script: string, more: Partial<PodSpec> = {}): Pod {
  const command = ['sh', '-c', `${trap}; ${script}`]
  const volumeMounts = more.volumes?.map(volume => ({ name: volume.name, mountPath: '/data' })) ?? []
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command, volumeMounts }
  return {
    metadata: { namespace, name },
    spec: { terminationGracePeriodSeconds: 2, ...more, containers: [container] },
  }
}

async function clusterOnSmallDisk(t: TestContext): Promise<LastingCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'k8ts-test', folder])
  try {
    return await LastingCluster.start(t, { folder })
  } finally {
    // Runs after the cluster has been removed.
    t.after(async () => {
      execFileSync('umount', [folder])
      await rmdir(folder)
    })
  }
}

async function untilFull(folder: string): Promise<void> {
  await waitUntil(async () => (await statfs(folder)).bavail === 0)
}

/** Resolves with the name of the node. */
async function untilUnderPressure({ client }: LastingCluster): Promise<string> {
  for await (const event of client.watch(nodes, {
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: true,
  })) {
    if (event.type === 'BOOKMARK') continue
    const { metadata, status } = event.object
    if (status?.conditions?.some(each => each.type === 'DiskPressure' && each.status === 'True')) {
      return metadata.name
    }
  }
  throw new Error('the watch has ended')
}

async function until(
  cluster: LastingCluster,
  name: string,
  fits: (pod: Pod) => boolean,
): Promise<readonly Pod[]> {
  const found = (all: readonly Pod[]): readonly Pod[] => {
    return all.filter(pod => pod.metadata.name === name && fits(pod))
  }
  return found(await cluster.until(all => found(all).length > 0))
}

/** Resolves with one event message for each of these reasons. */
async function untilTold(
  cluster: LastingCluster,
  name: string,
  reasons: readonly string[],
): Promise<readonly string[]> {
  for (;;) {
    const told = await cluster.events(name)
    const messages = reasons.map(reason => told.find(text => text.startsWith(`${reason}: `)))
    if (messages.every(message => message !== undefined)) return messages
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
