/** The registry with a real client: containerd pulls through it as the mirror of every registry. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { containersMissing, TestContainerd } from '../../tests/node/test-containerd.ts'
import { testImage, textFile } from '../../tests/node/test-images.ts'
import { Registry } from './registry.ts'

test('containerd pulls images of archives, and no others', { skip: containersMissing }, async () => {
  await using node = await TestContainerd.start()
  const reference = 'registry.example/team/it:1'
  const archive = join(node.folder, 'it.tar')
  await writeFile(archive, await testImage({ reference, files: [textFile('etc/it', 'here')] }))
  await using registry = await Registry.start([archive])
  const folder = join(node.containerd.registryFolder, '_default')
  await mkdir(folder, { recursive: true })
  // The mirror stands for the registry too, so that what it does not have is not looked for in a network.
  const url = JSON.stringify(registry.url)
  const hosts = `server = ${url}\n[host.${url}]\n  capabilities = ["pull", "resolve"]\n`
  await writeFile(join(folder, 'hosts.toml'), hosts)
  await node.runtime.pullImage(reference, undefined)
  const image = await node.runtime.imageStatus(reference)
  assert.deepEqual(image?.tags, [reference])
  await assert.rejects(node.runtime.pullImage('registry.example/team/it:2', undefined), /not found/)
  await assert.rejects(node.runtime.pullImage('other.example/team/it:1', undefined), /not found/)
  const [byDigest = ''] = image?.digests ?? []
  await node.runtime.removeImage(reference)
  await node.runtime.pullImage(byDigest, undefined)
  assert.deepEqual((await node.runtime.imageStatus(byDigest))?.id, image?.id)
})
