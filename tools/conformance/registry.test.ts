import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ociArchive } from '#/cri/oci-archive.ts'
import { tar, type TarEntry } from '#/base/tar.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { readImageCatalog } from './image-catalog.ts'
import { answerPull, Registry } from './registry.ts'

const manifestType = 'application/vnd.oci.image.manifest.v1+json'

test('requests are answered by name, tag and digest, and everything unknown with 404', async t => {
  const catalog = await readImageCatalog([await layoutArchive(t, 'registry.example/team/it:1')])
  const digest = catalog.references.get('registry.example/team/it:1') ?? ''
  const check = (request: string, expected: string): void => {
    const [method = '', url = ''] = request.split(' ')
    const { status, contentType, body } = answerPull(catalog, { method, url })
    const code =
      body instanceof Uint8Array ? /"code":"(\w+)"/.exec(Buffer.from(body).toString())?.[1] : undefined
    assert.equal(`${status} ${code ?? contentType}`, expected, request)
  }
  const [blob] = [...catalog.blobs.keys()]
  check('GET /v2/', '200 application/json')
  check('HEAD /v2/team/it/manifests/1?ns=registry.example', `200 ${manifestType}`)
  check('GET /v2/team/it/manifests/1?ns=registry.example', `200 ${manifestType}`)
  check(`GET /v2/team/it/manifests/${digest}?ns=registry.example`, `200 ${manifestType}`)
  check(`GET /v2/team/it/manifests/${encodeURIComponent(digest)}`, `200 ${manifestType}`)
  check(`GET /v2/team/it/blobs/${blob}?ns=registry.example`, '200 application/octet-stream')
  check('GET /v2/team/it/manifests/2?ns=registry.example', '404 MANIFEST_UNKNOWN')
  check('GET /v2/team/it/manifests/1?ns=other.example', '404 MANIFEST_UNKNOWN')
  check('GET /v2/team/it/manifests/1', '404 MANIFEST_UNKNOWN')
  check(`GET /v2/team/it/manifests/sha256:${'0'.repeat(64)}`, '404 MANIFEST_UNKNOWN')
  check(`GET /v2/team/it/blobs/sha256:${'0'.repeat(64)}`, '404 BLOB_UNKNOWN')
  check('GET /v2/team/it/tags/list', '404 NAME_UNKNOWN')
  check('GET /', '404 NAME_UNKNOWN')
  check('PUT /v2/team/it/manifests/1', '405 UNSUPPORTED')
})

test('blobs come from OCI layouts and from archives of docker save as they are', async t => {
  const archives = [await layoutArchive(t, 'registry.example/it:1'), await dockerArchive(t)]
  await using registry = await Registry.start(archives)
  const get = (path: string): Promise<Response> => fetch(`${registry.url}/v2/${path}`)
  for (const path of ['it/manifests/1?ns=registry.example', 'library/old/manifests/1?ns=docker.io']) {
    const response = await get(path)
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.equal(response.headers.get('docker-content-digest'), digestOf(bytes))
    const { config, layers } = JSON.parse(bytes.toString()) as {
      readonly config: Descriptor
      readonly layers: readonly Descriptor[]
    }
    assert.equal(layers.length, 1)
    for (const { digest, size } of [config, ...layers]) {
      const blob = Buffer.from(await (await get(`x/blobs/${digest}`)).arrayBuffer())
      assert.deepEqual([digestOf(blob), blob.length], [digest, size])
    }
  }
})

test('a file that is no image archive is named', async t => {
  const check = async (content: Uint8Array, expected: RegExp): Promise<void> => {
    const path = await written(t, content)
    await assert.rejects(readImageCatalog([path]), { message: expected })
  }
  await check(Buffer.alloc(2_000, 'x'), /^cannot read the image archive .*archive\.tar: not a tar archive$/)
  await check(tar([textFile('a', 'b')]), /neither index\.json nor manifest\.json in it$/)
  const [index] = [textFile('manifest.json', '[{"Config":"c.json","Layers":[]}]')]
  await check(tar([index]), /c\.json is missing or too large$/)
})

interface Descriptor {
  readonly digest: string
  readonly size: number
}

function layoutArchive(t: TestContext, reference: string): Promise<string> {
  const layers = [[textFile(`${'deep/'.repeat(40)}file`, 'x'.repeat(100_000))]]
  return written(t, ociArchive({ reference, architecture: 'amd64', layers }))
}

/** Its second layer is a link to the first, as docker writes equal layers. */
function dockerArchive(t: TestContext): Promise<string> {
  const layer = tar([textFile('file', 'y'.repeat(5_000))])
  const config = JSON.stringify({ rootfs: { type: 'layers', diff_ids: [digestOf(layer)] } })
  const manifest = JSON.stringify([{ Config: 'c.json', RepoTags: ['old:1'], Layers: ['b/layer.tar'] }])
  return written(
    t,
    tar([
      { type: 'folder', path: 'a' },
      { type: 'file', path: './a/layer.tar', content: layer },
      { type: 'symlink', path: 'b/layer.tar', target: '../a/layer.tar' },
      textFile('c.json', config),
      textFile('manifest.json', manifest),
    ]),
  )
}

async function written(t: TestContext, content: Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(t), 'archive.tar')
  await writeFile(path, content)
  return path
}

function textFile(path: string, text: string): TarEntry {
  return { type: 'file', path, content: Buffer.from(text) }
}

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
