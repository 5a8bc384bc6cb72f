/**
 * The images in archives: OCI layouts, and what `docker save` wrote before it wrote those. Manifests are kept
 * in memory, layers and configurations stay in their archives.
 */
import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { UsageError } from '#/base/flags.ts'
import { ImageReferenceError, normalizeImage } from '#/cri/image-reference.ts'
import { listTar, readBytes, type ArchivedFile } from './list-tar.ts'

export interface ImageCatalog {
  /** Digest of the manifest by the full name: `docker.io/library/busybox:latest`. */
  readonly references: ReadonlyMap<string, string>
  /** By digest. */
  readonly manifests: ReadonlyMap<string, Manifest>
  /** By digest. */
  readonly blobs: ReadonlyMap<string, ArchivedBlob>
}

export interface Manifest {
  readonly mediaType: string
  readonly content: Uint8Array
}

export interface ArchivedBlob extends ArchivedFile {
  readonly archive: string
}

/** Throws UsageError with the path of the archive that cannot be read. */
export async function readImageCatalog(paths: readonly string[]): Promise<ImageCatalog> {
  const catalog = { references: new Map(), manifests: new Map(), blobs: new Map() }
  for (const path of paths) {
    try {
      await using archive = await open(path)
      await addArchive(catalog, { path, archive, files: await listTar(archive) })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new UsageError(`cannot read the image archive ${path}: ${why}`, { cause: error })
    }
  }
  return catalog
}

interface MutableCatalog {
  readonly references: Map<string, string>
  readonly manifests: Map<string, Manifest>
  readonly blobs: Map<string, ArchivedBlob>
}

interface OpenArchive {
  readonly path: string
  readonly archive: FileHandle
  readonly files: ReadonlyMap<string, ArchivedFile>
}

async function addArchive(catalog: MutableCatalog, open: OpenArchive): Promise<void> {
  if (open.files.has('index.json')) return addLayout(catalog, open)
  if (open.files.has('manifest.json')) return addDockerArchive(catalog, open)
  throw new Error('neither index.json nor manifest.json in it')
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly annotations?: Readonly<Record<string, string>>
}

interface ManifestDocument {
  readonly manifests?: readonly Descriptor[]
}

async function addLayout(catalog: MutableCatalog, open: OpenArchive): Promise<void> {
  for (const [path, file] of open.files) {
    const [, algorithm, hex] = /^blobs\/(\w+)\/([0-9a-f]+)$/.exec(path) ?? []
    if (hex !== undefined) catalog.blobs.set(`${algorithm}:${hex}`, { archive: open.path, ...file })
  }
  const { manifests = [] } = await readJson<ManifestDocument>(open, 'index.json')
  for (const descriptor of manifests) {
    await addManifest(catalog, open, descriptor)
    const name = nameIn(descriptor)
    if (name !== undefined) catalog.references.set(name, descriptor.digest)
  }
}

/** An index leads to further manifests, of which an archive may lack those for other machines. */
async function addManifest(catalog: MutableCatalog, open: OpenArchive, { digest, mediaType }: Descriptor) {
  const path = `blobs/${digest.replace(':', '/')}`
  if (!open.files.has(path)) return
  const content = await readDocument(open, path)
  catalog.manifests.set(digest, { mediaType, content })
  const { manifests = [] } = JSON.parse(content.toString()) as ManifestDocument
  for (const descriptor of manifests) await addManifest(catalog, open, descriptor)
}

/** The full name, which containerd and others put in two places. A tag alone names no image. */
function nameIn({ annotations = {} }: Descriptor): string | undefined {
  const name =
    annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'] ?? ''
  return name.includes('/') ? fullName(name) : undefined
}

function fullName(name: string): string | undefined {
  try {
    return normalizeImage(name)
  } catch (error) {
    if (error instanceof ImageReferenceError) return undefined
    throw error
  }
}

interface DockerImage {
  readonly Config: string
  readonly RepoTags?: readonly string[] | null
  readonly Layers: readonly string[]
}

/** Its layers are not compressed, so that the configuration already has their digests. */
async function addDockerArchive(catalog: MutableCatalog, open: OpenArchive): Promise<void> {
  for (const { Config, RepoTags, Layers } of await readJson<readonly DockerImage[]>(open, 'manifest.json')) {
    const configBytes = await readDocument(open, Config)
    const { rootfs } = JSON.parse(configBytes.toString()) as {
      readonly rootfs: { readonly diff_ids: string[] }
    }
    const blobOf = (path: string, digest: string, mediaType: string) => {
      const file = open.files.get(path)
      if (file === undefined) throw new Error(`${path} is missing`)
      catalog.blobs.set(digest, { archive: open.path, ...file })
      return { mediaType, digest, size: file.sizeBytes }
    }
    const mediaType = 'application/vnd.oci.image.manifest.v1+json'
    const layerType = 'application/vnd.oci.image.layer.v1.tar'
    const manifest = {
      schemaVersion: 2,
      mediaType,
      config: blobOf(Config, digestOf(configBytes), 'application/vnd.oci.image.config.v1+json'),
      layers: Layers.map((path, index) => blobOf(path, rootfs.diff_ids[index] ?? '', layerType)),
    }
    const content = Buffer.from(JSON.stringify(manifest))
    catalog.manifests.set(digestOf(content), { mediaType, content })
    for (const tag of RepoTags ?? []) catalog.references.set(fullName(tag) ?? tag, digestOf(content))
  }
}

async function readJson<T>(open: OpenArchive, path: string): Promise<T> {
  return JSON.parse((await readDocument(open, path)).toString()) as T
}

async function readDocument({ archive, files }: OpenArchive, path: string): Promise<Buffer> {
  const { offset, sizeBytes } = files.get(path) ?? { offset: 0, sizeBytes: Infinity }
  if (sizeBytes > documentBytesMax) throw new Error(`${path} is missing or too large`)
  return readBytes(archive, offset, sizeBytes)
}

/** Registries take no larger manifests either. */
const documentBytesMax = 4 * 2 ** 20

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
