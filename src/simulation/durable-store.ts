/**
 * Simulates the embedded store from a seed: concurrent writers and compactions, power failures and clean stops in
 * the middle, a disk that tears, loses and corrupts writes, and damage to the files between two lives. A store may
 * refuse to open when its files are not what it wrote; what it serves must be right.
 */
import { join } from 'node:path'
import { Simulation, type DiskFaults, type SimulatedHost } from '#/platform/simulated.ts'
import type { Files, Platform, Random } from '#/platform/platform.ts'
import { EmbeddedStore, StoreDamagedError } from '#/store/embedded.ts'
import { StoreError, type Store } from '#/store/store.ts'
import { Observations } from './durable-store/observations.ts'
import { Writers } from './durable-store/writers.ts'

export interface DurableStoreOptions {
  readonly disk?: Partial<DiskFaults>
  /**
   * False if processes only end in order. Of a disk that lies, the loss of the last commits is not recognized after a
   * power failure: the marks may be older.
   */
  readonly losesPower?: boolean
  /** Damages a file while the store is closed for the last time. */
  readonly damages?: boolean
  /** Bugs, for proving that they are found. */
  readonly plantedBug?: PlantedBug
}

export interface PlantedBug {
  readonly files?: (files: Files) => Files
  readonly store?: (store: Store) => Store
}

export interface DurableStoreVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly acknowledged: number
  /** True if the store refused to open. */
  readonly isRefused: boolean
  /** Number of reads that failed because the value was damaged. */
  readonly damagedReads: number
}

const folder = '/cluster/store'
const markCopy = '/cluster/pki/store.mark'
const lives = 4

/** Small, so that segments are begun and rewritten all the time. */
const segmentBytesMax = 6_000
const cacheBytesMax = 2_000

export async function simulateDurableStore(
  seed: number,
  options: DurableStoreOptions = {},
): Promise<DurableStoreVerdict> {
  const simulation = new Simulation({ seed, disk: options.disk ?? {} })
  const run = new DurableStoreRun(simulation, options)
  await simulation.run(run.run())
  const { observations, isRefused } = run
  return {
    traceHash: simulation.traceHash(),
    violations: observations.violations,
    trace: simulation.trace,
    acknowledged: observations.acknowledgedCount,
    isRefused,
    damagedReads: observations.damagedReads,
  }
}

/** One kind of faults for each seed. A store that refuses to open on a disk that does not lie is a violation. */
export async function simulateFaultyStore(seed: number): Promise<DurableStoreVerdict> {
  const kinds = Object.values(faultKinds)
  const { mayRefuse, ...options } = kinds[seed % kinds.length]!
  const verdict = await simulateDurableStore(seed, options)
  if (!verdict.isRefused || mayRefuse) return verdict
  return { ...verdict, violations: [...verdict.violations, 'the store refused to open'] }
}

export interface FaultKind extends DurableStoreOptions {
  /** True if the files are not what the store wrote. */
  readonly mayRefuse: boolean
}

export const faultKinds: Readonly<Record<string, FaultKind>> = {
  'power failures': { mayRefuse: false },
  'a disk that fails and stalls': { mayRefuse: false, disk: { errorRate: 0.002, stallRate: 0.01 } },
  'files damaged at rest': { mayRefuse: true, damages: true },
  'flipped bits of writes': { mayRefuse: true, losesPower: false, disk: { writeFlipRate: 0.005 } },
  'lost writes': { mayRefuse: true, losesPower: false, disk: { lostWriteRate: 0.005 } },
  'misdirected writes': { mayRefuse: true, losesPower: false, disk: { misdirectedWriteRate: 0.005 } },
  'flipped bits of reads': { mayRefuse: true, losesPower: false, disk: { readFlipRate: 0.01 } },
  'bit rot': { mayRefuse: true, losesPower: false, disk: { readRotRate: 0.01 } },
}

