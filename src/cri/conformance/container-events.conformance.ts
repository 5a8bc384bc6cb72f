import assert from 'node:assert/strict'
import type { Check } from '../cri.conformance.ts'
import { CriError } from '../cri.ts'
import { ended, start, startObedient, until, type Scene } from './test-scene.ts'

export function changesConformance(check: Check): void {
  check(
    'container events begin with a full resync and then name the pods of changed containers',
    async scene => {
      await using heard = listen(scene)
      await heard.hears(undefined)
      const pod = await scene.pod()
      const id = await start(pod, 'talker')
      await ended(scene, id)
      await heard.hears(pod.uid)
    },
  )

  check('an event for an exited container arrives when its status already shows the exit', async scene => {
    const pod = await scene.pod()
    const id = await startObedient(pod)
    const watch = new AbortController()
    const changes = scene.runtime.containerEvents(watch.signal)[Symbol.asyncIterator]()
    try {
      assert.deepEqual(await changes.next(), { value: undefined, done: false })
      const stopping = scene.runtime.stopContainer(id, 60)
      for (;;) {
        const { value, done } = await changes.next()
        assert.ok(!done)
        if (value !== undefined && value !== pod.uid) continue
        const { state, exitCode } = await scene.runtime.containerStatus(id)
        if (state !== 'exited') continue
        assert.equal(exitCode, 5)
        break
      }
      await stopping
    } finally {
      watch.abort()
      await changes.return?.()
    }
  })

  check('an event reports the pod of a killed sandbox', async scene => {
    const pod = await scene.pod()
    await using heard = listen(scene)
    await heard.hears(undefined)
    heard.forget()
    await scene.subject.killSandbox(pod.sandboxId)
    await heard.hears(pod.uid)
  })

  check('the stream of container events ends when aborted', async scene => {
    const watch = new AbortController()
    const changes = scene.runtime.containerEvents(watch.signal)[Symbol.asyncIterator]()
    await changes.next()
    watch.abort()
    while (!(await changes.next()).done);
    const given = scene.runtime.containerEvents(AbortSignal.abort())[Symbol.asyncIterator]()
    assert.equal((await given.next()).done, true)
  })

  check('a restarted runtime keeps its containers and requests a full resync', async scene => {
    const { runtime, subject } = scene
    const pod = await scene.pod()
    const id = await start(pod, 'deaf')
    const before = await runtime.containerStatus(id)
    const { addresses } = await runtime.podSandboxStatus(pod.sandboxId)
    await using heard = listen(scene)
    await heard.hears(undefined)
    heard.forget()
    await subject.restart()
    await heard.hears(undefined)
    const after = await until(scene, 'the runtime answers again', async () => {
      try {
        return await runtime.containerStatus(id)
      } catch (error) {
        assert.ok(error instanceof CriError && error.reason === 'unavailable', String(error))
        return undefined
      }
    })
    assert.deepEqual(after, before)
    assert.deepEqual((await runtime.podSandboxStatus(pod.sandboxId)).addresses, addresses)
    heard.forget()
    await runtime.stopContainer(id, 0)
    await heard.hears(pod.uid)
  })
}

interface Heard extends AsyncDisposable {
  /** Resolves once this value has been received since the start or since the last `forget()`. */
  hears(podUid: string | undefined): Promise<void>
  forget(): void
}

function listen(scene: Scene): Heard {
  const heard = new Set<string | undefined>()
  const watch = new AbortController()
  const follow = async (): Promise<void> => {
    for await (const podUid of scene.runtime.containerEvents(watch.signal)) heard.add(podUid)
  }
  const following = follow()
  return {
    async hears(podUid) {
      await until(scene, `a change of ${podUid ?? 'anything'} is told`, async () => {
        return heard.has(podUid) || undefined
      })
    },
    forget: () => heard.clear(),
    async [Symbol.asyncDispose]() {
      watch.abort()
      await following
    },
  }
}
