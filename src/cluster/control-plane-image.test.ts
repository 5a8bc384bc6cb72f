import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { controlPlaneImageVersion, ensureControlPlaneImage } from './control-plane-image.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const { files } = platform

test('the image is made once for the same files, and its tag changes with each of them', async t => {
  const parent = await temporaryFolder(t)
  const [root, folder] = [join(parent, 'checkout'), join(parent, 'images')]
  await files.makeFolder(join(root, 'src'))
  await files.write(join(root, 'package.json'), '{}')
  await files.write(join(root, 'src/main.ts'), 'export {}\n')
  const linux = await nodeLinux()
  const ensure = (version: string, node = '/bin/true'): Promise<string> => {
    const program = { version, node, root }
    return ensureControlPlaneImage({ platform, linux, folder, program, hasEtcd: false })
  }
  const archives = async (): Promise<readonly string[]> =>
    (await files.list(folder)).filter(name => !name.startsWith('.'))
  // `k8ts init` and the host make it at the same time.
  const [first, same] = await Promise.all([ensure('0.1.0'), ensure('0.1.0')])
  assert.match(first, /^localhost\/k8ts:0\.1\.0-[0-9a-f]{12}$/)
  assert.equal(same, first)
  assert.equal(controlPlaneImageVersion(first), '0.1.0')
  assert.equal(controlPlaneImageVersion('localhost/other:0.1.0-0123456789ab'), undefined)
  assert.deepEqual(await archives(), [`k8ts-${first.slice('localhost/k8ts:'.length)}.tar`])
  const { modifiedMs } = (await files.stat(join(folder, (await archives())[0]!)))!
  assert.equal(await ensure('0.1.0'), first)
  assert.equal((await files.stat(join(folder, (await archives())[0]!)))!.modifiedMs, modifiedMs)
  const images = new Set([first])
  await files.write(join(root, 'src/other.ts'), 'export {}\n')
  images.add(await ensure('0.1.0'))
  await files.write(join(root, 'src/other.ts'), 'export { }\n')
  images.add(await ensure('0.1.0'))
  images.add(await ensure('0.1.0', '/bin/false'))
  const last = await ensure('0.2.0', '/bin/false')
  assert.equal(images.size, 4)
  assert.ok(!images.has(last))
  assert.deepEqual(await archives(), [`k8ts-${last.slice('localhost/k8ts:'.length)}.tar`])
})
