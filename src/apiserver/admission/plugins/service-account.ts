/**
 * Sets the service account of pods and mounts a token for it.
 * https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-admission-controller
 */
import { notFound } from '#/api/errors.ts'
import type { Pod, ServiceAccount } from '#/api/generated/core/v1.ts'
import { serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import {
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmittedObject,
} from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { refersToSecrets } from './pod-references.ts'
import { isMirror, podWrites, specOf, withSpec } from './pod-spec.ts'
import {
  checkEphemeralContainers,
  checkSecrets,
  enforcesMountableSecrets,
} from './service-account/mountable-secrets.ts'
import { withTokenVolume } from './service-account/token-volume.ts'

export function serviceAccount(context: PluginContext): AdmissionPlugin {
  return new ServiceAccountAdmission(context)
}

class ServiceAccountAdmission implements AdmissionPlugin {
  readonly name = 'ServiceAccount'
  readonly handles: NonNullable<AdmissionPlugin['handles']>
  readonly #context: PluginContext

  constructor(context: PluginContext) {
    this.#context = context
    const created = podWrites(['CREATE'])
    const debugged = podWrites(['UPDATE'], ['ephemeralcontainers'])
    this.handles = target => created(target) || debugged(target)
  }

  mutate(request: AdmissionAttributes): AdmittedObject | Promise<AdmittedObject> {
    const pod = request.object as Pod
    if (request.operation !== 'CREATE') return pod
    if (isMirror(pod)) {
      checkMirror(request, pod)
      return pod
    }
    const name = pod.spec?.serviceAccountName || defaultName
    const known = getCached(this.#context, serviceAccounts, { name, namespace: request.namespace })
    if (known) return this.#equip(request, known)
    return this.#accountOf(request, name).then(found => this.#equip(request, found))
  }

  validate(request: AdmissionAttributes): void | Promise<void> {
    const pod = request.object as Pod
    if (request.operation === 'CREATE' && isMirror(pod)) return checkMirror(request, pod)
    const name = pod.spec?.serviceAccountName ?? ''
    if (name === '') {
      throw admissionForbidden(
        request,
        `no service account specified for pod ${request.namespace}/${request.name}`,
      )
    }
    const known = getCached(this.#context, serviceAccounts, { name, namespace: request.namespace })
    if (known) return checkReferences(request, known)
    return this.#accountOf(request, name).then(found => checkReferences(request, found))
  }

  #equip(request: AdmissionAttributes, account: Stored<ServiceAccount>): Pod {
    const pod = request.object as Pod
    const name = account.metadata.name
    const spec = specOf(pod)
    const { imagePullSecrets = [] } = spec
    const borrowed = (account.imagePullSecrets ?? []).map(secret => ({ name: secret.name ?? '' }))
    const named = withSpec(pod, {
      serviceAccountName: name,
      serviceAccount: name,
      ...(imagePullSecrets.length === 0 && borrowed.length > 0 && { imagePullSecrets: borrowed }),
    })
    const isWanted = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
    const equipped = isWanted ? withTokenVolume(named, this.#context.platform.random) : named
    checkReferences({ ...request, object: equipped }, account)
    return equipped
  }

  /** Retries for the `default` account, which may not exist yet in a namespace that was just created. */
  async #accountOf(request: AdmissionAttributes, name: string): Promise<Stored<ServiceAccount>> {
    const { clock, random } = this.#context.platform
    const { namespace } = request
    const delayMs = 100 + random.integer('service account retry', 100)
    for (let left = name === defaultName ? defaultAttempts : 1; left > 0; left--) {
      const account = await getCachedOrStored(this.#context, serviceAccounts, { name, namespace })
      if (account) return account
      if (left > 1) await clock.sleep(delayMs)
    }
    const { message } = notFound({ group: '', kind: 'serviceaccount', name })
    throw admissionForbidden(request, `error looking up service account ${namespace}/${name}: ${message}`)
  }
}

const defaultName = 'default'

const defaultAttempts = 10

function checkReferences(request: AdmissionAttributes, account: Stored<ServiceAccount>): void {
  if (!enforcesMountableSecrets(account)) return
  const pod = request.object as Pod
  const wrong =
    request.operation === 'CREATE'
      ? checkSecrets(account, specOf(pod))
      : checkEphemeralContainers(account, specOf(pod))
  if (wrong !== undefined) throw admissionForbidden(request, wrong)
}

/** Mirror pods run regardless of admission, so they must not give the kubelet access to tokens or secrets. */
function checkMirror(request: AdmissionAttributes, pod: Pod): void {
  if (pod.spec?.serviceAccountName)
    throw admissionForbidden(request, 'a mirror pod may not reference service accounts')
  if (refersToSecrets(pod)) throw admissionForbidden(request, 'a mirror pod may not reference secrets')
  const hasToken = pod.spec?.volumes?.some(volume =>
    volume.projected?.sources?.some(source => source.serviceAccountToken),
  )
  if (hasToken)
    throw admissionForbidden(request, 'a mirror pod may not use ServiceAccountToken volume projections')
}
