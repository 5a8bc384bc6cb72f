/**
 * Reads the usage and the settings of cgroups from the kernel, for metrics. It reads on request only and keeps
 * nothing; the caller bounds how often.
 */
import { join } from 'node:path'
import type { HostInfo } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'
import { filesV1, parseV1 } from './cgroup-stats/parse-v1.ts'
import { filesV2, parseV2 } from './cgroup-stats/parse-v2.ts'
import type { CgroupStats } from './cgroup-stats/stats.ts'
import { hierarchiesOf, type Hierarchy } from './cgroups/hierarchies.ts'

export type { CgroupStats, PressureResource } from './cgroup-stats/stats.ts'

export interface CgroupStatsReaderOptions {
  readonly files: Pick<Files, 'read'>
  readonly machine: Pick<HostInfo, 'cgroupVersion'>
  /** Mount point of cgroup v2; defaults to `/sys/fs/cgroup`. */
  readonly unifiedFolder?: string
}

export class CgroupStatsReader {
  readonly #options: CgroupStatsReaderOptions
  #hierarchies: Promise<readonly Hierarchy[]> | undefined

  constructor(options: CgroupStatsReaderOptions) {
    this.#options = options
  }

  /** Undefined if there is no such cgroup. */
  async read(path: string): Promise<CgroupStats | undefined> {
    const isUnified = this.#options.machine.cgroupVersion === 2
    const found = await (isUnified ? this.#readV2(path) : this.#readV1(path))
    const texts = new Map(found)
    if ([...texts.values()].every(text => text === undefined)) return undefined
    const read = (file: string): string => texts.get(file) ?? ''
    return isUnified ? parseV2(read) : parseV1(read)
  }

  async #readV1(path: string): Promise<readonly ReadFile[]> {
    this.#hierarchies ??= this.#readText('/proc/self/mountinfo').then(text => hierarchiesOf(text ?? ''))
    const hierarchies = await this.#hierarchies
    const files = Object.entries(filesV1).flatMap(([controller, names]) => {
      const folder = hierarchies.find(({ controllers }) => controllers.has(controller))?.folder
      return folder === undefined ? [] : names.map(name => ({ name, folder: join(folder, path) }))
    })
    return Promise.all(files.map(({ name, folder }) => this.#readFile(folder, name)))
  }

  async #readV2(path: string): Promise<readonly ReadFile[]> {
    const { unifiedFolder = '/sys/fs/cgroup' } = this.#options
    const folder = join(unifiedFolder, path)
    return Promise.all(filesV2.map(name => this.#readFile(folder, name)))
  }

  async #readFile(folder: string, name: string): Promise<ReadFile> {
    return [name, await this.#readText(join(folder, name))]
  }

  /** Undefined if the kernel does not provide the file, or if the cgroup was removed meanwhile. */
  async #readText(path: string): Promise<string | undefined> {
    const bytes = await this.#options.files.read(path).catch(() => undefined)
    return bytes && Buffer.from(bytes).toString()
  }
}

type ReadFile = readonly [name: string, text: string | undefined]
