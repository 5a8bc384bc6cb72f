import assert from 'node:assert/strict'
import type { Check } from '../cri.conformance.ts'
import { refuses, start, until, type Scene } from './test-scene.ts'

export function sandboxesConformance(check: Check): void {
  check('version and status report the runtime name and ready conditions', async ({ runtime }) => {
    const { name, version } = await runtime.version()
    assert.notEqual(name, '')
    assert.notEqual(version, '')
    const status = await runtime.status()
    assert.equal(status.runtime.isReady, true, status.runtime.message)
    assert.equal(status.network.isReady, true, status.network.message)
    assert.ok(status.handlers.some(handler => handler.name === ''))
  })

  check('podSandboxStatus of a ready sandbox has its configuration and an address', async scene => {
    const { runtime } = scene
    const before = scene.subject.platform.clock.now()
    const { sandbox, sandboxId, uid } = await scene.pod()
    const status = await runtime.podSandboxStatus(sandboxId)
    assert.equal(status.id, sandboxId)
    assert.equal(status.state, 'ready')
    assert.deepEqual({ ...status.metadata }, { ...sandbox.metadata })
    assert.deepEqual({ ...status.labels }, { ...sandbox.labels })
    assert.deepEqual({ ...status.annotations }, { ...sandbox.annotations })
    assert.equal(status.network, 'pod')
    assert.match(status.addresses[0] ?? '', /^[0-9a-f.:]+$/)
    assert.ok(status.createdAt > BigInt(Math.floor(before) - clockSlackMs) * 1_000_000n)
    const [listed] = await runtime.listPodSandbox({ podUid: uid })
    const { addresses: _, network: __, ...summary } = status
    assert.deepEqual(listed, summary)
  })

  check('listPodSandbox returns all sandboxes or those of one pod', async scene => {
    const { runtime } = scene
    const [one, two] = [await scene.pod(), await scene.pod()]
    const ids = (await runtime.listPodSandbox()).map(({ id }) => id)
    assert.ok(ids.includes(one.sandboxId) && ids.includes(two.sandboxId))
    const own = await runtime.listPodSandbox({ podUid: two.uid })
    assert.deepEqual(
      own.map(({ id }) => id),
      [two.sandboxId],
    )
    assert.deepEqual(await runtime.listPodSandbox({ podUid: 'nobody' }), [])
    const statuses = await Promise.all([one, two].map(pod => runtime.podSandboxStatus(pod.sandboxId)))
    assert.notEqual(statuses[0]!.addresses[0], statuses[1]!.addresses[0])
  })

  check('a second attempt of a pod gets a new sandbox', async scene => {
    const first = await scene.pod()
    await refuses(scene.runtime.runPodSandbox(first.sandbox), 'failed')
    const metadata = { ...first.sandbox.metadata, attempt: 1 }
    const second = await scene.pod({ ...first.sandbox, metadata })
    const listed = await scene.runtime.listPodSandbox({ podUid: first.uid })
    const attempts = listed.map(({ id, metadata: { attempt } }) => [id, attempt] as const)
    assert.deepEqual(
      new Map(attempts),
      new Map([
        [first.sandboxId, 0],
        [second.sandboxId, 1],
      ]),
    )
  })

  check('a sandbox with the host network has no pod address', async scene => {
    const config = scene.sandboxConfig()
    const namespaces = { ...config.security.namespaces, network: 'node' } as const
    // Runtimes reject a hostname in the node's network namespace.
    const { sandboxId } = await scene.pod({ hostname: '', security: { ...config.security, namespaces } })
    const status = await scene.runtime.podSandboxStatus(sandboxId)
    assert.deepEqual([status.network, status.addresses], ['node', []])
  })

  check('stopping a sandbox is idempotent, ends its containers and keeps their statuses', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const id = await start(pod, 'deaf')
    await runtime.stopPodSandbox(pod.sandboxId)
    await runtime.stopPodSandbox(pod.sandboxId)
    assert.equal((await runtime.podSandboxStatus(pod.sandboxId)).state, 'not-ready')
    const status = await runtime.containerStatus(id)
    assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 137, 'Error'])
    const [listed] = await runtime.listPodSandbox({ podUid: pod.uid })
    assert.equal(listed?.state, 'not-ready')
  })

  check('removing a sandbox is idempotent and removes its containers', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const id = await start(pod, 'deaf')
    await runtime.stopPodSandbox(pod.sandboxId)
    await runtime.removePodSandbox(pod.sandboxId)
    await runtime.removePodSandbox(pod.sandboxId)
    await runtime.stopPodSandbox(pod.sandboxId)
    await refuses(runtime.podSandboxStatus(pod.sandboxId), 'not-found')
    await refuses(runtime.containerStatus(id), 'not-found')
    assert.deepEqual(await runtime.listPodSandbox({ podUid: pod.uid }), [])
    assert.deepEqual(await runtime.listContainers({ podUid: pod.uid }), [])
  })

  check('a sandbox whose pause process is killed becomes not ready', async scene => {
    const { sandboxId } = await scene.pod()
    await scene.subject.killSandbox(sandboxId)
    await notReady(scene, sandboxId)
    await scene.runtime.stopPodSandbox(sandboxId)
    await scene.runtime.removePodSandbox(sandboxId)
  })

  check('a sandbox whose shim is killed becomes not ready', async scene => {
    const { sandboxId } = await scene.pod()
    await scene.runtime.killShim(sandboxId)
    await scene.runtime.killShim(sandboxId)
    await notReady(scene, sandboxId)
    await scene.runtime.stopPodSandbox(sandboxId)
    await scene.runtime.removePodSandbox(sandboxId)
  })
}

/** Tolerated difference between kernel and process clocks. */
const clockSlackMs = 1_000

async function notReady(scene: Scene, sandboxId: string): Promise<void> {
  await until(scene, 'the sandbox is not ready', async () => {
    const { state } = await scene.runtime.podSandboxStatus(sandboxId)
    return state === 'not-ready' || undefined
  })
}
