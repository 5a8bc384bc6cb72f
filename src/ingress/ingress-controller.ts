/**
 * The Ingress controller: follows Ingresses and what they refer to, plans them into a configuration of the
 * reverse proxy, and writes their status and events. It does not forward requests itself.
 */
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { ingressClasses, ingresses } from '#/api/generated/networking/v1-resources.ts'
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { Informers } from '#/client/informers.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import type { ConfigurationSource, ProxyConfiguration } from '#/http-proxy/proxy-configuration.ts'
import type { Platform, Timer } from '#/platform/platform.ts'
import { planIngresses, type IngressPlan, type IngressPlanOptions } from './plan-ingresses.ts'
import { SecretWatches } from './secret-watches.ts'

export interface IngressControllerOptions extends IngressPlanOptions {
  readonly platform: Platform
  /** Authenticated as the service account `kube-system/k8ts-ingress`. */
  readonly client: Client
  /** Addresses for the status of Ingresses. */
  readonly statusAddresses: readonly string[]
}

/** Changes within this time are planned together. */
const planDelayMs = 50

/** A plan that took this time is followed by a pause of this many times as long. */
const pausePerPlanning = 20

/** The configuration waits this long for secrets that cannot be read. */
const secretsTimeoutMs = 5_000

const serviceNameLabel = 'kubernetes.io/service-name'

export class IngressController implements ConfigurationSource {
  readonly #options: IngressControllerOptions
  readonly #informers: Informers
  readonly #secrets: SecretWatches
  readonly #events: EventRecorder
  readonly #statuses: WorkQueue
  readonly #callbacks: (() => void)[] = []
  #plan: IngressPlan | undefined
  #timer: Timer | undefined
  /** Until the next plan: with very many Ingresses planning must not take all of the time. */
  #pauseMs = 0
  #signal: AbortSignal | undefined
  /** While secrets have not been read. */
  #waiting: Timer | undefined
  #waitEndMs: number | undefined
  /** By uid of the Ingress: what has been reported. */
  #reported = new Map<string, ReadonlySet<string>>()

