/**
 * Trust configuration of the API server: the cluster's certificate authorities and keys, and those added by
 * the administrator.
 */
import type { AuthenticationSettings } from '#/apiserver/authn.ts'
import type { ApiServerSettings } from '#/apiserver/settings.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import type { HttpTls } from '#/platform/http.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'

/** kubeadm's default issuer: the URL of the API server inside the cluster. */
export const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local'

export function tlsOf(certificates: ClusterCertificates, settings: ApiServerSettings): HttpTls {
  const { frontProxyCa, apiServer } = certificates
  const proxies = settings.authentication.frontProxy.authorities ?? frontProxyCa.cert
  return { ...apiServer, clientCa: `${clientCaBundle(certificates, settings)}\n${proxies}` }
}

/** Client certificate of the API server for kubelets, and the authority of their serving certificates. */
export function kubeletTlsOf(
  { ca, kubeletClient }: ClusterCertificates,
  { kubeletTls: { authorities, client } }: ApiServerSettings,
): HttpClientTls {
  return { ca: authorities ?? ca.cert, ...(client ?? kubeletClient) }
}

/** Authorities for client certificates: the cluster's own, and those of `--client-ca-file`. */
export function clientCaBundle({ ca }: ClusterCertificates, settings: ApiServerSettings): string {
  const { clientAuthorities: more } = settings.authentication
  return more === undefined ? ca.cert : `${ca.cert}\n${more}`
}

/** Bootstrap tokens are enabled unless turned off; the other defaults are kubeadm's. */
export function authenticationOf(
  certificates: ClusterCertificates,
  settings: ApiServerSettings,
): AuthenticationSettings {
  const { frontProxyCa, serviceAccounts } = certificates
  const { clientAuthorities: _authorities, ...given } = settings.authentication
  return {
    bootstrapTokens: true,
    ...given,
    certificates: { authorities: clientCaBundle(certificates, settings) },
    frontProxy: {
      authorities: frontProxyCa.cert,
      allowedNames: ['front-proxy-client'],
      ...given.frontProxy,
    },
    serviceAccounts: {
      url: serviceAccountIssuer,
      signingKey: serviceAccounts.privateKey,
      ...given.serviceAccounts,
    },
  }
}
