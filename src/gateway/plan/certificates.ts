import { createPrivateKey, X509Certificate } from 'node:crypto'
import { messageOf } from '#/base/message-of.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { ServerCertificate } from '#/http-proxy/proxy-configuration.ts'
import { gatewayGroup } from '../gateway-api/fields.ts'
import type { Gateway } from '../gateway-api/gateway.ts'
import type { Problem } from './conditions.ts'
import { covers } from './hostnames.ts'
import type { IsPermitted } from './reference-grants.ts'
import type { GatewayWorld, Listener, References } from './world.ts'

export interface CertificateContext {
  readonly gateway: Stored<Gateway>
  readonly world: GatewayWorld
  readonly references: References
  readonly isPermitted: IsPermitted
}

export interface ListenerCertificates {
  readonly keyPairs: readonly KeyPair[]
  /** Of the first reference that cannot be used. */
  readonly problem: Problem | undefined
}

export interface KeyPair {
  readonly cert: string
  readonly key: string
  /** DNS names that the certificate is valid for. */
  readonly dnsNames: readonly string[]
}

export function resolveCertificates(listener: Listener, context: CertificateContext): ListenerCertificates {
  const { certificateRefs = [] } = listener.tls ?? {}
  if (certificateRefs.length === 0) {
    return { keyPairs: [], problem: invalid('the listener has no certificateRefs') }
  }
  const resolved = certificateRefs.map(reference => resolveReference(reference, context))
  return {
    keyPairs: resolved.flatMap(each => ('cert' in each ? [each] : [])),
    problem: resolved.find(each => 'reason' in each),
  }
}

/**
 * The certificates as the proxy selects them: for the hostname of the listener, and for the names of the
 * certificate within it, since a wildcard of a listener stands for several labels, that of a certificate
 * for one. The first one is for all other names if the listener has no hostname.
 */
export function serverCertificates(
  { keyPairs }: ListenerCertificates,
  { hostname, isOwnHost }: { readonly hostname: string; readonly isOwnHost: (name: string) => boolean },
): readonly ServerCertificate[] {
  const taken = new Set<string>()
  return keyPairs.flatMap(({ cert, key, dnsNames }, index) => {
    const names = dnsNames.filter(name => covers(hostname, name) && isOwnHost(name))
    const hostnames = [...(index === 0 && hostname !== '*' ? [hostname] : []), ...names].filter(name => {
      const isNew = !taken.has(name)
      taken.add(name)
      return isNew
    })
    const isDefault = index === 0 && hostname === '*'
    return [
      ...(hostnames.length > 0 ? [{ hostnames, cert, key }] : []),
      ...(isDefault ? [{ hostnames: [], cert, key }] : []),
    ]
  })
}

type SecretReference = NonNullable<NonNullable<Listener['tls']>['certificateRefs']>[number]

function resolveReference(
  { group, kind, name, namespace: named }: SecretReference,
  { gateway, world, references, isPermitted }: CertificateContext,
): KeyPair | Problem {
  if (group !== '' || kind !== 'Secret')
    return invalid(
      `certificateRef ${name}: kind ${kind} of group ${group || 'core'} is not supported, use a Secret`,
    )
  const own = gateway.metadata.namespace ?? ''
  const namespace = named ?? own
  const key = `${namespace}/${name}`
  const from = { group: gatewayGroup, kind: 'Gateway', namespace: own }
  if (!isPermitted({ from, to: { group, kind, namespace, name } })) {
    const message = `certificateRef to Secret ${key}: no ReferenceGrant in namespace ${namespace} permits it`
    return { reason: 'RefNotPermitted', message }
  }
  references.secrets.add(key)
  const secret = world.secret(key)
  if (secret === undefined) return invalid(`Secret ${key} does not exist`)
  const read = keyPairOf(secret)
  return typeof read === 'string' ? invalid(`Secret ${key}: ${read}`) : read
}

function invalid(message: string): Problem {
  return { reason: 'InvalidCertificateRef', message }
}

/** By the immutable Secret, since parsing keys is expensive. */
const parsed = new WeakMap<Secret, KeyPair | string>()

function keyPairOf(secret: Secret): KeyPair | string {
  const known = parsed.get(secret)
  if (known !== undefined) return known
  const read = readKeyPair(secret)
  parsed.set(secret, read)
  return read
}

/** A text describes what is wrong with it. */
function readKeyPair({ type, data }: Secret): KeyPair | string {
  if (type !== 'kubernetes.io/tls') return `the type is ${type ?? 'Opaque'}, not kubernetes.io/tls`
  const cert = Buffer.from(data?.['tls.crt'] ?? '', 'base64').toString()
  const key = Buffer.from(data?.['tls.key'] ?? '', 'base64').toString()
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(key)))
      return 'tls.key is not the private key of the certificate in tls.crt'
    return { cert, key, dnsNames: dnsNamesOf(certificate) }
  } catch (error) {
    return `tls.crt and tls.key must be a certificate and its private key in PEM: ${messageOf(error)}`
  }
}

function dnsNamesOf({ subjectAltName = '' }: X509Certificate): readonly string[] {
  const names = subjectAltName.split(', ').filter(name => name.startsWith('DNS:'))
  return names.map(name => name.slice('DNS:'.length).toLowerCase())
}
