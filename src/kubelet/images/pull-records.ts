import { createHash } from 'node:crypto'
import type { Files } from '#/platform/platform.ts'
import { asObject } from './json-object.ts'
import type { PulledRecord } from './plan-access.ts'

const apiVersion = 'kubelet.config.k8s.io/v1beta1'

interface Intention {
  /** What was there under this name before: that it is there says nothing of the pull. */
  readonly presentRef?: string
  /** Pulls that are under way now. */
  readonly count: number
  /** Begun in another life: only a pull that succeeds tells how things are. */
  readonly isLeftOver: boolean
}

/**
 * What is known of images that were pulled, in files that outlive the process, as Kubernetes has them. An intention is
 * written before a pull: of an image that is there although it was never finished nobody knows whose it is.
 */
export class PullRecords {
  readonly #files: Files
  readonly #pulling: string
  readonly #pulled: string
  /** By name of the file. */
  #records = new Map<string, PulledRecord>()
  /** Begun and not finished, in this life or another, by name of the file. */
  #intentions = new Map<string, Intention>()
  #loaded: Promise<void> | undefined

  /** In the kubelet's folder. */
  constructor(files: Files, folder: string) {
    this.#files = files
    this.#pulling = `${folder}/image_manager/pulling`
    this.#pulled = `${folder}/image_manager/pulled`
  }

  async record(imageRef: string): Promise<PulledRecord | undefined> {
    await this.#load()
    return this.#records.get(fileName(imageRef))
  }

  /** Whether this image may have come by a pull of which it is not known how it ended. */
  async isPulling(image: string, imageRef: string): Promise<boolean> {
    await this.#load()
    const intention = this.#intentions.get(fileName(image))
    return intention !== undefined && intention.presentRef !== imageRef
  }

  async begin(image: string, presentRef: string | undefined): Promise<void> {
    await this.#load()
    const name = fileName(image)
    const known = this.#intentions.get(name)
    const present = presentRef === undefined ? {} : { presentRef }
    this.#intentions.set(
      name,
      known ? { ...known, count: known.count + 1 } : { ...present, count: 1, isLeftOver: false },
    )
    if (known !== undefined) return
    const intention = { kind: 'ImagePullIntent', apiVersion, image, ...present }
    await this.#files.write(`${this.#pulling}/${name}`, JSON.stringify(intention), { mode: 0o600 })
  }

  async finish(image: string, hasSucceeded: boolean): Promise<void> {
    const name = fileName(image)
    const known = this.#intentions.get(name)
    if (known === undefined) return
    const { isLeftOver } = known
    const count = known.count - 1
    if (count > 0 || (isLeftOver && !hasSucceeded)) {
      this.#intentions.set(name, { ...known, count, isLeftOver: isLeftOver && !hasSucceeded })
      return
    }
    this.#intentions.delete(name)
    await this.#files.remove(`${this.#pulling}/${name}`)
  }

  async write(record: PulledRecord): Promise<void> {
    const name = fileName(record.imageRef)
    this.#records.set(name, record)
    const content = JSON.stringify({ kind: 'ImagePulledRecord', apiVersion, ...record })
    await this.#files.write(`${this.#pulled}/${name}`, content, { mode: 0o600 })
  }

  /** Forgets what is known of all other images, but not what became known meanwhile. */
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
    this.#intentions = await this.#readAll(this.#pulling, parseIntention)
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

/** Of one that cannot be read it is only known that there was one: nothing that was pulled with is known. */
function parseRecord(text: string): PulledRecord {
  try {
    const record = asObject(JSON.parse(text), 'a record')
    asObject(record['credentialMapping'], 'credentialMapping')
    return record as unknown as PulledRecord
  } catch {
    return { imageRef: '', lastUpdatedTime: '', credentialMapping: {} }
  }
}

function parseIntention(text: string): Intention {
  try {
    const { presentRef } = asObject(JSON.parse(text), 'an intention')
    return { count: 0, isLeftOver: true, ...(typeof presentRef === 'string' && { presentRef }) }
  } catch {
    return { count: 0, isLeftOver: true }
  }
}
