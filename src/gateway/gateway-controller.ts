/**
 * The controller of the Gateway API: plans the configuration of the reverse proxy from the objects of the
 * cluster (`plan-gateways.ts`), and writes their statuses and the Services of Gateways. The definitions may
 * be absent, and come and go. Planning never waits for writes: they are queued by object, and read the
 * latest plan.
 */
import { equalJson } from '#/api/text/json-value.ts'
import { untilAborted } from '#/base/abort.ts'
import type { Client } from '#/client/client.ts'
import type { ConfigurationSource, ProxyConfiguration } from '#/http-proxy/proxy-configuration.ts'
import type { Platform } from '#/platform/platform.ts'
import { GatewayCache } from './controller/gateway-cache.ts'
import { GatewayWriter } from './controller/gateway-writer.ts'
import { planGateways } from './plan-gateways.ts'

export interface GatewayControllerOptions {
  readonly platform: Platform
  /** Has the rights of `ensureGatewayRbac`. */
  readonly client: Client
  /** The address that the reverse proxy listens on; Services of Gateways lead to it. */
  readonly nodeAddress: string
  /**
   * Of the node with this address. With it, Services have `externalTrafficPolicy: Local`, so that the proxy
   * sees the addresses of clients.
   */
  readonly nodeName?: string
}

export function gatewayController(options: GatewayControllerOptions): ConfigurationSource {
  return new GatewayController(options)
}

/** Changes within this time are planned together. */
const debounceMs = 20

/**
 * The pause before a plan is at least this multiple of the duration of the last one, which leaves time for
 * requests.
 */
const pauseFactor = 4

class GatewayController implements ConfigurationSource {
  readonly #options: GatewayControllerOptions
  readonly #cache: GatewayCache
  readonly #writer: GatewayWriter
  readonly #callbacks = new Set<() => void>()
  #configuration: ProxyConfiguration | undefined
  #allocatedPorts: ReadonlyMap<string, number> = new Map()
  #wake = Promise.withResolvers<void>()

  constructor(options: GatewayControllerOptions) {
    this.#options = options
    this.#cache = new GatewayCache({ ...options, onChange: () => this.#wake.resolve() })
    this.#writer = new GatewayWriter({ ...options, cache: this.#cache })
  }

  get configuration(): ProxyConfiguration | undefined {
    return this.#configuration
  }

  onChange(callback: () => void): void {
    this.#callbacks.add(callback)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#cache.run(signal), this.#writer.run(signal), this.#planUntil(signal)])
  }

  async #planUntil(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    let durationMs = 0
    const aborted = untilAborted(signal)
    while (!signal.aborted) {
      await Promise.race([this.#wake.promise, aborted])
      await clock.sleep(Math.max(debounceMs, pauseFactor * durationMs), signal).catch(() => undefined)
      if (signal.aborted) return
      this.#wake = Promise.withResolvers()
      const startMs = clock.monotonicMs()
      try {
        this.#plan(signal)
      } catch (error) {
        // The proxy and its other sources go on with the last configuration.
        log.error('Planning of Gateways failed', { error })
      }
      durationMs = clock.monotonicMs() - startMs
    }
  }

  #plan(signal: AbortSignal): void {
    const world = this.#cache.world(this.#allocatedPorts)
    if (world === undefined) return
    const plan = planGateways(world)
    this.#cache.follow(plan.references, signal)
    // A Secret that was not read yet is not a missing one; the end of the reading causes the next plan.
    if (!this.#cache.hasSynced) return
    this.#allocatedPorts = plan.allocatedPorts
    this.#publish(plan.configuration)
    this.#writer.write(plan)
  }

  #publish(configuration: ProxyConfiguration): void {
    if (this.#configuration !== undefined && isSame(this.#configuration, configuration)) return
    this.#configuration = configuration
    this.#options.platform.log.info('Gateway configuration changed', {
      listeners: configuration.listeners.length,
      backends: configuration.backends.size,
    })
    for (const callback of this.#callbacks) callback()
  }
}

function isSame(a: ProxyConfiguration, b: ProxyConfiguration): boolean {
  return equalJson(a.listeners, b.listeners) && equalJson([...a.backends.values()], [...b.backends.values()])
}
