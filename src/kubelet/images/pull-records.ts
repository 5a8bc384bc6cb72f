import { createHash } from 'node:crypto'
import type { Files } from '#/platform/platform.ts'
import { asObject } from './json-object.ts'
import type { ImagePulledRecord } from './plan-access.ts'

const apiVersion = 'kubelet.config.k8s.io/v1beta1'

interface ImagePullIntent {
  /** Image present under this name before the pull; its presence does not prove that the pull succeeded. */
  readonly presentRef?: string
  /** Pulls in progress. */
  readonly count: number
  /** Left by an earlier kubelet process; only a successful pull resolves it. */
  readonly isLeftOver: boolean
}

/**
 * Persistent records of image pulls, in the kubelet's ImagePulledRecord and ImagePullIntent file formats. An
 * intent is written before each pull: if an image is present and its pull was not recorded as finished, its
 * credentials are unknown.
 */
export class PullRecords {
  readonly #files: Files
  readonly #pulling: string
  readonly #pulled: string
  /** By file name. */
  #records = new Map<string, ImagePulledRecord>()
  /** Unfinished pulls of this and earlier kubelet processes, by file name. */
  #intents = new Map<string, ImagePullIntent>()
  #loaded: Promise<void> | undefined

  /** `folder` is the kubelet's root directory. */
  constructor(files: Files, folder: string) {
    this.#files = files
    this.#pulling = `${folder}/image_manager/pulling`
    this.#pulled = `${folder}/image_manager/pulled`
  }

  async record(imageRef: string): Promise<ImagePulledRecord | undefined> {
    await this.#load()
    return this.#records.get(fileName(imageRef))
  }

  /** True if the image may come from a pull with unknown outcome. */
  async hasPullIntent(image: string, imageRef: string): Promise<boolean> {
    await this.#load()
    const intention = this.#intents.get(fileName(image))
    return intention !== undefined && intention.presentRef !== imageRef
  }

  async begin(image: string, presentRef: string | undefined): Promise<void> {
    await this.#load()
    const name = fileName(image)
    const known = this.#intents.get(name)
    const present = presentRef === undefined ? {} : { presentRef }
    this.#intents.set(
      name,
      known ? { ...known, count: known.count + 1 } : { ...present, count: 1, isLeftOver: false },
    )
    if (known !== undefined) return
    const intention = { kind: 'ImagePullIntent', apiVersion, image, ...present }
    await this.#files.write(`${this.#pulling}/${name}`, JSON.stringify(intention), { mode: 0o600 })
  }

  async finish(image: string, hasSucceeded: boolean): Promise<void> {
    const name = fileName(image)
    const known = this.#intents.get(name)
    if (known === undefined) return
    const { isLeftOver } = known
    const count = known.count - 1
    if (count > 0 || (isLeftOver && !hasSucceeded)) {
      this.#intents.set(name, { ...known, count, isLeftOver: isLeftOver && !hasSucceeded })
      return
    }
    this.#intents.delete(name)
    await this.#files.remove(`${this.#pulling}/${name}`)
  }

  async write(record: ImagePulledRecord): Promise<void> {
    const name = fileName(record.imageRef)
    this.#records.set(name, record)
    const content = JSON.stringify({ kind: 'ImagePulledRecord', apiVersion, ...record })
    await this.#files.write(`${this.#pulled}/${name}`, content, { mode: 0o600 })
  }

  /** Removes the records of all other images, except those updated since `before`. */
  async keepOnly(imageRefs: readonly string[], before: string): Promise<void> {
    await this.#load()
    const kept = new Set(imageRefs.map(fileName))
    for (const [name, { lastUpdatedTime }] of this.#records) {
      if (kept.has(name) || lastUpdatedTime >= before) continue
      await this.#files.remove(`${this.#pulled}/${name}`)
      this.#records.delete(name)
    }
  }

  #load(): Promise<void> {
    this.#loaded ??= this.#read().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  async #read(): Promise<void> {
    for (const folder of [this.#pulling, this.#pulled]) await this.#files.makeFolder(folder, { mode: 0o700 })
    this.#records = await this.#readAll(this.#pulled, parseRecord)
    this.#intents = await this.#readAll(this.#pulling, parseIntent)
  }

  async #readAll<T>(folder: string, parse: (text: string) => T): Promise<Map<string, T>> {
    const names = (await this.#files.list(folder)).filter(name => /^sha256-[0-9a-f]{64}$/.test(name))
    const entries = names.map(async name => {
      return [name, parse(Buffer.from(await this.#files.read(`${folder}/${name}`)).toString())] as const
    })
    return new Map(await Promise.all(entries))
  }
}

function fileName(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('hex')}`
}

/** An unreadable record counts as a pull with unknown credentials. */
function parseRecord(text: string): ImagePulledRecord {
  try {
    const record = asObject(JSON.parse(text), 'a record')
    asObject(record['credentialMapping'], 'credentialMapping')
    return record as unknown as ImagePulledRecord
  } catch {
    return { imageRef: '', lastUpdatedTime: '', credentialMapping: {} }
  }
}

function parseIntent(text: string): ImagePullIntent {
  try {
    const { presentRef } = asObject(JSON.parse(text), 'an intention')
    return { count: 0, isLeftOver: true, ...(typeof presentRef === 'string' && { presentRef }) }
  } catch {
    return { count: 0, isLeftOver: true }
  }
}
