import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { LruMap } from '#/base/lru-map.ts'
import type { ClientCertificate } from '../../http.ts'

export interface CheckedCertificate {
  readonly certificate?: ClientCertificate
  readonly certificateError?: string
}

/** Certificates whose subject is not parsed again for the next connection. */
const knownMax = 1_000

/** Reads client certificates. Connections with the same certificate chain share one object. */
export class ClientCertificates {
  readonly #known = new LruMap<string, ClientCertificate>(knownMax)

  /** The client certificate, if it is verified by the client CA. */
  check(socket: TLSSocket): CheckedCertificate {
    const leaf = socket.getPeerX509Certificate()
    if (leaf === undefined) return {}
    // `authorizationError` is an error code, contrary to Node's types.
    if (!socket.authorized) return { certificateError: String(socket.authorizationError) }
    const chain = chainOf(leaf)
    const key = chain.map(each => each.toString('latin1')).join()
    const known = this.#known.get(key)
    if (known !== undefined) return { certificate: known }
    const subject: Readonly<Record<string, string | string[] | undefined>> = {
      ...leaf.toLegacyObject().subject,
    }
    const certificate: ClientCertificate = {
      // If there are several common names the last one counts, as in kube-apiserver.
      commonName: values(subject['CN']).at(-1) ?? '',
      organizations: values(subject['O']),
      expiresMs: Date.parse(leaf.validTo),
      chain,
    }
    this.#known.set(key, certificate)
    return { certificate }
  }
}

/** Maximum number of certificates in a chain. */
const chainLengthMax = 8

/** DER; a root is its own issuer, and an unknown issuer is undefined. */
function chainOf(leaf: X509Certificate): readonly Buffer[] {
  const chain: Buffer[] = []
  for (let current: X509Certificate | undefined = leaf; current && chain.length < chainLengthMax;) {
    chain.push(current.raw)
    current = current.issuerCertificate
  }
  return chain
}

function values(attribute: string | string[] | undefined): string[] {
  return attribute === undefined ? [] : typeof attribute === 'string' ? [attribute] : attribute
}
