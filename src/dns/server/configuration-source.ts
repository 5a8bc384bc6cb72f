import { ApiError, isApiError } from '#/api/errors.ts'
import type { ConfigMap, Event } from '#/api/generated/core/v1.ts'
import { configMaps, events } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'
import { readCorefile } from '../corefile.ts'
import type { DnsConfiguration } from '../dns-configuration.ts'
import { dnsConfigMap } from '../ensure-dns.ts'

export interface ConfigurationSourceOptions {
  readonly platform: Platform
  readonly client: Client
  readonly defaults: DnsConfiguration
  readonly onConfiguration: (configuration: DnsConfiguration) => void
  readonly onInvalid: () => void
}

/**
 * Without an answer of the API server after this time the defaults are used, so that names outside of the cluster can
 * be resolved.
 */
const waitMs = 5_000

const corefileKey = 'Corefile'

/** Follows the ConfigMap `kube-system/coredns`. An invalid one changes nothing, and has a Warning event. */
export class ConfigurationSource {
  readonly #options: ConfigurationSourceOptions
  readonly #known = Promise.withResolvers<void>()
  #applied: string | undefined
  #hasApplied = false

  constructor(options: ConfigurationSourceOptions) {
    this.#options = options
  }

  /** Resolves when a configuration is applied. */
  get known(): Promise<void> {
    return this.#known.promise
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#options
    const { namespace, name } = dnsConfigMap
    const selection = { namespace, fieldSelector: `metadata.name=${name}` }
    const informer = new Informer({ platform, client, resource: configMaps, selection })
    informer.addEventHandler((_key, { newObject }) => this.#read(newObject, signal))
    const timer = platform.clock.setTimer(waitMs, () => this.#applyDefaults())
    const applyMissing = async (): Promise<void> => {
      await informer.waitForSync(signal)
      this.#applyDefaults()
    }
    applyMissing().catch(() => undefined)
    await informer.run(signal)
    timer.cancel()
  }

  /** Unless a configuration is applied. */
  #applyDefaults(): void {
    if (!this.#hasApplied) this.#apply(undefined, this.#options.defaults)
  }

  #read(configMap: Stored<ConfigMap> | undefined, signal: AbortSignal): void {
    const text = configMap?.data?.[corefileKey]
    if (configMap === undefined) return this.#apply(undefined, this.#options.defaults)
    if (text === this.#applied && text !== undefined) return
    const result = text === undefined ? missingKey : readCorefile(text)
    if ('configuration' in result) return this.#apply(text, result.configuration)
    this.#options.onInvalid()
    const message = describeProblem(result.problem)
    const { resourceVersion } = configMap.metadata
    this.#options.platform.log.warn('The Corefile is invalid and is not used', { resourceVersion, message })
    void this.#warn(configMap, message, signal)
  }

  #apply(text: string | undefined, configuration: DnsConfiguration): void {
    if (this.#hasApplied && text === this.#applied) return
    this.#applied = text
    this.#hasApplied = true
    this.#options.onConfiguration(configuration)
    this.#known.resolve()
  }

  /** All servers of the cluster write the same event, of which the first one is kept. */
  async #warn(configMap: Stored<ConfigMap>, message: string, signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#options
    const event = planCorefileEvent(configMap, { message, nowMs: platform.clock.now() })
    for (let attempt = 0; attempt < attemptsMax && !signal.aborted; attempt++) {
      try {
        await client.create(events, event, { signal })
        return
      } catch (error) {
        if (isApiError(error, 'AlreadyExists') || signal.aborted) return
        platform.log.warn('Failed to write the event about an invalid Corefile', { error })
        if (error instanceof ApiError && error.code < 500 && error.code !== 429) return
        await platform.clock.sleep(retryMs, signal).catch(() => undefined)
      }
    }
  }
}

const attemptsMax = 10
const retryMs = 3_000

interface CorefileProblem {
  readonly line: number
  readonly reason: string
}

const missingKey: { readonly problem: CorefileProblem } = {
  problem: { line: 0, reason: `has no key ${corefileKey}` },
}

function describeProblem({ line, reason }: CorefileProblem): string {
  const where = line > 0 ? `Corefile line ${line}: ` : ''
  return `${where}${reason}. The DNS servers keep their configuration.`
}

function planCorefileEvent(
  { metadata }: Stored<ConfigMap>,
  { message, nowMs }: { readonly message: string; readonly nowMs: number },
): Event {
  const { namespace, name } = dnsConfigMap
  const { uid, resourceVersion } = metadata
  const time = formatTime(nowMs)
  return {
    metadata: { namespace, name: `${name}.${uid}.${resourceVersion}` },
    involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name, uid, resourceVersion },
    type: 'Warning',
    reason: 'InvalidCorefile',
    message: message.slice(0, messageCharactersMax),
    source: { component: 'coredns' },
    reportingComponent: 'coredns',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
}

/** Of the API. */
const messageCharactersMax = 1_024
