/**
 * Certificates and keys in files: reads them, and creates and writes them when they are missing or no longer
 * valid.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import type { CertificateProfile } from './profile.ts'
import { readIfExists } from './read-if-exists.ts'
import { caProblem, renewalReason } from './renewal-reason.ts'

/** PEM encoded. */
export interface KeyAndCertificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateAuthority {
  /** Base name of its files: `ca`, `front-proxy-ca`, `etcd/ca`. */
  readonly name: string
  readonly cert: string
  /** Absent for an external CA. */
  readonly key: string | undefined
}

export interface CertificateOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  /** Validity of new certificates: a year, and ten years for a CA, when absent. */
  readonly validity?: CertificateValidity | undefined
}

export interface CertificateValidity {
  readonly certificateMs: number
  readonly caMs: number
}

export interface CertificateSpec {
  readonly profile: CertificateProfile
  readonly ca: CertificateAuthority
  readonly existing: KeyAndCertificate | undefined
}

/** Returns the existing pair if still valid, otherwise a new certificate with a new key. */
export async function ensureCertificate(
  options: CertificateOptions,
  request: CertificateSpec,
): Promise<KeyAndCertificate> {
  const { profile, ca, existing } = request
  const why = renewalReason({ existing, profile, caCert: ca.cert, nowMs: options.platform.clock.now() })
  if (why === undefined) return existing!
  const { key, name } = ca
  if (key === undefined) {
    throw new Error(`cannot issue a certificate for ${profile.commonName} (${why}): ${name}.key is missing`)
  }
  options.platform.log.info('Issuing certificate', { commonName: profile.commonName, reason: why })
  const { issueCertificate } = await import('./issue.ts')
  return issueCertificate(options, { profile, ca: { cert: ca.cert, key } })
}

export interface CertificateFile {
  readonly folder: string
  /** Without extension. */
  readonly name: string
  readonly profile: CertificateProfile
  readonly ca: CertificateAuthority
}

export async function ensureCertificateFile(
  options: CertificateOptions,
  file: CertificateFile,
): Promise<KeyAndCertificate> {
  const { profile, ca } = file
  const paths = pathsOf(file.folder, file.name)
  const existing = await readPair(options.platform, paths)
  const pair = await ensureCertificate(options, { profile, ca, existing })
  if (pair !== existing) await writePair(options.platform, paths, pair)
  return pair
}

export interface CaFile {
  readonly folder: string
  /** Without extension. */
  readonly name: string
  readonly commonName: string
}

/** Rejects when the existing file has expired or is not a CA certificate. It is never replaced. */
export async function ensureCaFile(options: CertificateOptions, file: CaFile): Promise<CertificateAuthority> {
  const { platform } = options
  const { name, commonName } = file
  const paths = pathsOf(file.folder, name)
  const cert = await readIfExists(platform.files, paths.cert)
  const key = await readIfExists(platform.files, paths.key)
  if (cert !== undefined) {
    const why = caProblem({ cert, key, nowMs: platform.clock.now() })
    if (why !== undefined) throw new Error(`cannot use CA certificate ${paths.cert}: ${why}`)
    return { name, cert, key }
  }
  platform.log.info('Creating certificate authority', { commonName })
  const { issueCaCertificate: issueAuthority } = await import('./issue.ts')
  const made = await issueAuthority(options, commonName)
  await writePair(platform, paths, made)
  return { name, ...made }
}

interface PairPaths {
  readonly cert: string
  readonly key: string
}

function pathsOf(folder: string, name: string): PairPaths {
  return { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) }
}

async function readPair({ files }: Platform, paths: PairPaths): Promise<KeyAndCertificate | undefined> {
  const cert = await readIfExists(files, paths.cert)
  const key = await readIfExists(files, paths.key)
  return cert === undefined || key === undefined ? undefined : { cert, key }
}

/**
 * Writes the key first: after a crash in between, the key does not match the certificate, and both are
 * created again.
 */
async function writePair(
  { files }: Platform,
  paths: PairPaths,
  { cert, key }: KeyAndCertificate,
): Promise<void> {
  await files.write(paths.key, key, { mode: 0o600 })
  await files.write(paths.cert, cert, { mode: 0o600 })
}
