/**
 * Enforces ResourceQuotas. It runs after all other plugins, because usage is charged to the quota before the
 * object is stored and must not be charged for a request that is rejected later.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#resourcequota
 */
import { conflict, optimisticLockErrorMessage } from '#/api/errors.ts'
import { evaluatorFor, type Amounts, type QuotaEvaluator, type QuotaWrite } from '#/api/quota.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import {
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
} from '../admission-chain.ts'
import type { PluginContext, PluginFactory } from '../plugin-context.ts'
import { parseQuotaConfiguration, type LimitedResource } from './resource-quota/configuration.ts'
import { planCharge } from './resource-quota/plan-charge.ts'
import { QuotaAccessor, type StoredQuota } from './resource-quota/quota-accessor.ts'

export const resourceQuota: PluginFactory = (context, configuration) =>
  new ResourceQuotaAdmission(
    context,
    configuration === undefined ? [] : parseQuotaConfiguration(configuration),
  )

type Objects = Pick<PluginContext, 'platform' | 'cache' | 'store'>

class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota'
  readonly #clock: Clock
  readonly #limited: readonly LimitedResource[]
  readonly #accessor: QuotaAccessor
  readonly #evaluators = new WeakMap<Resource, QuotaEvaluator>()
  /**
   * Queued writes by namespace; the key exists while a worker processes the namespace. Queued writes are
   * charged in one batch.
   */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor({ platform, cache, store }: Objects, limited: readonly LimitedResource[]) {
    this.#clock = platform.clock
    this.#limited = limited
    this.#accessor = new QuotaAccessor({ cache, store })
  }

  handles({ operation, resource }: AdmissionTarget): boolean {
    if (resource.scope !== 'Namespaced' || (operation !== 'CREATE' && operation !== 'UPDATE')) return false
    return evaluatorFor(resource) !== undefined
  }

  validate(request: AdmissionAttributes): Promise<void> | void {
    const { namespace, operation, subresource, object, oldObject } = request
    if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return
    const evaluator = this.#evaluatorOf(request.resource)
    const write: QuotaWrite = { operation, subresource, object, oldObject }
    if (!evaluator.handles(write)) return
    if (this.#limited.length === 0 && !this.#accessor.hasAny(namespace)) return
    return this.#wait(namespace, { request, write, evaluator })
  }

  #evaluatorOf(resource: Resource): QuotaEvaluator {
    const known = this.#evaluators.get(resource)
    if (known) return known
    const evaluator = evaluatorFor(resource)!
    this.#evaluators.set(resource, evaluator)
    return evaluator
  }

  #wait(namespace: string, waiter: Waiter): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { ...waiter, resolve, reject }
    const queue = this.#waiting.get(namespace)
    if (queue) {
      queue.push(waiting)
    } else {
      this.#waiting.set(namespace, [waiting])
      void this.#work(namespace)
    }
    return promise
  }

  /** At most one worker per namespace, so this server never races with itself. */
  async #work(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(namespace)?.splice(0) ?? []
      if (batch.length === 0) break
      try {
        await this.#settle(namespace, batch)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#waiting.delete(namespace)
  }

  async #settle(namespace: string, batch: readonly Waiting[]): Promise<void> {
    let quotas = this.#accessor.of(namespace)
    let open = batch
    for (let attempts = 1; open.length > 0; attempts++) {
      // The configured limits are checked on the first attempt, which sees all quotas; retries see only those
      // that conflicted.
      const { used, charged } = this.#plan(quotas, open, attempts === 1 ? this.#limited : [])
      const changed: StoredQuota[] = []
      for (const [index, quota] of quotas.entries()) {
        if (used[index] === quota.used) continue
        const updated = await this.#accessor.updateStatus(quota, used[index]!)
        if (!updated.isDone && updated.current) changed.push(updated.current)
      }
      if (changed.length === 0) {
        for (const { resolve } of charged) resolve()
        return
      }
      if (attempts === attemptsMax) throw conflict(quotaSubject(changed[0]!), optimisticLockErrorMessage)
      quotas = changed
      open = charged
    }
  }

  /**
   * Charges the writes in order, each against the usage left by the previous ones. Rejected writes are
   * answered at once.
   */
  #plan(
    quotas: readonly StoredQuota[],
    writes: readonly Waiting[],
    limited: readonly LimitedResource[],
  ): Plan {
    const nowMs = this.#clock.now()
    let used: readonly Amounts[] = quotas.map(quota => quota.used)
    const charged: Waiting[] = []
    for (const waiting of writes) {
      const { request, write, evaluator, resolve, reject } = waiting
      const name = qualifiedResourceName(request.resource)
      const running = quotas.map(({ name, scopes, hard }, index) => ({
        name,
        scopes,
        hard,
        used: used[index]!,
      }))
      const charge = planCharge(running, write, {
        evaluator,
        nowMs,
        limitedResources: limited.filter(each => each.resource === name),
        limitedScopes: limited.flatMap(each => each.matchScopes),
      })
      if ('refusal' in charge) {
        reject(admissionForbidden(request, charge.refusal))
      } else if (request.dryRun || charge.used.every((amounts, index) => amounts === used[index])) {
        resolve()
      } else {
        used = charge.used
        charged.push(waiting)
      }
    }
    return { used, charged }
  }
}

/** Maximum number of conflicts of a batch with other API servers and the quota controller. */
const attemptsMax = 50

interface Waiter {
  readonly request: AdmissionAttributes
  readonly write: QuotaWrite
  readonly evaluator: QuotaEvaluator
}

interface Waiting extends Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Plan {
  /** In the order of the quotas; the same object where nothing was charged. */
  readonly used: readonly Amounts[]
  /** Writes that complete once the usage is stored. */
  readonly charged: readonly Waiting[]
}

function quotaSubject({ name }: StoredQuota) {
  return { group: '', kind: 'resourcequotas', name }
}
