import { messageOf } from '#/base/message-of.ts'
import type { Duplex } from 'node:stream'
import type { Platform } from '#/platform/platform.ts'
import {
  CriError,
  type ContainerConfig,
  type SandboxConfig,
  type SandboxStatus,
  type SandboxSummary,
} from '../cri.ts'
import type { AddressPool } from './address-pool.ts'
import { nanoseconds } from './nanoseconds.ts'
import { killedCode } from './plan-container-run.ts'
import type { SimulatedContainer } from './simulated-container.ts'

export interface SimulatedSandboxOptions {
  readonly platform: Platform
  readonly id: string
  readonly config: SandboxConfig
  readonly pools: readonly AddressPool[]
  readonly onChange: () => void
}

export class SimulatedSandbox {
  readonly id: string
  readonly config: SandboxConfig
  readonly containers = new Map<string, SimulatedContainer>()
  readonly #options: SimulatedSandboxOptions
  readonly #createdAt: bigint
  /** Allocated while the sandbox is ready. */
  readonly addresses: readonly string[]
  #isReady = true

  /** Throws CriError if no address is available. */
  constructor(options: SimulatedSandboxOptions) {
    const { id, config, platform, pools } = options
    this.id = id
    this.config = config
    this.#options = options
    this.#createdAt = nanoseconds(platform.clock.now())
    this.addresses = config.security.namespaces.network === 'node' ? [] : takeAddresses(id, pools)
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Kills all containers and releases the addresses. */
  end(): void {
    if (!this.#isReady) return
    this.#isReady = false
    for (const container of this.containers.values()) container.end(killedCode)
    this.addresses.forEach((address, index) => this.#options.pools[index]?.free(address))
    this.#options.onChange()
  }

  /** Throws CriError if the container cannot be created in this sandbox. */
  checkCanCreate({ name, attempt }: ContainerConfig): void {
    if (!this.#isReady) throw new CriError('failed', `sandbox "${this.id}" is not running`)
    for (const { options } of this.containers.values()) {
      if (options.config.name !== name || options.config.attempt !== attempt) continue
      throw new CriError('failed', `failed to reserve container name: it is reserved for "${options.id}"`)
    }
  }

  /** Throws CriError if the port is not listening. */
  connect(port: number): Duplex {
    for (const container of this.containers.values()) {
      const connection = container.connect(port)
      if (connection !== undefined) return connection
    }
    const text = `failed to connect to localhost:${port} inside namespace "${this.id}": connection refused`
    throw new CriError('failed', text)
  }

  summary(): SandboxSummary {
    const { metadata, labels, annotations } = this.config
    const state = this.#isReady ? 'ready' : 'not-ready'
    return { id: this.id, metadata, state, createdAt: this.#createdAt, labels, annotations }
  }

  status(): SandboxStatus {
    return {
      ...this.summary(),
      addresses: this.#isReady ? this.addresses : [],
      network: this.config.security.namespaces.network,
    }
  }
}

function takeAddresses(id: string, pools: readonly AddressPool[]): readonly string[] {
  const taken: string[] = []
  try {
    for (const pool of pools) taken.push(pool.take())
    return taken
  } catch (error) {
    taken.forEach((address, index) => pools[index]?.free(address))
    const reason = messageOf(error)
    const text = `failed to setup network for sandbox "${id}": failed to allocate for range 0: ${reason}`
    throw new CriError('failed', text, { cause: error })
  }
}
