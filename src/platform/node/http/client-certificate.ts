import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../http.ts'

export interface CheckedCertificate {
  readonly certificate?: ClientCertificate
  readonly certificateError?: string
}

/** The client certificate, if it is verified by the client CA. */
export function checkClientCertificate(socket: TLSSocket): CheckedCertificate {
  const sent = socket.getPeerCertificate(true) as DetailedPeerCertificate | Record<string, never>
  if (sent.subject === undefined) return {}
  // `authorizationError` is an error code, contrary to Node's types.
  if (!socket.authorized) return { certificateError: String(socket.authorizationError) }
  const subject: Readonly<Record<string, string | string[] | undefined>> = { ...sent.subject }
  return {
    certificate: {
      // If there are several common names the last one counts, as in kube-apiserver.
      commonName: values(subject['CN']).at(-1) ?? '',
      organizations: values(subject['O']),
      expiresMs: Date.parse(sent.valid_to),
      chain: chainOf(sent as DetailedPeerCertificate),
    },
  }
}

/** Maximum number of certificates in a chain. */
const chainLengthMax = 8

function chainOf(leaf: DetailedPeerCertificate): readonly Uint8Array[] {
  const chain: Uint8Array[] = []
  for (let current: DetailedPeerCertificate | undefined = leaf; current && chain.length < chainLengthMax;) {
    chain.push(current.raw)
    // A root is its own issuer; an unknown issuer is undefined.
    current = current.issuerCertificate === current ? undefined : current.issuerCertificate
  }
  return chain
}

function values(attribute: string | string[] | undefined): string[] {
  return attribute === undefined ? [] : typeof attribute === 'string' ? [attribute] : attribute
}