  constructor(options: IngressControllerOptions) {
    const { platform, client } = options
    this.#options = options
    this.#informers = new Informers({ platform, client })
    this.#secrets = new SecretWatches({ platform, client, onChange: () => this.#changed() })
    this.#events = new EventRecorder({ platform, client, component: 'k8ts-ingress-controller' })
    this.#statuses = new WorkQueue({ platform, name: 'ingress-status' })
    const slices = this.#informers.of(endpointSlices)
    slices.index('service', serviceKeys)
    this.#informers.of(ingresses).addEventHandler(key => {
      this.#statuses.add(key)
      this.#changed()
    })
    this.#informers.of(ingressClasses).addEventHandler(() => this.#changed())
    this.#informers.of(services).addEventHandler(key => this.#serviceChanged(key))
    slices.addEventHandler((_key, { oldObject, newObject }) => {
      const slice = newObject ?? oldObject
      for (const key of slice ? serviceKeys(slice) : []) this.#serviceChanged(key)
    })
  }

  get configuration(): ProxyConfiguration | undefined {
    return this.#plan?.configuration
  }

  onChange(callback: () => void): void {
    this.#callbacks.push(callback)
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    const reconcile = (key: string): Promise<void> => this.#writeStatus(key)
    const synced = this.#informers.waitForSync(signal).then(
      () => this.#changed(),
      () => undefined,
    )
    await Promise.all([
      synced,
      this.#informers.run(signal),
      this.#events.run(signal),
      this.#statuses.run({ workers: 2, signal, reconcile }),
    ])
    this.#timer?.cancel()
    this.#stopWaiting()
  }

  #stopWaiting(): void {
    this.#waiting?.cancel()
    this.#waiting = undefined
    this.#waitEndMs = undefined
  }

  /** Services that no Ingress refers to change often. */
  #serviceChanged(key: string): void {
    if (this.#plan === undefined || this.#plan.services.has(key)) this.#changed()
  }

  #changed(): void {
    if (this.#signal === undefined || this.#signal.aborted) return
    this.#timer ??= this.#options.platform.clock.setTimer(Math.max(planDelayMs, this.#pauseMs), () => {
      this.#timer = undefined
      if (this.#signal?.aborted === false) this.#replan(this.#signal)
    })
  }

  #replan(signal: AbortSignal): void {
    if (this.#informers.all().some(informer => !informer.hasSynced)) return
    const { clock } = this.#options.platform
    const slices = this.#informers.of(endpointSlices).index('service', serviceKeys)
    const state = {
      ingresses: this.#informers.of(ingresses).list(),
      classes: this.#informers.of(ingressClasses).list(),
      service: (namespace: string, name: string) => this.#informers.of(services).get(`${namespace}/${name}`),
      slicesOf: (namespace: string, name: string) => slices.get(`${namespace}/${name}`),
      secret: (namespace: string, name: string) => this.#secrets.get(namespace, name),
    }
    const startedMs = clock.monotonicMs()
    const plan = planIngresses(state, this.#options)
    this.#pauseMs = (clock.monotonicMs() - startedMs) * pausePerPlanning
    this.#secrets.follow(plan.secrets, signal)
    // A host must not have the default certificate only because its own has not been read.
    if (this.#secrets.hasSynced) this.#stopWaiting()
    else {
      this.#waitEndMs ??= clock.monotonicMs() + secretsTimeoutMs
      this.#waiting ??= clock.setTimer(secretsTimeoutMs, () => this.#changed())
      if (clock.monotonicMs() < this.#waitEndMs) return
    }
    const before = this.#plan
    this.#plan = plan
    this.#report(state.ingresses, plan)
    const old = before?.served ?? new Set(state.ingresses.map(keyOf))
    for (const key of new Set([...plan.served, ...old]))
      if (before === undefined || plan.served.has(key) !== old.has(key)) this.#statuses.add(key)
    for (const callback of this.#callbacks) callback()
  }

  /** Events for what has changed since the last plan. */
  #report(all: readonly Stored<Ingress>[], plan: IngressPlan): void {
    const problems = Map.groupBy(plan.problems, ({ ingress }) => ingress)
    const reported = new Map<string, ReadonlySet<string>>()
    for (const ingress of all) {
      const key = keyOf(ingress)
      if (!plan.served.has(key)) continue
      const { uid, generation } = ingress.metadata
      const about = { ...ingress, apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' } as const
      const known = this.#reported.get(uid)
      const texts = new Set([`generation ${generation}`])
      if (!known?.has(`generation ${generation}`))
        this.#events.record(about, { type: 'Normal', reason: 'Sync', message: 'Scheduled for sync' })
      for (const { reason, message } of problems.get(key) ?? []) {
        texts.add(message)
        if (!known?.has(message)) this.#events.record(about, { type: 'Warning', reason, message })
      }
      reported.set(uid, texts)
    }
    this.#reported = reported
  }

  async #writeStatus(key: string): Promise<void> {
    const ingress = this.#informers.of(ingresses).get(key)
    if (ingress === undefined || this.#plan === undefined) return
    const { statusAddresses, client } = this.#options
    const current = ingress.status?.loadBalancer?.ingress ?? []
    const ours = statusAddresses.map(ip => ({ ip }))
    const isOurs = JSON.stringify(current) === JSON.stringify(ours)
    const isServed = this.#plan.served.has(key)
    // The status of other controllers is left to them.
    if (isServed === isOurs || (!isServed && !isOurs)) return
    const { namespace, name, uid } = ingress.metadata
    const at = { namespace, name, subresource: 'status' }
    const patch = { metadata: { uid }, status: { loadBalancer: { ingress: isServed ? ours : null } } }
    await client.patch(ingresses, at, { type: 'merge', patch })
  }
}

function serviceKeys({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[serviceNameLabel]
  return name ? [`${metadata.namespace ?? ''}/${name}`] : []
}
