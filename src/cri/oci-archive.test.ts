import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ociArchive } from './oci-archive.ts'

test('every blob of an OCI archive is reachable from its index by a correct digest', () => {
  const archive = ociArchive({
    reference: 'example.com/team/app:v1',
    architecture: 'arm64',
    layers: [
      [{ type: 'file', path: 'usr/bin/app', mode: 0o755, content: Buffer.from('program') }],
      [{ type: 'symlink', path: 'app', target: 'usr/bin/app' }],
    ],
    config: { entrypoint: ['/app'], user: '7', exposedPorts: ['80/tcp'], workingDir: '/usr' },
  })
  const files = contentOf(archive)
  for (const [path, content] of files)
    if (path.startsWith('blobs/')) assert.equal(path, `blobs/${digestOf(content).replace(':', '/')}`)
  const blob = (digest: string): Uint8Array => files.get(`blobs/${digest.replace(':', '/')}`)!
  const [reference] = (json(files.get('index.json')!) as Index).manifests
  assert.equal(reference.annotations['io.containerd.image.name'], 'example.com/team/app:v1')
  assert.equal(reference.annotations['org.opencontainers.image.ref.name'], 'v1')
  const manifest = json(blob(reference.digest)) as Manifest
  const config = json(blob(manifest.config.digest)) as Config
  assert.equal(config.architecture, 'arm64')
  assert.deepEqual(config.config.Entrypoint, ['/app'])
  assert.deepEqual(config.config.ExposedPorts, { '80/tcp': {} })
  const layers = manifest.layers.map(layer => {
    assert.equal(blob(layer.digest).length, layer.size)
    return gunzipSync(blob(layer.digest))
  })
  assert.deepEqual(config.rootfs.diff_ids, layers.map(digestOf))
  const names = layers.map(layer => [...contentOf(layer).keys()])
  assert.deepEqual(names, [['usr/', 'usr/bin/', 'usr/bin/app'], ['app']])
})

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

interface Descriptor {
  readonly digest: string
  readonly size: number
  readonly annotations: Readonly<Record<string, string>>
}

interface Index {
  readonly manifests: readonly [Descriptor]
}

interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

interface Config {
  readonly architecture: string
  readonly config: { readonly Entrypoint: unknown; readonly ExposedPorts: unknown }
  readonly rootfs: { readonly diff_ids: unknown }
}

function json(content: Uint8Array): unknown {
  return JSON.parse(Buffer.from(content).toString())
}

/** Entries of a tar archive by name. Supports short names only. */
function contentOf(archive: Uint8Array): Map<string, Uint8Array> {
  const bytes = Buffer.from(archive)
  const files = new Map<string, Uint8Array>()
  for (let at = 0; bytes[at] !== 0;) {
    const text = (from: number, to: number): string =>
      bytes.toString('utf8', at + from, at + to).replace(/\0.*$/s, '')
    const size = Number.parseInt(text(124, 136), 8)
    files.set(text(0, 100), bytes.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
