import assert from 'node:assert/strict'
import type { Check } from '../cri.conformance.ts'
import { create, refuses } from './test-scene.ts'

export function imagesConformance(check: Check): void {
  check('imageStatus finds an image by name, short name and id', async ({ runtime, subject }) => {
    const image = await runtime.imageStatus(subject.image)
    assert.ok(image)
    assert.match(image.id, /^sha256:[0-9a-f]{64}$/)
    assert.ok(image.tags.includes(subject.image))
    assert.ok(image.sizeBytes > 0)
    const short = subject.image.replace(/^docker\.io\/library\//, '').replace(/:latest$/, '')
    assert.equal((await runtime.imageStatus(short))?.id, image.id)
    assert.equal((await runtime.imageStatus(image.id))?.id, image.id)
    const listed = (await runtime.listImages()).find(({ id }) => id === image.id)
    assert.deepEqual(listed, image)
  })

  check('a missing image is not found, cannot be used, and removing it succeeds', async scene => {
    const { runtime } = scene
    const absent = 'example.invalid/no/such/image:1'
    assert.equal(await runtime.imageStatus(absent), undefined)
    await runtime.removeImage(absent)
    const id = `sha256:${'0'.repeat(64)}`
    assert.equal(await runtime.imageStatus(id), undefined)
    await refuses(create(await scene.pod(), 'quick', { image: id }), 'not-found', 'failed')
  })

  check('pulling an invalid image reference fails', async ({ runtime }) => {
    await refuses(runtime.pullImage('UPPER/Case:::', undefined), 'failed')
  })

  check('imageFsInfo returns the image filesystem and its usage', async ({ runtime }) => {
    const usage = await runtime.imageFsInfo()
    assert.match(usage.folder, /^\//)
    assert.ok(usage.usedBytes >= 0 && usage.usedInodes >= 0)
  })
}
