/**
 * The serving certificate of an operator's webhook server with a certificate authority of its own, which is
 * rotated before it expires. A new authority is added to the bundle long before it signs: clients must trust
 * it by then, and they learn of it from the `caBundle` of their configuration.
 */
import { X509Certificate } from 'node:crypto'
import type { CertificateOptions, KeyAndCertificate } from './certificates/pair-files.ts'
import { renewalReason } from './certificates/renewal-reason.ts'

export interface WebhookCertificates extends KeyAndCertificate {
  /** PEM, the newest authority first. */
  readonly caBundle: string
  /** Key of the newest authority. */
  readonly caKey: string
}

export interface WebhookCertificatesRequest {
  /** Common name. */
  readonly name: string
  /** Names and addresses by which clients reach the server. */
  readonly names: readonly string[]
  readonly existing: WebhookCertificates | undefined
}

const dayMs = 24 * 3_600_000

/** More than the lifetime of the certificate that it has signed last, so that this one stays valid. */
const authorityRenewBeforeMs = 400 * dayMs

/** Returns the existing certificates if no part has to be renewed. */
export async function ensureWebhookCertificates(
  options: CertificateOptions,
  { name, names, existing }: WebhookCertificatesRequest,
): Promise<WebhookCertificates> {
  const nowMs = options.platform.clock.now()
  const profile = { commonName: name, organizations: [], usage: 'server', names } as const
  const authorities = certificatesIn(existing?.caBundle ?? '').filter(({ validToMs }) => validToMs > nowMs)
  const isKept = authorities.some(({ pem }) => {
    return renewalReason({ existing, profile, caCert: pem, nowMs }) === undefined
  })
  const [newest] = authorities
  const isAuthorityKept = newest !== undefined && newest.validToMs - nowMs > authorityRenewBeforeMs
  if (existing !== undefined && isKept && isAuthorityKept) return existing
  options.platform.log.info('Issuing self-signed serving certificate', { name, isAuthorityKept })
  const { issueCaCertificate, issueCertificate } = await import('./certificates/issue.ts')
  const ca =
    existing !== undefined && isAuthorityKept
      ? { cert: newest.pem, key: existing.caKey }
      : await issueCaCertificate(options, `${name}-ca`)
  const others = authorities.map(({ pem }) => pem).filter(pem => pem !== ca.cert)
  const pair = existing !== undefined && isKept ? existing : await issueCertificate(options, { profile, ca })
  return { caBundle: [ca.cert, ...others].join(''), caKey: ca.key, cert: pair.cert, key: pair.key }
}

interface Authority {
  readonly pem: string
  readonly validToMs: number
}

/** Ignores what cannot be read. */
function certificatesIn(bundle: string): readonly Authority[] {
  const pattern = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?/g
  return [...bundle.matchAll(pattern)].flatMap(([pem]) => {
    try {
      return [{ pem, validToMs: new X509Certificate(pem).validToDate.getTime() }]
    } catch {
      return []
    }
  })
}