class DurableStoreRun {
  readonly observations = new Observations()
  isRefused = false
  readonly #simulation: Simulation
  readonly #host: SimulatedHost
  readonly #options: DurableStoreOptions

  constructor(simulation: Simulation, options: DurableStoreOptions) {
    this.#simulation = simulation
    this.#options = options
    this.#host = simulation.host('store')
  }

  async run(): Promise<void> {
    for (let life = 0; life < lives; life++) {
      const store = await this.#open()
      if (store === undefined) return
      await this.observations.check(store)
      await this.#live(store, `life ${life}`)
    }
    // The last life is examined on a disk without faults.
    this.#host.disk.setFaults(soundReads)
    if (this.#options.damages) {
      // Right after a power failure the marks may be too old to show the loss of the last commits.
      await (await this.#open())?.[Symbol.asyncDispose]()
      await this.#damage()
    }
    const store = await this.#open()
    if (store === undefined) return
    await this.observations.check(store)
    await store[Symbol.asyncDispose]()
  }

  /** Undefined when the store refuses, which ends the run. */
  async #open(): Promise<Store | undefined> {
    for (;;) {
      try {
        const store = await EmbeddedStore.open({
          platform: this.#platform,
          folder,
          markCopy,
          segmentBytesMax,
          cacheBytesMax,
        })
        return this.#options.plantedBug?.store?.(store) ?? store
      } catch (error) {
        if (isDiskError(error)) continue
        if (!(error instanceof StoreDamagedError)) throw error
        this.isRefused = true
        this.#simulation.record(error.message)
        return undefined
      }
    }
  }

  get #platform(): Platform {
    const { clock, random, network, files, processes, log } = this.#host
    const plant = this.#options.plantedBug?.files
    return { clock, random, network, files: plant?.(files) ?? files, processes, log }
  }

  /** Writes until the store is closed or the power fails. */
  async #live(store: Store, label: string): Promise<void> {
    const { random, clock } = this.#simulation
    const writers = new Writers({ store, clock, random, observations: this.observations, label })
    const writing = writers.run()
    const { losesPower = true } = this.#options
    if (!losesPower || random.integer('end of a life', 3) === 0) {
      await writing
      await store[Symbol.asyncDispose]()
      return
    }
    await clock.sleep(random.integer('time to the power failure', 400))
    this.observations.crash()
    this.#host.crash()
    await clock.sleep(10)
    this.#host.restart()
  }

  async #damage(): Promise<void> {
    const { files, disk } = this.#host
    const names = await files.list(folder)
    const paths = [...names.filter(name => name !== 'lock').map(name => join(folder, name)), markCopy]
    this.#simulation.record(damageFiles({ disk, paths, random: this.#simulation.random }))
  }
}

const soundReads: Partial<DiskFaults> = { readFlipRate: 0, readRotRate: 0, readErrorRate: 0, errorRate: 0 }

function isDiskError(error: unknown): boolean {
  if (error instanceof StoreError && error.reason === 'closed') return true
  return (error as { readonly code?: string }).code === 'EIO'
}

interface DamageOptions {
  readonly disk: SimulatedHost['disk']
  readonly paths: readonly string[]
  readonly random: Random
}

/** Damages one file of a store at rest. Returns a description. */
function damageFiles({ disk, paths, random }: DamageOptions): string {
  const pick = (label: string): string => paths[random.integer(label, paths.length)]!
  const path = pick('damaged file')
  const isEmpty = disk.durableContent(path).length === 0
  switch (isEmpty ? 3 : random.integer('kind of damage', 6)) {
    case 0:
      return disk.damage(path, 'zero-sector')
    case 1:
      return disk.damage(path, 'truncate')
    case 2: {
      const other = pick('swapped file')
      return path === other ? disk.damage(path, 'flip-bit') : disk.damage(path, { swapWith: other })
    }
    case 3:
      return disk.damage(path, 'delete')
    default:
      return disk.damage(path, 'flip-bit')
  }
}
