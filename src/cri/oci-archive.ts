/**
 * Builds an OCI image layout as a tar archive, without a registry or a build tool. The output is
 * deterministic, and so are the digests.
 */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { tar, type TarEntry } from './tar.ts'

export interface OciImage {
  /** Fully qualified name with tag: `docker.io/library/busybox:latest`. */
  readonly reference: string
  readonly architecture: string
  /** Bottom layer first. Parent directories are added automatically. */
  readonly layers: readonly (readonly TarEntry[])[]
  readonly config?: OciConfig
}

export interface OciConfig {
  readonly entrypoint?: readonly string[]
  readonly cmd?: readonly string[]
  readonly env?: readonly string[]
  /** UID or name, optionally followed by `:` and a group. */
  readonly user?: string
  readonly workingDir?: string
  /** `8080/tcp`. */
  readonly exposedPorts?: readonly string[]
  readonly stopSignal?: string
  readonly volumes?: readonly string[]
}

export function ociArchive(image: OciImage): Uint8Array {
  const { manifest, blobs } = ociParts(image)
  const annotations = {
    'io.containerd.image.name': image.reference,
    'org.opencontainers.image.ref.name': tagOf(image.reference),
  }
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [{ ...manifest.descriptor, annotations }],
  }
  const contents = new Map([...blobs, manifest].map(blob => [blob.descriptor.digest, blob.content]))
  return tar([
    { type: 'file', path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { type: 'file', path: 'index.json', content: json(index) },
    ...[...contents].map(([digest, content]): TarEntry => {
      return { type: 'file', path: `blobs/${digest.replace(':', '/')}`, content }
    }),
  ])
}

interface OciParts {
  readonly manifest: OciBlob
  /** Layers and configuration. */
  readonly blobs: readonly OciBlob[]
}

interface OciBlob {
  readonly content: Uint8Array
  readonly descriptor: { readonly mediaType: string; readonly digest: string; readonly size: number }
}

function ociParts(image: OciImage): OciParts {
  const archives = image.layers.map(layer => tar(withFolders(layer)))
  const layers = archives.map(archive => blobOf(mediaTypes.layer, gzipSync(archive)))
  const config = jsonBlob(mediaTypes.config, {
    architecture: image.architecture,
    os: 'linux',
    config: configOf(image.config ?? {}),
    rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
    history: archives.map(() => ({ created: '1970-01-01T00:00:00Z', created_by: 'k8ts' })),
  })
  const manifest = jsonBlob(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: config.descriptor,
    layers: layers.map(({ descriptor }) => descriptor),
  })
  return { manifest, blobs: [...layers, config] }
}

const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

function blobOf(mediaType: string, content: Uint8Array): OciBlob {
  return { content, descriptor: { mediaType, digest: digestOf(content), size: content.length } }
}

function jsonBlob(mediaType: string, value: unknown): OciBlob {
  return blobOf(mediaType, json(value))
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

function configOf(config: OciConfig): Record<string, unknown> {
  const set = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, {}]))
  return {
    Env: config.env ?? ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    ...(config.entrypoint && { Entrypoint: config.entrypoint }),
    ...(config.cmd && { Cmd: config.cmd }),
    ...(config.user && { User: config.user }),
    ...(config.workingDir && { WorkingDir: config.workingDir }),
    ...(config.exposedPorts && { ExposedPorts: set(config.exposedPorts) }),
    ...(config.volumes && { Volumes: set(config.volumes) }),
    ...(config.stopSignal && { StopSignal: config.stopSignal }),
  }
}

function tagOf(reference: string): string {
  return /:([^:/@]+)$/.exec(reference)?.[1] ?? 'latest'
}

/** Entries in order, each preceded by its missing parent directories. */
function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const named = new Set(entries.filter(({ type }) => type === 'folder').map(({ path }) => path))
  const made = new Set<string>()
  const missing = (path: string): TarEntry[] => {
    const parts = path.split('/').slice(0, -1)
    const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    const fresh = folders.filter(folder => folder !== '' && !named.has(folder) && !made.has(folder))
    for (const folder of fresh) made.add(folder)
    return fresh.map(folder => ({ type: 'folder', path: folder }))
  }
  return entries.flatMap(entry => [...missing(entry.path), entry])
}
