/** The files of a stopped cluster with the embedded store, and the commands for them. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { embeddedStorePlace } from '#/cluster/open-store.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Objects } from '#/simulation/history/history.ts'
import { namespace, objectsOf, type ConfigMap } from '#/simulation/recording/config-maps.ts'
import { openEmbeddedContent } from '#/store/snapshot.ts'
import { program } from '../api-server.ts'
import type { ProcessEnd } from '../server-process.ts'
import { damageFile, type DamageableFile, type FileDamage } from './file-damage.ts'

export interface ClusterFilesOptions {
  /** The folder of the cluster. */
  readonly folder: string
  /** For copies, on another disk. */
  readonly copiesFolder: string
}

export class ClusterFiles {
  readonly #folder: string
  readonly #copy: string
  /** The copy before. */
  readonly #olderCopy: string

  constructor({ folder, copiesFolder }: ClusterFilesOptions) {
    this.#folder = folder
    this.#copy = join(copiesFolder, 'newest')
    this.#olderCopy = join(copiesFolder, 'older')
  }

  async saveCopy(): Promise<void> {
    await rm(this.#olderCopy, { recursive: true, force: true })
    if (existsSync(this.#copy)) await rename(this.#copy, this.#olderCopy)
    await mkdir(this.#copy, { recursive: true })
    for (const name of copied) await cp(join(this.#folder, name), join(this.#copy, name), { recursive: true })
  }

  async putBackCopy(): Promise<void> {
    for (const name of copied) {
      await rm(join(this.#folder, name), { recursive: true, force: true })
      await cp(join(this.#copy, name), join(this.#folder, name), { recursive: true })
    }
  }

  async list(): Promise<DamageableFile[]> {
    const inStore = (await readdir(join(this.#folder, 'store'))).filter(name => name !== 'lock')
    const names = [...inStore.map(name => join('store', name)).sort(), markCopy]
    return Promise.all(
      names.map(async name => {
        const content = await readFile(join(this.#folder, name))
        const usedBytes = content.findLastIndex(byte => byte !== 0) + 1
        return { name, usedBytes, hasOlderCopy: existsSync(join(this.#olderCopy, name)) }
      }),
    )
  }

  damage(damage: FileDamage): Promise<void> {
    return damageFile(damage, { folder: this.#folder, olderFolder: this.#olderCopy })
  }

  /** Paths of snapshots, the newest first. */
  async snapshots(): Promise<string[]> {
    const { output } = await this.k8ts('snapshot', 'ls')
    const paths = output.matchAll(/^\S+Z +\d+ +\S+ [kMG]?B +(\S+)$/gmu)
    return [...paths].map(([, path]) => path!).reverse()
  }

  /** The objects of the history in the store. */
  async readObjects(): Promise<Objects> {
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    await using content = await openEmbeddedContent(platform, embeddedStorePlace(this.#folder))
    const found: ConfigMap[] = []
    for await (const { key, value, revision } of content.entries()) {
      if (!key.startsWith(keyPrefix)) continue
      const { metadata, ...rest } = JSON.parse(Buffer.from(value).toString()) as ConfigMap
      found.push({ ...rest, metadata: { ...metadata, resourceVersion: String(revision) } })
    }
    return objectsOf(found)
  }

  /** Runs a command for the cluster. */
  k8ts(...words: readonly string[]): Promise<ProcessEnd> {
    const command = [...words, '--data-dir', this.#folder]
    return new Promise(resolve => {
      execFile(program, command, { encoding: 'utf8' }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined
        resolve({ code, output: `${stdout}${stderr}` })
      })
    })
  }
}

const markCopy = join('pki', 'store.mark')

const copied = ['store', markCopy]

const keyPrefix = `/registry/configmaps/${namespace}/`
