/**
 * Pods that use more local storage than their limits, and the pod that uses most of the memory of all pods, are evicted
 * and say why; others keep running.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Container, PodSpec } from '#/api/generated/core/v1.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { waitUntil } from '../wait-until.ts'
import { containersMissing } from './test-containerd.ts'
import { TestNode } from './test-node.ts'

const patient = 'trap "exit 0" TERM; sleep 1000 & wait'

function shell(script: string, more: Partial<Container> = {}): Container {
  return { name: 'main', image: 'busybox', command: ['sh', '-c', `${script}; ${patient}`], ...more }
}

const limits = { 'ephemeral-storage': '4Mi' }
const volumes: PodSpec['volumes'] = [{ name: 'data', emptyDir: { sizeLimit: '4Mi' } }]
const volumeMounts = [{ name: 'data', mountPath: '/data' }]

/** Writes as many mebibytes. */
const write = (path: string, mebibytes: number): string =>
  `dd if=/dev/zero of=${path} bs=1M count=${mebibytes}`

const gibi = 1024 ** 3

/** Of 1 GiB for all pods, 700 MiB must be available. */
const memory: Partial<KubeletConfiguration> = {
  systemReserved: { memory: String(totalmem() - gibi) },
  evictionHard: { 'memory.available': '700Mi' },
}

/** A volume in memory has at most the allocatable memory of the node, so there are two. */
const inMemory: PodSpec = {
  containers: [
    shell(`${write('/a/file', 250)}; ${write('/b/file', 250)}`, {
      volumeMounts: [
        { name: 'a', mountPath: '/a' },
        { name: 'b', mountPath: '/b' },
      ],
    }),
  ],
  volumes: ['a', 'b'].map(name => ({ name, emptyDir: { medium: 'Memory' } })),
}

test('pods over their limits and a pod that uses much memory', { skip: containersMissing }, async t => {
  const node = await TestNode.start(t, memory)
  const specs: Readonly<Record<string, PodSpec>> = {
    calm: { containers: [shell(write('/data/file', 1), { volumeMounts, resources: { limits } })], volumes },
    volume: { containers: [shell(write('/data/file', 6), { volumeMounts })], volumes },
    layer: { containers: [shell(write('/file', 6), { resources: { limits } })] },
    logs: {
      containers: [shell('yes | head -c 2000000', { resources: { limits: { 'ephemeral-storage': '3Mi' } } })],
    },
  }
  for (const [name, spec] of Object.entries(specs)) await node.run(name, spec)
  await node.run('memory', inMemory)
  const over = 'Pod ephemeral local storage usage exceeds the total limit of containers'
  const expected = {
    volume: 'Usage of EmptyDir volume "data" exceeds the limit "4Mi". ',
    layer: `${over} 4Mi. `,
    logs: `${over} 3Mi. `,
  }
  for (const [name, message] of Object.entries(expected)) {
    await t.test(`${name}: the pod is evicted and releases its storage`, async () => {
      const { status, metadata } = await node.until(name, pod => pod.status?.phase === 'Failed')
      assert.deepEqual([status?.reason, status?.message], ['Evicted', message])
      assert.ok((await node.events(name)).includes(`Evicted: ${message}`))
      const folder = join(node.settings.rootDirectory, 'pods', metadata.uid ?? '')
      await waitUntil(() => !existsSync(folder))
    })
  }
  await t.test('memory: the pod that uses most is evicted', async () => {
    const { status } = await node.until('memory', pod => pod.status?.phase === 'Failed')
    assert.equal(status?.reason, 'Evicted')
    assert.match(
      status?.message ?? '',
      /^The node was low on resource: memory\. Threshold quantity: 700Mi, available: \w+\. Container main was using /,
    )
    const target = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
    assert.deepEqual([target?.status, target?.reason], ['True', 'TerminationByKubelet'])
  })
  await t.test('calm: the pod within its limits keeps running', async () => {
    const { status } = await node.get('calm')
    assert.equal(status?.phase, 'Running')
    assert.deepEqual(
      status?.containerStatuses?.map(({ ready, restartCount }) => [ready, restartCount]),
      [[true, 0]],
    )
  })
})
