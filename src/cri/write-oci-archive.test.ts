import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { tar } from '#/base/tar.ts'
import { writeOciArchive, type StreamedImage } from './write-oci-archive.ts'

const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
const linux = await nodeLinux()

test('a streamed archive has the layers of one in memory, and the same bytes each time', async t => {
  const folder = await temporaryFolder(t)
  const source = join(folder, 'program')
  const content = Buffer.alloc(2_500_000, 'streamed in several pieces ')
  await files.write(source, content)
  const entries = [
    { type: 'source', path: 'usr/bin/program', mode: 0o755, source },
    { type: 'file', path: 'etc/name', content: Buffer.from('x') },
    { type: 'symlink', path: 'program', target: 'usr/bin/program' },
  ] as const
  const image: StreamedImage = {
    reference: id => `localhost/streamed:${id.slice(7, 19)}`,
    architecture: 'amd64',
    layers: [
      { name: 'first', entries },
      { name: 'second', entries: [] },
    ],
    config: { entrypoint: ['/program'] },
  }
  const archives = [join(folder, 'a.tar'), join(folder, 'b.tar')]
  // What a start that was killed has left.
  await files.write(archives[1]!, Buffer.alloc(10_000_000))
  const references = [
    await writeOciArchive(files, archives[0]!, image),
    await writeOciArchive(files, archives[1]!, image),
  ]
  assert.equal(references[0], references[1])
  assert.ok(Buffer.from(await files.read(archives[0]!)).equals(await files.read(archives[1]!)))
  const layout = join(folder, 'layout')
  await files.makeFolder(layout)
  await linux.run(['tar', '-xf', archives[0]!, '-C', layout])
  const blob = async (digest: string): Promise<Buffer> => {
    const bytes = Buffer.from(await files.read(join(layout, 'blobs', digest.replace(':', '/'))))
    assert.equal(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, digest)
    return bytes
  }
  const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())
  const index = json(await files.read(join(layout, 'index.json'))) as Index
  assert.equal(index.manifests[0].annotations['io.containerd.image.name'], references[0])
  const manifest = json(await blob(index.manifests[0].digest)) as Manifest
  assert.equal(references[0], `localhost/streamed:${manifest.config.digest.slice(7, 19)}`)
  const config = json(await blob(manifest.config.digest)) as Config
  assert.deepEqual(
    config.history.map(({ created_by: layer }) => layer),
    ['first', 'second'],
  )
  const [first, second] = await Promise.all(manifest.layers.map(({ digest }) => blob(digest)))
  const expected = tar([
    { type: 'folder', path: 'usr' },
    { type: 'folder', path: 'usr/bin' },
    { type: 'file', path: 'usr/bin/program', mode: 0o755, content },
    { type: 'folder', path: 'etc' },
    entries[1],
    entries[2],
  ])
  assert.ok(zstdDecompressSync(first!).equals(expected))
  assert.ok(zstdDecompressSync(second!).equals(tar([])))
  assert.equal(config.rootfs.diff_ids[0], `sha256:${createHash('sha256').update(expected).digest('hex')}`)
})

interface Descriptor {
  readonly digest: string
}

interface Index {
  readonly manifests: readonly [Descriptor & { readonly annotations: Readonly<Record<string, string>> }]
}

interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

interface Config {
  readonly history: readonly { readonly created_by: string }[]
  readonly rootfs: { readonly diff_ids: readonly string[] }
}
