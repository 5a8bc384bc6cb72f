/**
 * Writes an image as an OCI archive to a file. Large programs are streamed from this machine, layer by layer, so that
 * the image needs little memory. Deterministic, like `ociArchive`.
 */
import { createHash, type Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { constants, createZstdCompress } from 'node:zlib'
import type { Files, FileWriter } from '#/platform/platform.ts'
import {
  blobPath,
  mediaTypes,
  ociDocuments,
  withFolders,
  type OciConfig,
  type OciDocumentsOptions,
  type OciLayer,
} from './oci-archive.ts'
import { tarEnd, tarHeader, tarPadding, type TarEntry } from '#/base/tar.ts'

export interface StreamedImage {
  /** From the image ID, the digest of the configuration: another content is another reference. */
  readonly reference: (imageId: string) => string
  readonly architecture: string
  readonly layers: readonly StreamedLayer[]
  readonly config?: OciConfig
}

export interface StreamedLayer {
  /** In the history of the image. */
  readonly name: string
  readonly entries: readonly LayerEntry[]
}

export type LayerEntry = TarEntry | SourceFile

/** A file with the content of a file of this machine. */
export interface SourceFile {
  readonly type: 'source'
  readonly path: string
  readonly mode: number
  readonly source: string
}

/** Resolves to the reference of the image. The file is complete and on disk then. */
export async function writeOciArchive(files: Files, path: string, image: StreamedImage): Promise<string> {
  await files.remove(path)
  await using writer = await files.openWriter()
  const archive = new ArchiveFile(writer, path)
  const layers: (OciLayer & { readonly name: string })[] = []
  for (const { name, entries } of image.layers)
    layers.push({ name, ...(await writeLayer(files, archive, entries)) })
  const options: OciDocumentsOptions = { ...image, layers }
  const { reference, config, manifest, index, layout } = ociDocuments(options)
  for (const { descriptor, content } of [config, manifest])
    await archive.writeFile(blobPath(descriptor.digest), content)
  await archive.writeFile('oci-layout', layout)
  await archive.writeFile('index.json', index)
  await archive.write(tarEnd)
  await writer.perform([
    { type: 'sync', path },
    { type: 'close', path },
  ])
  return reference
}

class ArchiveFile {
  readonly #writer: FileWriter
  readonly #path: string
  positionBytes = 0

  constructor(writer: FileWriter, path: string) {
    this.#writer = writer
    this.#path = path
  }

  /** Copies the bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.writeAt(this.positionBytes, bytes)
    this.positionBytes += bytes.length
  }

  async writeAt(positionBytes: number, bytes: Uint8Array): Promise<void> {
    await this.#writer.perform([
      { type: 'write', path: this.#path, positionBytes, bytes: new Uint8Array(bytes) },
    ])
  }

  async writeFile(path: string, content: Uint8Array): Promise<void> {
    const sizeBytes = content.length
    await this.write(tarHeader({ type: 'file', path, sizeBytes }))
    await this.write(content)
    await this.write(tarPadding(sizeBytes))
  }
}

/** The header of the layer in the archive is written last, because it has the digest and the size. */
async function writeLayer(
  files: Files,
  archive: ArchiveFile,
  entries: readonly LayerEntry[],
): Promise<OciLayer> {
  const start = archive.positionBytes
  archive.positionBytes += tarHeader({ type: 'file', path: blobPath(sha256()), sizeBytes: 0 }).length
  const diffId = createHash('sha256')
  const digest = createHash('sha256')
  let size = 0
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: compressionLevel } })
  for await (const piece of Readable.from(hashed(layerTar(files, entries), diffId)).pipe(compress)) {
    const bytes = piece as Buffer
    digest.update(bytes)
    size += bytes.length
    await archive.write(bytes)
  }
  await archive.write(tarPadding(size))
  const descriptor = { mediaType: mediaTypes.zstd, digest: sha256(digest), size }
  await archive.writeAt(
    start,
    tarHeader({ type: 'file', path: blobPath(descriptor.digest), sizeBytes: size }),
  )
  return { descriptor, diffId: sha256(diffId) }
}

/** Three times as fast as gzip's fastest level, and smaller. */
const compressionLevel = 3

function sha256(hash: Hash = createHash('sha256')): string {
  return `sha256:${hash.digest('hex')}`
}

async function* hashed(
  pieces: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

async function* layerTar(
  files: Files,
  entries: readonly LayerEntry[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const entry of withFolders(entries)) {
    if (entry.type === 'source') {
      yield* sourceFile(files, entry)
    } else if (entry.type === 'file') {
      const { content, ...attributes } = entry
      yield Buffer.concat([
        tarHeader({ ...attributes, sizeBytes: content.length }),
        content,
        tarPadding(content.length),
      ])
    } else yield tarHeader(entry)
  }
  yield tarEnd
}

const pieceBytes = 1024 * 1024

async function* sourceFile(
  files: Files,
  { path, mode, source }: SourceFile,
): AsyncGenerator<Uint8Array, void, undefined> {
  const sizeBytes = (await files.stat(source))?.sizeBytes ?? 0
  await using file = await files.openRead(source)
  yield tarHeader({ type: 'file', path, mode, sizeBytes })
  for (let position = 0; position < sizeBytes; position += pieceBytes) {
    const length = Math.min(pieceBytes, sizeBytes - position)
    const piece = file.read(position, length)
    if (piece.length < length) throw new Error(`${source} has changed while it was read`)
    yield piece
  }
  yield tarPadding(sizeBytes)
}
