/**
 * Signs approved CertificateSigningRequests for Kubernetes' built-in signers. A request that a signer does
 * not accept gets the Failed condition with the reason. The CA key is not held here; signing is delegated to
 * `sign`.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
import { isApiError } from '#/api/errors.ts'
import type {
  CertificateSigningRequest,
  CertificateSigningRequestStatus,
} from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { formatTime } from '#/api/text/time.ts'
import { readCertificateRequest, requestPemOf } from './certificates/certificate-request.ts'
import { hasFailed, isApproved, isIssued } from './certificates/csr-conditions.ts'
import { validatorForSigner } from './certificates/signers.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export interface CertificateSigningSettings {
  /** Returns the certificate as PEM. When it rejects, the request is retried. */
  readonly sign: (certificate: CertificateToSign) => Promise<string>
  /** Maximum validity, and the default if the request has no `expirationSeconds`. */
  readonly durationMs?: number
}

export interface CertificateToSign {
  /** PKCS #10, PEM. */
  readonly request: string
  /** Key usages as the API spells them: `client auth`, `digital signature`. */
  readonly usages: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

const durationMsUsual = 365 * 24 * 3_600_000

export function certificateSigningController(settings: CertificateSigningSettings): Controller {
  return {
    name: 'certificatesigningrequest-signing-controller',
    account: 'certificate-controller',
    setUp: context => setUp(context, settings),
  }
}

function setUp(
  { platform, informer, enqueue }: ControllerContext,
  { sign, durationMs = durationMsUsual }: CertificateSigningSettings,
): Reconcile {
  const requests = informer(certificateSigningRequests)
  requests.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isToSign(newObject)) enqueue(key)
  })

  return async ({ key, client }) => {
    const request = requests.get(key)
    if (request === undefined || !isToSign(request)) return
    const nowMs = platform.clock.now()
    const change = await statusChange(request, nowMs)
    if (change === undefined) return platform.log.warn('Unable to parse CertificateSigningRequest', { key })
    try {
      const status = { ...request.status, ...change }
      await client.updateStatus(certificateSigningRequests, { ...request, status })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }

  /** The status fields to change; undefined if the request cannot be parsed. */
  async function statusChange(
    { spec, status }: CertificateSigningRequest,
    nowMs: number,
  ): Promise<CertificateSigningRequestStatus | undefined> {
    const { request, usages = [], expirationSeconds, signerName } = spec
    const pem = requestPemOf(request)
    const wanted = await readCertificateRequest(request)
    if (pem === undefined || wanted === undefined) return undefined
    const rejection = validatorForSigner(signerName)?.(wanted, usages)
    if (rejection === undefined) {
      const validity = planValidity({ expirationSeconds, nowMs, durationMs })
      const certificate = await sign({ request: pem, usages, ...validity })
      return { certificate: Buffer.from(certificate).toString('base64') }
    }
    const failed = {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message: rejection,
      lastUpdateTime: formatTime(nowMs),
    }
    return { conditions: [...(status?.conditions ?? []), failed] }
  }
}

function isToSign(request: CertificateSigningRequest): boolean {
  const isOurs = validatorForSigner(request.spec.signerName) !== undefined
  return isOurs && isApproved(request) && !hasFailed(request) && !isIssued(request)
}

/** Validity period of an issued certificate. */

interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

interface ValidityRequest {
  readonly expirationSeconds: number | undefined
  readonly nowMs: number
  /** Maximum validity, and the default if `expirationSeconds` is not set. */
  readonly durationMs: number
}

/** Tolerates clock skew: the certificate is already valid on machines with a slow clock. */
const backdatedMs = 5 * 60_000

/** Minimum validity, even if `expirationSeconds` is lower. */
const durationMsMin = 10 * 60_000

/** For certificates shorter than this, the backdating is not subtracted from the validity. */
const shortMs = 8 * 3_600_000

export function planValidity({ expirationSeconds, nowMs, durationMs }: ValidityRequest): Validity {
  const askedMs = expirationSeconds === undefined ? durationMs : expirationSeconds * 1_000
  const givenMs = Math.min(durationMs, Math.max(durationMsMin, askedMs))
  const notAfterMs = nowMs + givenMs - (givenMs < shortMs ? 0 : backdatedMs)
  return { notBeforeMs: nowMs - backdatedMs, notAfterMs }
}
