/**
 * Imports the image archives of a folder into a private containerd: for hosts without a registry, and for images that
 * are made on the host. Pods do not start before the archives are imported that exist at the start; later ones are
 * imported when they are complete. The images are pinned until their archive is removed.
 */
import { dirname, join } from 'node:path/posix'
import { abortable } from '#/base/abort.ts'
import type { FileStatus } from '#/platform/platform.ts'
import { loadImage, pinImage, unpinImage, type ImageLoader } from './load-image.ts'

export interface ImageFolderOptions extends ImageLoader {
  readonly folder: string
}

export interface ImageArchive {
  readonly name: string
  readonly sizeBytes: number
  readonly modifiedMs: number
}

/** What was imported, so that archives are not imported again at every start. */
export interface ImportedArchive extends ImageArchive {
  readonly references: readonly string[]
}

export interface ImageImports {
  /** Imported before, and still there. */
  readonly kept: readonly ImportedArchive[]
  readonly missing: readonly ImageArchive[]
  readonly unpinned: readonly string[]
}

/** `isPresent` tells whether the runtime has an image. */
export function planImageImports(
  archives: readonly ImageArchive[],
  imported: readonly ImportedArchive[],
  isPresent: (reference: string) => boolean,
): ImageImports {
  const kept = imported.filter(({ name, sizeBytes, modifiedMs, references }) =>
    archives.some(
      archive =>
        archive.name === name &&
        archive.sizeBytes === sizeBytes &&
        archive.modifiedMs === modifiedMs &&
        references.every(isPresent),
    ),
  )
  const pinned = new Set(kept.flatMap(({ references }) => references))
  const before = imported.flatMap(({ references }) => references)
  return {
    kept,
    missing: archives.filter(({ name }) => !kept.some(each => each.name === name)),
    unpinned: [...new Set(before)].filter(reference => !pinned.has(reference) && isPresent(reference)),
  }
}

export class ImageFolder {
  readonly #options: ImageFolderOptions

  constructor(options: ImageFolderOptions) {
    this.#options = options
  }

  /** Resolves to the references of all images of the folder. An archive that cannot be imported is logged. */
  async import(signal?: AbortSignal): Promise<readonly string[]> {
    const { platform, folder } = this.#options
    await platform.files.makeFolder(folder, { mode: 0o700 })
    const before = await this.#readImported()
    const archives = await this.#listArchives()
    const present = await this.#presentImages(before, signal)
    const { kept, missing, unpinned } = planImageImports(archives, before, each => present.has(each))
    const imported = [...kept]
    for (const reference of unpinned) await unpinImage(this.#options, reference, signal)
    for (const archive of missing) {
      const path = join(folder, archive.name)
      try {
        const references = await loadImage(this.#options, path, signal)
        for (const reference of references) await pinImage(this.#options, reference, signal)
        imported.push({ ...archive, references })
        platform.log.info('Imported images', { path, images: references })
      } catch (error) {
        signal?.throwIfAborted()
        platform.log.error('Failed to import images', { path, error })
      }
    }
    if (missing.length > 0 || kept.length < before.length) await this.#writeImported(imported)
    return imported.flatMap(({ references }) => references)
  }

  /** Imports archives that are added, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, linux, folder } = this.#options
    try {
      const changes = linux.files.watch(folder, signal)[Symbol.asyncIterator]()
      for (let change = await changes.next(); !change.done;) {
        let next = changes.next()
        next.catch(() => undefined)
        // An archive that is being copied is changing.
        while (await this.#isFollowed(next, signal)) next = changes.next()
        await this.import(signal)
        change = await next
      }
    } catch (error) {
      if (!signal.aborted) platform.log.error('Failed to watch the folder of images', { folder, error })
    }
  }

  /** True if the change comes within the quiet period. */
  async #isFollowed(next: Promise<IteratorResult<unknown>>, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options.platform
    const quiet = clock.sleep(quietMs, signal).then(() => false)
    return Promise.race([quiet, abortable(next, signal).then(({ done }) => done !== true)])
  }

  async #listArchives(): Promise<readonly ImageArchive[]> {
    const { platform, folder } = this.#options
    const names = (await platform.files.list(folder)).filter(name => archiveName.test(name))
    const found = await Promise.all(
      names.map(async name => {
        const status = await platform.files.stat(join(folder, name))
        return status?.isFile ? archiveOf(name, status) : undefined
      }),
    )
    return found.filter(archive => archive !== undefined)
  }

  async #presentImages(
    imported: readonly ImportedArchive[],
    signal?: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { runtime } = this.#options
    const present = new Set<string>()
    for (const reference of imported.flatMap(({ references }) => references))
      if (await runtime.imageStatus(reference, signal && { signal })) present.add(reference)
    return present
  }

  get #importedPath(): string {
    return join(dirname(this.#options.socketPath), 'imported-images.json')
  }

  async #readImported(): Promise<readonly ImportedArchive[]> {
    const { files } = this.#options.platform
    if ((await files.stat(this.#importedPath)) === undefined) return []
    return JSON.parse(
      Buffer.from(await files.read(this.#importedPath)).toString(),
    ) as readonly ImportedArchive[]
  }

  async #writeImported(imported: readonly ImportedArchive[]): Promise<void> {
    const text = `${JSON.stringify(imported, undefined, 2)}\n`
    await this.#options.platform.files.write(this.#importedPath, text, { mode: 0o600 })
  }
}

/** Hidden files are being written. */
const archiveName = /^[^.].*\.(tar|tar\.gz|tgz)$/

/** Time without changes after which archives count as complete. */
const quietMs = 1_000

function archiveOf(name: string, { sizeBytes, modifiedMs }: FileStatus): ImageArchive {
  return { name, sizeBytes, modifiedMs }
}
