/**
 * Builds an OCI image layout as a tar archive, without a registry or a build tool. The output is
 * deterministic, and so are the digests.
 */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { tar, type TarEntry } from '#/base/tar.ts'

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

export function ociArchive({ layers, ...image }: OciImage): Uint8Array {
  const packed = layers.map(layer => {
    const archive = tar(withFolders(layer))
    const content = gzipSync(archive)
    const descriptor = { mediaType: mediaTypes.gzip, digest: digestOf(content), size: content.length }
    return { content, descriptor, diffId: digestOf(archive) }
  })
  const { config, manifest, index, layout } = ociDocuments({ ...image, layers: packed })
  const contents = new Map([...packed, config, manifest].map(blob => [blob.descriptor.digest, blob.content]))
  return tar([
    { type: 'file', path: 'oci-layout', content: layout },
    { type: 'file', path: 'index.json', content: index },
    ...[...contents].map(([digest, content]): TarEntry => {
      return { type: 'file', path: blobPath(digest), content }
    }),
  ])
}

export interface OciDescriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export interface OciLayer {
  readonly descriptor: OciDescriptor
  /** Digest of the uncompressed layer. */
  readonly diffId: string
}

interface OciBlob {
  readonly content: Uint8Array
  readonly descriptor: OciDescriptor
}

export interface OciDocumentsOptions extends Pick<OciImage, 'architecture' | 'config'> {
  /** May depend on the image ID, the digest of the configuration. */
  readonly reference: string | ((imageId: string) => string)
  readonly layers: readonly (OciLayer & { readonly name?: string })[]
}

export interface OciDocuments {
  readonly reference: string
  readonly config: OciBlob
  readonly manifest: OciBlob
  readonly index: Uint8Array
  readonly layout: Uint8Array
}

/** The files of an image layout beside the layers. */
export function ociDocuments(options: OciDocumentsOptions): OciDocuments {
  const { architecture, layers } = options
  const config = jsonBlob(mediaTypes.config, {
    architecture,
    os: 'linux',
    config: configOf(options.config ?? {}),
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ name = 'k8ts' }) => ({ created: '1970-01-01T00:00:00Z', created_by: name })),
  })
  const manifest = jsonBlob(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: config.descriptor,
    layers: layers.map(({ descriptor }) => descriptor),
  })
  const { reference: named } = options
  const reference = typeof named === 'string' ? named : named(config.descriptor.digest)
  const annotations = {
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': tagOf(reference),
  }
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [{ ...manifest.descriptor, annotations }],
  }
  const layout = json({ imageLayoutVersion: '1.0.0' })
  return { reference, config, manifest, index: json(index), layout }
}

export function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  gzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  zstd: 'application/vnd.oci.image.layer.v1.tar+zstd',
} as const

function jsonBlob(mediaType: string, value: unknown): OciBlob {
  const content = json(value)
  return { content, descriptor: { mediaType, digest: digestOf(content), size: content.length } }
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
export function withFolders<T extends { readonly type: string; readonly path: string }>(
  entries: readonly T[],
): (T | ParentFolder)[] {
  const named = new Set(entries.filter(({ type }) => type === 'folder').map(({ path }) => path))
  const made = new Set<string>()
  const missing = (path: string): ParentFolder[] => {
    const parts = path.split('/').slice(0, -1)
    const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    const fresh = folders.filter(folder => folder !== '' && !named.has(folder) && !made.has(folder))
    for (const folder of fresh) made.add(folder)
    return fresh.map(folder => ({ type: 'folder', path: folder }))
  }
  return entries.flatMap(entry => [...missing(entry.path), entry])
}

interface ParentFolder {
  readonly type: 'folder'
  readonly path: string
}
