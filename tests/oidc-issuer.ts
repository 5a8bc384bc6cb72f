/** An OpenID Connect issuer over HTTPS that publishes its keys. */
import { generateKeyPairSync } from 'node:crypto'
import type { TestContext } from 'node:test'
import { keyIdOf, toJsonWebKey } from '#/base/json-web-key.ts'
import { signToken } from '#/base/json-web-token.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import { serveHttp } from '#/platform/node.ts'

export interface OidcIssuer {
  readonly url: string
  /** Headers with a token of these claims: by default for the audience `k8s` and valid for a minute. */
  readonly tokenOf: (claims: object) => { readonly authorization: string }
}

export async function startOidcIssuer(
  t: TestContext,
  certificates: ClusterCertificates,
): Promise<OidcIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keyId = keyIdOf(publicKey)
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    tls: { ...certificates.apiServer, clientCa: certificates.ca.cert },
    onExchange: exchange => {
      const documents: Record<string, object> = {
        '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/keys` },
        '/keys': { keys: [toJsonWebKey({ keyId, key: publicKey })] },
      }
      const document = documents[exchange.target]
      exchange.respond(document ? 200 : 404, { 'content-type': 'application/json' })
      exchange.end([Buffer.from(JSON.stringify(document ?? {}))])
    },
  })
  t.after(() => server.stop(100))
  const url = `https://localhost:${server.address.port}`
  const exp = Math.floor(Date.now() / 1_000) + 60
  return {
    url,
    tokenOf: claims => {
      const token = signToken({ iss: url, aud: 'k8s', exp, ...claims }, { privateKey, keyId })
      return { authorization: `Bearer ${token}` }
    },
  }
}
