/**
 * The mode nftables on machines whose `nft` may not work: services are then handled in the mode iptables, until this
 * process ends. `nft` is probed before the first `apply`, and may also stop working later, when another program writes
 * a table that it cannot read.
 */
import { nftFault, probeNft } from '#/nftables/nft-fault.ts'
import { IptablesRules } from './iptables.ts'
import { NftablesRules } from './nftables.ts'
import type { PortPlan } from './plan.ts'
import type { Proxier, ProxierOptions, ProxyMode } from './proxier.ts'

export interface FallbackProxierOptions extends ProxierOptions {
  /** Called once, with why `nft` cannot work. */
  readonly onFallback: (reason: string) => void
}

export class FallbackProxier implements Proxier {
  readonly #options: FallbackProxierOptions
  /** Of all services, for a proxier of another mode. */
  readonly #ports = new Map<string, readonly PortPlan[]>()
  #proxier: Proxier
  #mode: ProxyMode = 'nftables'
  #isProbed = false

  constructor(options: FallbackProxierOptions) {
    this.#options = options
    this.#proxier = new NftablesRules(options)
  }

  get mode(): ProxyMode {
    return this.#mode
  }

  set(service: string, ports: readonly PortPlan[]): void {
    if (ports.length > 0) this.#ports.set(service, ports)
    else this.#ports.delete(service)
    this.#proxier.set(service, ports)
  }

  get isFullSyncNeeded(): boolean {
    return this.#proxier.isFullSyncNeeded
  }

  get nextApplyMs(): number | undefined {
    return this.#proxier.nextApplyMs
  }

  async apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isProbed) {
      const fault = await probeNft(this.#options.linux, signal)
      this.#isProbed = true
      if (fault !== undefined) this.#fallBack(fault)
    }
    try {
      return await this.#proxier.apply(nowMs, signal)
    } catch (error) {
      signal.throwIfAborted()
      const fault = this.#mode === 'nftables' ? nftFault(error) : undefined
      if (fault === undefined) throw error
      this.#fallBack(fault)
    }
    await this.#proxier.apply(nowMs, signal)
    return false
  }

  verify(signal: AbortSignal): Promise<boolean> {
    return this.#proxier.verify(signal)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#proxier[Symbol.asyncDispose]()
  }

  #fallBack(reason: string): void {
    this.#proxier = new IptablesRules(this.#options)
    this.#mode = 'iptables'
    for (const [service, ports] of this.#ports) this.#proxier.set(service, ports)
    this.#options.onFallback(reason)
  }
}
